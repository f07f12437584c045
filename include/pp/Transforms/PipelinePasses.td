//===- PipelinePasses.td - from level 2 to level 3 ---------*- tablegen -*-===//
//
// SPDX-License-Identifier: Apache-2.0
//
// The passes for stages, fragments and schedules, in the order of
// Pipelines.cpp.
//
//===----------------------------------------------------------------------===//
#ifndef PP_TRANSFORMS_PIPELINEPASSES_TD
#define PP_TRANSFORMS_PIPELINEPASSES_TD

include "mlir/Pass/PassBase.td"

def CutStages : LevelPass<"pp-cut-stages", "Graph"> {
  let summary = "assigns ops and arguments to stages";
  let description = [{
    Runs on level 1, before sharding: forward ops get stages, and derived ops
    inherit them, so that backward work is where its residuals are. Obeys the
    plan's `cuts`; without them the planner chooses, and they are written into
    the plan. Ops that depend on parameters alone run on all stages that use
    them, and so do these parameters; if only results use such an op (a norm in
    the loss), it runs where its parameters are.

    ```mlir
    // plan: cuts = [2]
    %0 = pp.sin %w     {pp.origin = 0} : ...   // -> pp.stages = [0, 1]
    %1 = pp.mul %x, %0 {pp.origin = 1} : ...   // -> pp.stages = [0]
    %2 = pp.mul %1, %0 {pp.origin = 2} : ...   // -> pp.stages = [1]
    ```
    Errors: cuts that leave a stage empty, an op without a cost, no op with a
    `pp.origin`.
  }];
}

def SplitStages : LevelPass<"pp-split-stages", "Spmd"> {
  let summary = "cuts the step into fragments and transfers";
  let description = [{
    Takes level 2 (one device's step) to level 3. Per stage: a forward and a
    backward fragment, run once per micro-batch, and an update fragment, run
    once per step. A value used on another stage is transferred, once per
    target; step-invariant ops (constants, broadcasts of parameters) are cloned
    into the fragments that use them. A sum whose addends live on different
    stages (the norm of all gradients, the gradient of a tied parameter) becomes
    a sum per stage and an all_reduce over these stages and those that need it.
    A parameter held by several stages is updated on each.

    ```mlir
    %y = pp.exp %x {pp.stages = array<i64: 0>} : tensor<4xf32>
    %z = pp.log %y {pp.stages = array<i64: 1>} : tensor<4xf32>
    // becomes
    %y = pp.fragment forward stage 0 (%x) { ... pp.exp ... }
    %t = pp.transfer %y from 0 to 1 : tensor<4xf32>
    %z = pp.fragment forward stage 1 (%t) { ... pp.log ... }
    ```
    Errors: a stage without work, a stage that reads a parameter it does not hold.
  }];
}

// Of any level with a body: before the cuts, or where text has none.
def Schedule : PassBase<"pp-schedule", "::mlir::OperationPass<::mlir::ModuleOp>"> {
  let summary = "orders the work of each position over the micro-batches";
  let description = [{
    Asks the schedule library for the plan's schedule (`gpipe`, `1f1b`,
    `interleaved-1f1b`, `zb-h1`, `zb-h2`, `zb-v`, a FILE.csv) and puts it on @main
    as `pp.schedule`, which says how many stages there are, too, and at which
    place on the mesh's stage axis each of them runs. A module may have it
    already, if it is the same; that of a file or of a search stays as it is.
    With one stage and no name in the plan the micro-batches run one after
    another.

    `auto` is searched: the shortest step for the times and messages of stages,
    cut for one, two and four stages a position (or `chunks` of them), in rounds
    or there and back; the cuts are put into the plan. About a dozen orders are
    lowered, named schedules among them, and the one with the least predicted
    step is taken; with `memory-limit` up to three dozen, and the best of those
    that keep it. A step of more than 4096 pairs of stage and micro-batch, and no
    limit, is only estimated. `--remarks-filter=pp-schedule` prints the predicted
    step, and by how much another order of these stages may be shorter.
    Errors: an unknown schedule, sizes that it does not allow, a limit that no
    order meets (with the least that would do).
  }];
  let options = [
    Option<"target", "target", "std::string", "\"\"",
           "the target of kernels, for auto with memory-limit; empty: the module's">
  ];
}

def ChooseResiduals : LevelPass<"pp-choose-residuals", "Pipeline"> {
  let summary = "chooses the values that forward keeps for backward";
  let description = [{
    Marks the forward ops whose results are kept in memory until backward reads
    them (`pp.keep`). The others are computed again. The plan's `remat` says
    which ops may be; without a plan it is `cheap`:

    - `none`: no op.
    - `cheap`: elementwise ops, views, counters and random bits, where that keeps
      fewer bytes and costs no time: a GELU keeps its input alone, a softmax its
      result.
    - `selective`: everything but collectives and products with parameters, so
      that a transformer's attention keeps its queries, keys and values
      (Korthikanti et al., "Reducing Activation Recomputation in Large
      Transformer Models", 2022).
    - `full`: everything within a layer, whose inputs are kept, but reductions
      and exchanges between devices. Layers are the numbers in the names of ops
      (`h.0.attn`); outside of them as `cheap`.
    - `auto`: what of `full`, and of all outside of layers, has to be computed
      again for each rank to need at most `memory-limit` bytes; by stage, the
      least work. The module is lowered with each of about a dozen choices.
      `--remarks-filter=pp-choose-residuals` prints what it costs, and how far
      that may be from the least.

    The choice is a minimum cut, so it keeps the fewest bytes. A value that is
    live across a contraction or collective and is made from the same value of
    the previous layer is kept (with `tp`, the sum of a layer's input and its
    reduced output); otherwise the backward work of the last layer would begin
    by recomputing all layers.

    ```mlir
    // forward:  %t = pp.tanh %x   %y = pp.mul %x, %t   yields %y, %x, %t
    // backward: reads %x and %t
    // becomes
    // forward:  the op that makes %x has pp.keep
    ```
    `keep` and `recompute` name values whose fate the plan decides.
    Errors: a step without fragments; a limit that no choice meets (with the
    least that would do); names of nothing, of one value in both lists, or of a
    reduction or exchange to be computed again.
  }];
  let options = [
    Option<"target", "target", "std::string", "\"\"",
           "the target of kernels, for remat=auto; empty: the module's">
  ];
}

def Rematerialize : LevelPass<"pp-rematerialize", "Pipeline"> {
  let summary = "computes again what forward does not keep";
  let description = [{
    Forward fragments yield the values that backward needs and that are marked
    (`pp.keep`), and backward fragments compute the others again, each right
    before it is first read. Removes the marks.

    ```mlir
    // forward:  %x = ... {pp.keep}   %t = pp.tanh %x   %y = pp.mul %x, %t   yields %y, %x, %t
    // backward: reads %x and %t
    // becomes
    // forward:  yields %y, %x
    // backward: reads %x   %t = pp.tanh %x
    ```
    Errors: a step without fragments; an unmarked op that reduces or exchanges
    values between devices, whose result backward needs.
  }];
}

def BucketCollectives : LevelPass<"pp-bucket-collectives", "Pipeline"> {
  let summary = "joins independent collectives of a fragment into few calls";
  let description = [{
    all_reduces, all_gathers and reduce_scatters of one group, reduction and
    element type become one variadic call, up to the plan's `bucket` bytes a
    call, so that latency is paid once. In fragments that run once a step, these
    are calls that do not wait for each other; in those of a micro-batch,
    reductions of gradients and gathers of parameters. For sharded parameters
    (`pp.parameter`) a bucket holds one layer (`pp.layer` of the argument): a
    product with a parameter and the parameters behind it, up to the next such
    product that reads its result.

    ```mlir
    %0 = pp.all_reduce sum %a over @mesh ["dp"] : ...
    %1 = pp.all_reduce sum %b over @mesh ["dp"] : ...
    // becomes
    %0:2 = pp.all_reduce sum %a, %b over @mesh ["dp"] : ...
    ```
    Errors: a step without fragments, a module without a plan.
  }];
}

#endif // PP_TRANSFORMS_PIPELINEPASSES_TD
