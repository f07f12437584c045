//===- MakePlan.h - from command line options to a plan ---------*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0
//
// The options of `pp-make-plan` and of `--pp-parallelize`, and the plan that
// says the same. What an option leaves open (shardings, stage cuts) stays open
// in the plan; later passes fill it in.
//
//===----------------------------------------------------------------------===//
#ifndef PP_TRANSFORMS_SHARD_MAKEPLAN_H
#define PP_TRANSFORMS_SHARD_MAKEPLAN_H

#include "mlir/IR/BuiltinOps.h"
#include <cstdint>
#include <optional>
#include <string>

namespace pp {

struct ParallelizeOptions {
  /// Degrees of data, tensor and pipeline parallelism; number of micro-batches.
  int64_t dp = 1, tp = 1, pp = 1, microbatches = 1;
  /// "gpipe" or "1f1b".
  std::string schedule = "1f1b";
  /// "sgd", "momentum", "adam", "adamw"; empty: no optimizer.
  std::string optimizer;
  /// Hyperparameters; absent: torch.optim's default.
  std::optional<double> lr, weightDecay, momentum, beta1, beta2, eps, clip;
  int64_t warmup = 0;
  /// "constant" or "cosine"; cosine needs `steps`.
  std::string decay = "constant";
  int64_t steps = 0;
  /// Threads of a rank; absent: one.
  std::optional<int64_t> threads;
};

/// What is wrong with the options, whatever the module: a number out of range,
/// a word that means nothing, a value that the others leave without use. Empty
/// when nothing is.
std::string checkOptions(const ParallelizeOptions &options);

/// A plan that is there already was decided for a reason: refuses to replace it.
mlir::LogicalResult checkHasNoPlan(mlir::ModuleOp module);

/// Writes the plan onto the module and adds its `pp.mesh @mesh`. Reports what
/// checkOptions() finds.
mlir::LogicalResult buildPlan(mlir::ModuleOp module,
                              const ParallelizeOptions &options);

} // namespace pp

#endif // PP_TRANSFORMS_SHARD_MAKEPLAN_H
