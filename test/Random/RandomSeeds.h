//===- RandomSeeds.h - random seeds for a plan ------------------*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0
//
// The axes have the names that passes choose seeds for: mb, dp and tp. Those
// that the mesh lacks are left out.
//
//===----------------------------------------------------------------------===//
#ifndef PP_TEST_RANDOM_RANDOMSEEDS_H
#define PP_TEST_RANDOM_RANDOMSEEDS_H

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "pp/IR/PP.h"
#include <random>

namespace pp::testing {

/// Inputs split over micro-batches and data parallelism, other arguments over
/// tensor parallelism, in any dimension that is large enough.
llvm::SmallVector<SeedAttr> drawSeeds(mlir::func::FuncOp main, MeshAttr mesh,
                                      std::mt19937 &random);

/// Why shardings that were drawn may be refused, as far as `message` says that;
/// empty if it does not.
llvm::StringRef findRefusal(llvm::StringRef message);

} // namespace pp::testing

#endif // PP_TEST_RANDOM_RANDOMSEEDS_H
