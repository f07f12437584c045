//===- MicroBatchSums.h - values added up over micro-batches ----*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0
//
// The meaning of pp.accumulate in a program: contributions are added in the
// order in which micro-batches are run, those of low precision in f32, whose
// sum is rounded once. On a GPU, those of one run of a fragment share launches:
// it hands all of them out at its end, so that nothing lives longer for it.
//
//===----------------------------------------------------------------------===//
#ifndef PP_LIB_TRANSFORMS_LOWER_MICROBATCHSUMS_H
#define PP_LIB_TRANSFORMS_LOWER_MICROBATCHSUMS_H

#include "ProgramWriter.h"
#include "mlir/IR/SymbolTable.h"

namespace pp {

/// The kernels that add and round, one per list of types, for all programs of a
/// module.
class SumKernels {
public:
  /// `mostTensors`: that a kernel adds up, or rounds.
  SumKernels(mlir::ModuleOp module, size_t mostTensors)
      : symbols(module), mostTensors(mostTensors) {}

  /// Adds each of `values` to the one of `sums`, in place.
  mlir::func::FuncOp getAdd(mlir::TypeRange sums, mlir::TypeRange values);
  mlir::func::FuncOp getConvert(mlir::TypeRange from, mlir::TypeRange to);
  size_t getMostTensors() const { return mostTensors; }

private:
  mlir::func::FuncOp getKernel(llvm::StringRef verb,
                               llvm::ArrayRef<std::string> names,
                               mlir::TypeRange inputs, mlir::TypeRange results);

  mlir::SymbolTable symbols;
  const size_t mostTensors;
  llvm::StringMap<mlir::func::FuncOp> kernels;
  unsigned numShared = 0;
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
  /// the sum's own. finish() ends those of a run.
  void add(mlir::OpResult result, int64_t slot);
  void finish();
  /// Rounds the sums of `results`, for getTotal().
  void round(llvm::ArrayRef<mlir::OpResult> results);
  /// The slot of the sum, in the result's type; nothing if there is none.
  std::optional<int64_t> getTotal(mlir::OpResult result);

private:
  /// A value on its way to `to`, which it is added to or is the first of.
  struct Move {
    mlir::Location loc;
    mlir::Type fromType, toType;
    int64_t from, to;
    bool adds;
  };
  void write(llvm::ArrayRef<Move> moves);

  SumKernels &kernels;
  ProgramWriter &writer;
  llvm::DenseMap<mlir::Value, int64_t> slots, totals;
  llvm::DenseSet<mlir::Value> started;
  llvm::SmallVector<Move> pending;
};

} // namespace pp

#endif // PP_LIB_TRANSFORMS_LOWER_MICROBATCHSUMS_H
