//===- RandomShardings.h - a mesh and shardings to start from ---*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0
//
// For tests that partition random programs. The module is edited in place and
// is ready for propagation.
//
//===----------------------------------------------------------------------===//
#ifndef PP_TEST_TRANSFORMS_SHARD_RANDOMSHARDINGS_H
#define PP_TEST_TRANSFORMS_SHARD_RANDOMSHARDINGS_H

#include "mlir/IR/BuiltinOps.h"

namespace pp::testing {

/// Gives a level 1 module a mesh of up to three axes, random shardings on
/// arguments and results, seeds that give some of them a priority, and sharding
/// constraints on some values in between. Dimensions often do not divide.
void addRandomShardings(mlir::ModuleOp module, unsigned seed,
                        int64_t constraintPercent = 8);

} // namespace pp::testing

#endif // PP_TEST_TRANSFORMS_SHARD_RANDOMSHARDINGS_H
