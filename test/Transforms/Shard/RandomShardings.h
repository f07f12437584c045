//===- RandomShardings.h - a mesh and shardings to start from ---*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0
//
// For tests that partition random programs. The module is edited in place and
// is ready for propagation. Dimensions often do not divide.
//
//===----------------------------------------------------------------------===//
#ifndef PP_TEST_TRANSFORMS_SHARD_RANDOMSHARDINGS_H
#define PP_TEST_TRANSFORMS_SHARD_RANDOMSHARDINGS_H

#include "mlir/IR/BuiltinOps.h"

namespace pp::testing {

struct RandomShardingOptions {
  /// How many of a hundred ops get a constraint.
  int64_t constraintPercent = 8;
  /// An axis of micro-batches, which splits what the inputs have first.
  bool hasTime = false;
};

/// Gives a level 1 module a mesh of up to three axes, random shardings on
/// arguments and results, seeds that give some of them a priority, sharding
/// constraints on some values in between, and reshards of some.
void addRandomShardings(mlir::ModuleOp module, unsigned seed,
                        const RandomShardingOptions &options = {});

/// Makes a training step of a model with a batch, under a random plan: seeds
/// for inputs and some parameters, constraints and shardings of results, and
/// states, gradients and parameters shared out (zero). Fails with a diagnostic.
mlir::LogicalResult makeRandomStep(mlir::ModuleOp model, unsigned seed);

} // namespace pp::testing

#endif // PP_TEST_TRANSFORMS_SHARD_RANDOMSHARDINGS_H
