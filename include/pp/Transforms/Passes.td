//===- Passes.td - every pass of the compiler --------------*- tablegen -*-===//
//
// SPDX-License-Identifier: Apache-2.0
//
// In the order of Pipelines.cpp: training, sharding, pipeline, lowering.
//
//===----------------------------------------------------------------------===//
#ifndef PP_TRANSFORMS_PASSES_TD
#define PP_TRANSFORMS_PASSES_TD

include "mlir/Pass/PassBase.td"

//===----------------------------------------------------------------------===//
// Train/: level 1 to level 1
//===----------------------------------------------------------------------===//

//===----------------------------------------------------------------------===//
// Shard/: level 1 to level 2
//===----------------------------------------------------------------------===//

//===----------------------------------------------------------------------===//
// Pipeline/: level 2 to level 3
//===----------------------------------------------------------------------===//

//===----------------------------------------------------------------------===//
// Lower/: level 3 to level 4
//===----------------------------------------------------------------------===//

//===----------------------------------------------------------------------===//
// Checks
//===----------------------------------------------------------------------===//

def VerifyGraph : Pass<"pp-verify-graph", "::mlir::ModuleOp"> {
  let summary = "checks the contract of level 1";
  let description = [{
    One function `main` whose arguments all carry a role and a name; names are
    unique among arguments; parameters and states have an initializer; the first
    result is the scalar loss; every op of the body belongs to the graph level.
  }];
}

#endif // PP_TRANSFORMS_PASSES_TD
