//===- MicroBatchSums.h - values added up over micro-batches ----*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0
//
// The meaning of pp.accumulate in a program: contributions are added in the
// order in which micro-batches are run, those of low precision in f32, whose
// sum is rounded once.
//
//===----------------------------------------------------------------------===//
#ifndef PP_LIB_TRANSFORMS_LOWER_MICROBATCHSUMS_H
#define PP_LIB_TRANSFORMS_LOWER_MICROBATCHSUMS_H

#include "ProgramWriter.h"
#include "mlir/IR/SymbolTable.h"

namespace pp {

/// The kernels that add and round, one per type, for all programs of a module.
class SumKernels {
public:
  explicit SumKernels(mlir::ModuleOp module) : symbols(module) {}

  /// Adds a `value` to a `sum`, in place.
  mlir::func::FuncOp getAdd(mlir::Type sum, mlir::Type value);
  mlir::func::FuncOp getConvert(mlir::Type from, mlir::Type to);

private:
  mlir::func::FuncOp getKernel(llvm::StringRef name, mlir::TypeRange inputs,
                               mlir::Type result);

  mlir::SymbolTable symbols;
  llvm::StringMap<mlir::func::FuncOp> kernels;
};

/// The sums of one program, by the result of a fragment that is added up.
class MicroBatchSums {
public:
  MicroBatchSums(SumKernels &kernels, ProgramWriter &writer)
      : kernels(kernels), writer(writer) {}

  /// True if a run of the fragment may leave the result in the slot of its sum:
  /// it has the sum's type, and nothing else reads it.
  static bool mayGoToSlot(mlir::OpResult result);
  /// The slot of the sum, which exists from the first call on.
  int64_t getSlot(mlir::OpResult result);
  bool isStarted(mlir::OpResult result) const {
    return started.contains(result);
  }
  /// Takes the next contribution from `slot`; nothing is left to do if that is
  /// the sum's own.
  void add(mlir::OpResult result, int64_t slot);
  /// The slot of what was added up, in the result's type; nothing if nothing
  /// was.
  std::optional<int64_t> getTotal(mlir::OpResult result);

private:
  SumKernels &kernels;
  ProgramWriter &writer;
  llvm::DenseMap<mlir::Value, int64_t> slots, totals;
  llvm::DenseSet<mlir::Value> started;
};

} // namespace pp

#endif // PP_LIB_TRANSFORMS_LOWER_MICROBATCHSUMS_H
