//===- RandomProgram.h - level 1 programs to partition ----------*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0
//
//===----------------------------------------------------------------------===//
#ifndef PP_TEST_TRANSFORMS_SHARD_RANDOMPROGRAM_H
#define PP_TEST_TRANSFORMS_SHARD_RANDOMPROGRAM_H

#include "mlir/IR/BuiltinOps.h"
#include "mlir/IR/OwningOpRef.h"
#include "pp/Reference/HostTensor.h"
#include <random>

namespace pp::testing {

struct RandomProgram {
  mlir::OwningOpRef<mlir::ModuleOp> module;
  std::vector<reference::HostTensor> inputs;
};

/// A module with a random mesh, a random `main` of `numOps` ops with random
/// shardings on its arguments and on some values in between, and inputs for it.
/// Values stay small, so that errors cannot hide in rounding; dimensions often
/// do not divide.
RandomProgram makeRandomProgram(mlir::MLIRContext &context, unsigned seed,
                                int numOps);

} // namespace pp::testing

#endif // PP_TEST_TRANSFORMS_SHARD_RANDOMPROGRAM_H
