//===- OpWriter.h - ops of pp as those of StableHLO -------------*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0
//
// In: ops whose operands were written before. Out: their text, by the table of
// forms.
//
//===----------------------------------------------------------------------===//
#ifndef PP_LIB_EXPORT_OPWRITER_H
#define PP_LIB_EXPORT_OPWRITER_H

#include "Forms.h"
#include "llvm/ADT/DenseMap.h"

namespace pp::hlo {

class OpWriter {
public:
  OpWriter(mlir::MLIRContext *context, MeshAttr mesh)
      : out(context), device(out, mesh) {}

  HloWriter out;
  const Device &getDevice() const { return device; }

protected:
  /// Writes an op and binds its results; fails with a diagnostic at its place.
  mlir::LogicalResult writeOp(mlir::Operation *op);
  Hlos lookup(mlir::ValueRange range) const;
  Hlo scalar(int64_t value);

  Device device;
  llvm::DenseMap<mlir::Value, Hlo> values;
};

} // namespace pp::hlo

#endif // PP_LIB_EXPORT_OPWRITER_H
