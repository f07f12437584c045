//===- Forms.h - the form of each op in StableHLO ---------------*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0
//
// In: an op of level 1 or 2 and its operands as text. Out: its results. One
// table of all ops, filled by the files of this folder; those without a form
// are in it, too, with what to do instead.
//
//===----------------------------------------------------------------------===//
#ifndef PP_LIB_EXPORT_FORMS_H
#define PP_LIB_EXPORT_FORMS_H

#include "HloWriter.h"
#include "pp/IR/PP.h"
#include "llvm/ADT/StringMap.h"
#include <functional>
#include <optional>

namespace pp::hlo {

/// What an op needs to know beside its operands: which device of the mesh it
/// runs on, and in which micro-batch.
class Device {
public:
  /// Stages are not devices of one program: their coordinate is left out.
  Device(HloWriter &out, MeshAttr mesh) : out(out), mesh(mesh) {}

  HloWriter &out;

  MeshAttr getMesh() const { return mesh; }
  int64_t getNumReplicas() const;
  /// The index of this device's shard over `axes`, an i32.
  Hlo indexAlong(mlir::ArrayAttr axes);
  /// Devices that exchange values over `axes`, each group in its order there.
  llvm::SmallVector<llvm::SmallVector<int64_t>> groups(mlir::ArrayAttr axes);
  /// Number of devices of a group.
  int64_t sizeOf(mlir::ArrayAttr axes);
  bool namesTime(mlir::ArrayAttr axes) const;

  /// The number of the micro-batch, where ops run in one.
  std::optional<Hlo> microBatch;

private:
  struct Axis {
    int64_t size, stride;
  };
  /// A space axis among the replicas.
  Axis lookup(mlir::StringAttr name);

  MeshAttr mesh;
};

/// Writes an op; fails with a diagnostic at its place.
using Form = std::function<mlir::FailureOr<Hlos>(
    mlir::Operation *, llvm::ArrayRef<Hlo>, Device &)>;
using Forms = llvm::StringMap<Form>;

/// The whole table.
const Forms &getForms();

void addElementwiseForms(Forms &forms);
void addShapeForms(Forms &forms);
void addContractionForms(Forms &forms);
void addIndexForms(Forms &forms);
void addWindowForms(Forms &forms);
void addCollectiveForms(Forms &forms);

/// Philox's bits of a tensor (pp.random_bits).
Hlo writeRandomBits(RandomBitsOp op, llvm::ArrayRef<Hlo> operands,
                    HloWriter &out);

/// Adds an op with one result, which `write(op, operands, device)` returns.
template <typename OpTy, typename Write> void add(Forms &forms, Write write) {
  forms[OpTy::getOperationName()] =
      [write](mlir::Operation *op, llvm::ArrayRef<Hlo> operands,
              Device &device) -> mlir::FailureOr<Hlos> {
    return Hlos{write(mlir::cast<OpTy>(op), operands, device)};
  };
}

inline mlir::RankedTensorType resultType(mlir::Operation *op) {
  return mlir::cast<mlir::RankedTensorType>(op->getResult(0).getType());
}

} // namespace pp::hlo

#endif // PP_LIB_EXPORT_FORMS_H
