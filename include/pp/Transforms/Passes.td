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

// Refuses modules of another level.
class LevelPass<string argument, string level>
  : PassBase<argument, "::pp::LevelPass<::pp::Level::" # level # ">">;

// Train/: level 1 to level 1
include "pp/Transforms/TrainPasses.td"
// Shard/: level 1 to level 2
include "pp/Transforms/ShardPasses.td"
// Pipeline/: level 2 to level 3
include "pp/Transforms/PipelinePasses.td"
// Lower/: level 3 to level 4
include "pp/Transforms/LowerPasses.td"

//===----------------------------------------------------------------------===//
// Checks
//===----------------------------------------------------------------------===//

def VerifyGraph : LevelPass<"pp-verify-graph", "Graph"> {
  let summary = "checks the contract of level 1";
  let description = [{
    `@main` is a block of graph ops whose first result is the scalar loss.
    A module without `pp.level` is a model, one of level graph a training step.
    - (graph_c1) the loss is computed from an input or label, also when constants are folded.

    At every level holds:
    - (model_c1) beside `@main` there are at most a mesh, private kernels (from level 3 on) and programs (at level 4), all with names.
    - (model_c2) with `pp.level` there is a plan; the mesh, there from level 2 on, is the plan's.
    - (model_c3) arguments have a role and a unique name in UTF-8, which for a parameter is not `__metadata__`; parameters and states have `pp.init`. Names of values (`pp.name`) are unique, too.
    - (model_c4) results have roles and names: first the loss, then metrics, new values of arguments (of the arguments' names and types), gradients of parameters.
    - (model_c5) arguments and results have at most 8 dimensions, inputs and labels at least an element; `pp.stored_shape` has as many elements as the argument, `pp.stored_order` is a permutation of its dimensions, `pp.bound` is above 0.
    - (model_c6) from level 2 on types are one device's part of `pp.global_shape` under `pp.sharding`, whose axes are the mesh's; before it, there is neither a global shape nor a stage.

    For the ops of a step:
    - (step_c1) no op reads what a later part of the step computes: forward, then gradients, then the update (`pp.kind`).
    - (step_c2) `pp.origin` numbers forward ops from 0 on; there are no marks of later passes.
  }];
}

def VerifySpmd : LevelPass<"pp-verify-spmd", "Spmd"> {
  let summary = "checks the contract of level 2";
  let description = [{
    As pp-verify-graph; `@main` holds graph ops on local tensors, collectives
    and accumulations. No sharding is left (`pp.shardings`,
    `pp.sharding_constraint`).
    - (step_c3) stages (`pp.stages`) are the mesh's, and values that a fragment of a micro-batch reads were computed before: forward from the first stage on, then backward from the last.
    - (step_c4) accumulations are over the time axis and of values of one micro-batch; no collective is over the stage axis yet.
  }];
}

def VerifyPipeline : LevelPass<"pp-verify-pipeline", "Pipeline"> {
  let summary = "checks the contract of level 3";
  let description = [{
    As pp-verify-graph for the module; `@main` holds fragments, transfers and
    accumulations, at most one fragment for a stage and a phase. Values that a
    fragment or a result reads are on its stage: arguments of the stage, results
    of its fragments, transferred values. A result that updates a parameter or
    state has the argument's name and type. `pp.schedule`, if present, has a
    list per stage and can run. pp-lower-to-programs checks the same.
  }];
}

#endif // PP_TRANSFORMS_PASSES_TD
