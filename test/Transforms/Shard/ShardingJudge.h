//===- ShardingJudge.h - a partitioned module against itself ----*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0
//
// Propagates, pads and partitions a module of level 1 with shardings, runs it
// on all devices in the reference interpreter, and compares with the module as
// it was, in f64.
//
//===----------------------------------------------------------------------===//
#ifndef PP_TEST_TRANSFORMS_SHARD_SHARDINGJUDGE_H
#define PP_TEST_TRANSFORMS_SHARD_SHARDINGJUDGE_H

#include "mlir/IR/BuiltinOps.h"
#include <string>

namespace pp::testing {

/// Links of a plan, over which sending takes no time.
constexpr llvm::StringLiteral kFreeLinks = "1e30:0";

/// Nothing, a refusal with its reason, or a fault.
struct Verdict {
  std::string refusal, fault;
};

/// What a pass that failed with this message has done. Without one it is at
/// fault.
Verdict judgeFailure(llvm::StringRef message);

/// Judges `module`, which is changed. `onPropagated` sees it before it is
/// padded.
Verdict
judgeShardings(mlir::ModuleOp module, unsigned seed,
               llvm::function_ref<void(mlir::ModuleOp)> onPropagated = nullptr);

/// The fault of `module`, or nothing; with the smallest module that was found
/// to have one.
std::string findFault(mlir::ModuleOp module, unsigned seed);

std::string toText(mlir::ModuleOp module);

} // namespace pp::testing

#endif // PP_TEST_TRANSFORMS_SHARD_SHARDINGJUDGE_H
