//===- WorkCosts.h - estimated costs of kernels -----------------*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0
//
// An estimate before kernels exist. Contractions are separate kernels. Other
// ops will be fused: they cost their arithmetic, and the bytes that go to and
// from contractions and the other pass, for only these are in memory. The
// caller says which part of ops and values a device has.
//
//===----------------------------------------------------------------------===//
#ifndef PP_LIB_PLANNER_WORKCOSTS_H
#define PP_LIB_PLANNER_WORKCOSTS_H

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "pp/IR/PP.h"
#include "pp/Schedule/Topology.h"
#include "llvm/ADT/DenseSet.h"
#include "llvm/ADT/STLFunctionalExtras.h"

namespace pp {

class WorkCosts {
public:
  WorkCosts(mlir::func::FuncOp main, const schedule::Topology &topology,
            int64_t microBatches);

  /// Seconds of a micro-batch on a device that has `share` of the work of `op`
  /// and `shareOf` each value. Reports an op without a cost.
  mlir::FailureOr<double>
  secondsOf(mlir::Operation &op, double share,
            llvm::function_ref<double(mlir::Value)> shareOf) const;

  /// Seconds of a micro-batch to write a copy of `share` of a value.
  double secondsToWrite(mlir::Value value, double share) const {
    return bytesOf(value, share) / topology.bytesPerSecond;
  }

  /// True for values that depend on an input.
  bool isOfBatch(mlir::Value value) const {
    return batchDependent.contains(value);
  }

private:
  void findKept(mlir::Block &body);
  double bytesOf(mlir::Value value, double share) const;

  const schedule::Topology topology;
  const int64_t microBatches;
  const llvm::DenseSet<mlir::Value> batchDependent;
  /// Values that will be in memory: they enter or leave a contraction, or one
  /// pass keeps them for the other.
  llvm::DenseSet<mlir::Value> kept;
};

} // namespace pp

#endif // PP_LIB_PLANNER_WORKCOSTS_H
