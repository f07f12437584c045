//===- ShardPasses.td - from level 1 to level 2 ------------*- tablegen -*-===//
//
// SPDX-License-Identifier: Apache-2.0
//
// The passes for plans, shardings and collectives, in the order of
// Pipelines.cpp.
//
//===----------------------------------------------------------------------===//
#ifndef PP_TRANSFORMS_SHARDPASSES_TD
#define PP_TRANSFORMS_SHARDPASSES_TD

include "mlir/Pass/PassBase.td"

def MakePlan : LevelPass<"pp-make-plan", "Graph"> {
  let summary = "writes the plan that the options describe";
  let description = [{
    Puts `#pp.plan` on the module and adds `pp.mesh @mesh` with the axes `mb`
    (micro-batches, a time axis), `pp` (stages), `dp` and `tp`, without those of
    size 1. Shardings and stage cuts stay open for later passes. Its options are
    the keys of `--pp-parallelize`, as `pp-opt --help` lists them, without
    `plan` and `stop-after`; without `optimizer` the plan has none.

    ```
    --pp-make-plan="dp=2 tp=2 pp=2 microbatches=4 optimizer=adamw lr=1e-3 betas=0.9,0.95"
    ```
    writes
    ```mlir
    #pp.plan<mesh = <["mb"=4 : time, "pp"=2 : stage, "dp"=2, "tp"=2]>, schedule = "1f1b",
             threads = 1, optimizer = #pp.optimizer<adamw, lr = 1.0e-3, beta2 = 0.95>>
    ```
    Fails on a value that does not fit its key, a key that has no effect beside
    the others, a module that has a plan.
  }];
  let dependentDialects = ["::pp::PPDialect"];
}

def LoadPlan : LevelPass<"pp-load-plan", "Graph"> {
  let summary = "reads the plan from a file";
  let description = [{
    Instead of `pp-make-plan`: the file holds one `#pp.plan<...>`, as pp-opt
    prints it, possibly edited. Adds `pp.mesh @mesh` with the plan's mesh.

    ```
    --pp-load-plan="file=my.plan"
    ```
    Fails on a file that cannot be read or holds no plan.
  }];
  let dependentDialects = ["::pp::PPDialect"];
  let options = [Option<"file", "file", "std::string", "\"\"", "file to read">];
}

def SplitConstants : LevelPass<"pp-split-constants", "Graph"> {
  let summary = "clones constants and broadcasts per use";
  let description = [{
    Constants, iotas and broadcasts have dimensions that no operand has. One
    with two users would tie the shardings of both, so it is cloned before seeds
    are set, with its operands: each use of a mask of two iotas gets two new
    iotas. Equal clones are merged after `pp-partition`.

    ```mlir
    %b = pp.broadcast %zero dims [] : tensor<f32> -> tensor<8x8xf32>
    %y = pp.max %x, %b : tensor<8x8xf32>
    %z = pp.max %w, %b : tensor<8x8xf32>
    // becomes
    %b = pp.broadcast %zero dims [] : tensor<f32> -> tensor<8x8xf32>
    %c = pp.broadcast %zero dims [] : tensor<f32> -> tensor<8x8xf32>
    %y = pp.max %x, %b : tensor<8x8xf32>
    %z = pp.max %w, %c : tensor<8x8xf32>
    ```
  }];
}

def AnnotateShardings : LevelPass<"pp-annotate-shardings", "Graph"> {
  let summary = "annotates arguments and named values with the plan's seed shardings";
  let description = [{
    A plan without seeds gets them by analysis: the batch of inputs
    and labels over `mb` and `dp` (priority 0), and over `tp` (priority 1) the
    parameter dimensions that a contraction introduces and only contractions
    with parameters reduce: heads and the inner dimension of a feed-forward
    block. The rest is decided by cost: products that `tp` does not split (such
    as heads cut out of one projection), and, with `sp` beside `ep`, the
    experts, get seeds if these make the predicted step shorter. With `sequence
    = "true"` also the dimension that an input's `pp.dims` call "sequence", over
    `tp` (priority 2), and with `vocab = "true"` the parameter dimensions that
    inputs look up (priority 1). Everything else is left to
    `pp-propagate-shardings`.

    With `zero = 1`, `2` or `3` in the plan, `pp.reshard` ops over `dp` separate
    the layouts in which a parameter, its gradient and its new value are stored,
    used and updated: with 1, the update is split; with 2, gradients are reduced
    in every micro-batch, and summed split; with 3, parameters are stored split,
    and gathered for forward and again for backward.

    ```mlir
    %tokens: tensor<16x128xi32> {pp.name = "tokens", ...}
    // becomes, with mesh <["mb"=4 : time, "dp"=2]>,
    %tokens: tensor<16x128xi32> {pp.name = "tokens", pp.sharding = #pp.sharding<@mesh, [{"mb", "dp"}, {} ]>, ...}
    ```
    The model may give shardings beside the plan: `pp.sharding` on an argument
    or a result, `pp.sharding_constraint` inside. Analysis chooses no seed for
    such an argument. All shardings of a value, from the model or from seeds,
    must agree on closed dimensions; an open dimension that does not fit yields,
    and `--remarks-filter=pp-annotate-shardings` reports it (`yielded`). The new
    value of an argument counts as the argument, and a constraint other than a
    barrier as its operand.

    Fails on a seed that names nothing, an axis the mesh does not have, a
    dimension or axis used twice, a mesh with more shards than elements, closed
    dimensions that contradict each other, a result over a time axis, a `zero`
    without an axis `dp` or on a parameter that has no update.
  }];
  let dependentDialects = ["::pp::PPDialect"];
}

def PropagateShardings : LevelPass<"pp-propagate-shardings", "Graph"> {
  let summary = "derives the sharding of every value from those of a few arguments";
  let description = [{
    A fixed point over the factors of the ops' rules, in rounds of ascending
    seed priority. Writes `pp.shardings` on every op and `pp.sharding` on every
    argument and result. Open dimensions may gain axes, closed ones never.

    All axes spread through a `pp.reshard` except its own, which are placed at
    the end: in the first dimension that they divide, otherwise in the largest
    whole dimension, which is then padded. A tensor with fewer elements than
    they have devices stays whole.

    A `pp.sharding` on a result and a `pp.sharding_constraint` are seeds as well.
    Their axes join in the round of the first seed of the plan that uses the
    axis, or in round 0. The order of ops and arguments in the module does not
    matter. If two seeds of one round compete for a dimension or an axis, the
    one that is fewer ops away wins; among equally near ones the axis of smaller
    priority, then the first axis of the mesh, then the first dimension. Within
    an op, axes of smaller priority come first; then reductions over which all
    operands agree, then the axes of results, then those of the operands in
    order. `--remarks-filter=pp-propagate-shardings` lists operands whose layout
    differs from that of their op (`conflict`), and requests that were not met,
    with the axis that took their place (`unfulfilled`).
    An op that reads neighbours of elements, such as overlapping windows, gets
    that dimension gathered if a sharding from elsewhere splits it: `neighbours`
    names the dimension and axis, the source of the split, and dimensions that
    may be split instead. Equal remarks are printed once, at the first place,
    with the number of `times`.

    ```mlir
    // %w has #pp.sharding<@mesh, [{?}, {"tp"} ]>
    %y = pp.dot_general %x, %w batch [] x [] contract [1] x [0] : ...
    // becomes
    %y = pp.dot_general %x, %w ... {pp.shardings = [#pp.sharding<@mesh, [{}, {"tp"} ]>]} : ...
    ```
    Fails on an op without a sharding rule, on shardings of another mesh, on a
    requested sharding of an op's operand or result that splits a dimension of
    neighbours, and on a mesh axis of kind space or time that splits nothing.
  }];
}

def SplitScans : LevelPass<"pp-split-scans", "Graph"> {
  let summary = "splits scans along a split dimension into shards";
  let description = [{
    A running sum, a product, an argmax or a top_k needs its dimension whole.
    If it is split, the dimension becomes shards x elements: each shard scans
    its elements, and the shards share a number each, or their largest elements.
    The op knows how, and what that sends (`computeInShards`,
    `getBytesInShards`); the pass does it if that sends less than gathering the
    dimension. It runs before padding, so a dimension that does not divide into
    shards is gathered.

    ```mlir
    %y = pp.cumsum %x dim 0 : tensor<8xf32>  // %x over "tp"=2
    // becomes
    %p = pp.reshape %x : tensor<8xf32> -> tensor<2x4xf32>
    %s = pp.cumsum %p dim 1 : tensor<2x4xf32>
    %t = pp.reduce sum %p dims [1] : tensor<2x4xf32> -> tensor<2xf32>
    %q = pp.pad %t, %zero low [1] high [0] interior [0] : tensor<2xf32>, tensor<f32> -> tensor<3xf32>  // whole
    %l = pp.slice %q [0], [2], [1] : tensor<3xf32> -> tensor<2xf32>
    %b = pp.cumsum %l dim 0 : tensor<2xf32>
    %c = pp.broadcast %b dims [0] : tensor<2xf32> -> tensor<2x4xf32>
    %a = pp.add %s, %c : tensor<2x4xf32>
    %y = pp.reshape %a : tensor<2x4xf32> -> tensor<8xf32>
    ```
  }];
  let dependentDialects = ["::pp::PPDialect"];
}
def PadDimensions : LevelPass<"pp-pad-dimensions", "Graph"> {
  let summary = "pads dimensions to multiples of their shards";
  let description = [{
    Decided once per class of dimensions that share a factor: 8 heads of 32 over
    tp=3 become 9 x 32 everywhere, in merged dimensions too. Consuming
    reductions and contractions get their operands masked to the identity, ops
    that need a dimension whole get it without padding, updated parameters and
    states are masked to zero. Arguments and results get `pp.unpadded_shape`;
    padded elements of arguments are zero.

    ```mlir
    %s = pp.reduce sum %x dims [0] : tensor<8xf32> -> tensor<f32>  // %x over "tp"=3
    // becomes
    %i = pp.iota dim 0 : tensor<9xi32>
    %b = pp.constant dense<8> : tensor<9xi32>
    %m = pp.compare lt %i, %b : tensor<9xi32> -> tensor<9xi1>
    %z = pp.constant dense<0.0> : tensor<9xf32>
    %y = pp.select %m, %x, %z : tensor<9xi1>, tensor<9xf32>
    %s = pp.reduce sum %y dims [0] : tensor<9xf32> -> tensor<f32>
    ```
    `--remarks-filter=pp-pad-dimensions` lists how many of each
    op's floating-point operations are padding. If a merged dimension would be
    padded further than its axes require (40 columns of 5 heads over tp=4 to
    64), the planner compares that with gathering it at the op that merges: a
    remark, `shared` or `apart`, gives the seconds of both.
  }];
  let dependentDialects = ["::pp::PPDialect"];
}

def LintShardings : LevelPass<"pp-lint-shardings", "Graph"> {
  let summary = "reports repeated work, idle axes and padding";
  let description = [{
    Changes only the location of `@main`, where `--pp-explain` finds the
    findings: for each remedy what it would avoid, the costliest first.
    `--remarks-filter=pp-lint-shardings` lists it op by op: products, of any
    size, and values of 1 MiB and more that every device of an axis computes
    (`whole`), values that it holds although the axis splits the work
    (`replicated`) or has them gathered for another layout (`gathered`); axes
    that split less than half of the floating-point operations (`idle`), and
    sizes of arguments of which more than an eighth is padding (`padded`). Each
    comes with remedies: keys that have an effect on that model and axis, sizes
    of axes that divide, and seeds for named values, as in a plan.
    `--pp-explain` tries whether they pay. Operands that are gathered for
    neighbours (remarks of pp-propagate-shardings) are findings, too. Gathers of
    `zero` and computations on constants alone are not listed.
  }];
}

def Partition : LevelPass<"pp-partition", "Graph"> {
  let summary = "turns global tensors into one device's tensors and collectives";
  let description = [{
    Reshards every operand to the axes chosen for its op's factors, along the
    cheapest collectives for the given links, and builds the local op. A
    reduction over a sharded factor leaves a partial value, which is reduced
    behind its definition, unless its only use is additive in it: then the sum
    of two partial values is reduced once. Dimension-preserving ops between it
    and a change of layout compute in a layout on the cheapest way. A sum over
    the time axis becomes `pp.accumulate`. Arguments and results keep
    `pp.sharding` and gain `pp.global_shape`. `--remarks-filter=pp-partition`
    lists every collective with its cause, group and bytes; their locations name
    the cause, too.

    ```mlir
    %y = pp.dot_general %x, %w batch [] x [] contract [1] x [0] : tensor<4x8xf32>, tensor<8x4xf32> -> tensor<4x4xf32>
    // becomes, with the contraction over "tp" of size 2,
    %p = pp.dot_general %x, %w ... : tensor<4x4xf32>, tensor<4x4xf32> -> tensor<4x4xf32>
    %y = pp.all_reduce sum %p over @mesh ["tp"] : (tensor<4x4xf32>) -> tensor<4x4xf32>
    ```
    Fails on an op without a rule or shardings, a dimension that does not
    divide, a use of a per-micro-batch value as a whole and on any use of a sum
    over micro-batches within a micro-batch.
  }];
  let dependentDialects = ["::pp::PPDialect", "::mlir::func::FuncDialect"];
}

def OptimizeCollectives : LevelPass<"pp-optimize-collectives", "Spmd"> {
  let summary = "shares, merges and drops collectives";
  let description = [{
    Equal collectives on one value are done once in a part of the step, a
    reduction of which only a slice is used becomes a reduce_scatter, unused ones
    go. A gather moves behind its one use, if that is elementwise, or before what
    it gathers, where fewer bytes travel there (converts, the sum of two, one
    value with several that are small). Of a broadcast that is sliced no more is
    made than the slice.

    ```mlir
    %r = pp.all_reduce sum %x over @mesh ["dp"] : (tensor<8xf32>) -> tensor<8xf32>
    %s = pp.all_slice %r dim 0 over @mesh ["dp"] : tensor<8xf32> -> tensor<4xf32>
    // becomes
    %s = pp.reduce_scatter sum %x dims [0] over @mesh ["dp"] : (tensor<8xf32>) -> tensor<4xf32>
    ```
  }];
}

#endif // PP_TRANSFORMS_SHARDPASSES_TD
