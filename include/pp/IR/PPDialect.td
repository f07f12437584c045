//===- PPDialect.td - the pp dialect -----------------------*- tablegen -*-===//
//
// SPDX-License-Identifier: Apache-2.0
//
// Lists the discardable attributes; their names in C++ are in pp/IR/Model.h,
// their checks in lib/IR/DiscardableAttributes.cpp.
//
//===----------------------------------------------------------------------===//
#ifndef PP_IR_PPDIALECT_TD
#define PP_IR_PPDIALECT_TD

include "mlir/IR/OpBase.td"

def PP_Dialect : Dialect {
  let name = "pp";
  let cppNamespace = "::pp";
  let summary = "training graphs, from one device to a program per rank";
  let description = [{
    One dialect with four levels. Level 1 is a graph of global tensors; level 2
    is one device's tensors with explicit collectives; level 3 cuts it into the
    fragments of a pipeline; level 4 is a list of instructions per rank.

    Discardable attributes:

    | attribute | on | meaning |
    |---|---|---|
    | `pp.role` | function arguments and results | `#pp.role<param>` and friends |
    | `pp.name` | function arguments and results | dotted name, as checkpoints spell it; an updated parameter or state result carries its argument's name |
    | `pp.init` | `param` and `state` arguments | `#pp.init<...>` |
    | `pp.bound` | integer `input` and `label` arguments | values lie in [0, bound) |
    | `pp.dims` | `input`, `label` and `param` arguments | name of each dimension: "batch", "sequence", "expert", or anything else. By default the first of an input is the batch |
    | `pp.parameter` | `state` arguments, ops of the update at level 1, reshards and collectives | name of the parameter that the state, update or change of layout belongs to |
    | `pp.layer` | `param` arguments that `zero` shards | the layer in which forward reads it, counted in program order; absent if there are several |
    | `pp.stored_shape` | `param` and `state` arguments | shape in checkpoints, when it differs |
    | `pp.stored_order` | `param` and `state` arguments | the dimensions in the order in which checkpoints have them, when it differs; `pp.stored_shape` is then a shape of the tensor in that order |
    | `pp.sharding` | arguments, results | `used` sharding (what propagation sees) |
    | `pp.unpadded_shape` | arguments, results | the model's shape, where the type has padding |
    | `pp.global_shape` | level 2 arguments, results | the whole tensor's shape (padding included), of which the type is one device's part |
    | `pp.shardings` | level 1 ops | one `#pp.sharding` per result, set by propagation |
    | `pp.in_shards` | level 1 ops that take or add up a part of a dimension | if the dimension is split, true: sum the shards' parts of the result; false: gather the dimension. Without it the planner writes it before the first use of the op's rule |
    | `pp.kind` | level 1 and 2 ops | `#pp.kind<...>`: which part of training |
    | `pp.origin` | level 1 and 2 ops | number of the forward op it derives from |
    | `pp.stages` | level 1 and 2 ops, arguments | stages that compute or hold it |
    | `pp.positions` | level 3 and 4 arguments, results | places on the stage axis whose ranks hold it |
    | `pp.checkpoint` | ops of a model | `#pp.checkpoint<keep>` or `<recompute>`: whether backward reads the result from memory or computes it again, whatever the plan's `remat` |
    | `pp.keep` | ops of forward fragments | backward reads the result from memory |
    | `pp.kernel` | private functions | `#pp.kernel<...>`: how the kernel is implemented |
    | `pp.rows`, `pp.padded` | loops kernels; a pad and the slices that read it | `#pp.rows<...>`: its rows; the padding of rows in memory, which is never read or written |
    | `pp.inplace` | kernels | pairs (result, operand) that share memory |
    | `pp.workspace` | kernels | bytes of scratch memory |
    | `pp.unfused`, `pp.epilogue` | contractions; kernels | the kernel that applies the epilogues if a library refuses them; on that kernel, a checksum of its work |
    | `pp.approximate` | kernels | its results may be off by units in the last place: no choice depends on them |
    | `pp.schedule` | `@main` | `#pp.schedule<...>` |
    | `pp.plan` | module | the decisions the passes obey |
    | `pp.level` | module | `#pp.level<...>`: the contract that holds |
    | `pp.target` | module | string: the target of its kernels; absent: the processors of the machine that compiles |

    The verifier refuses other names and attributes of other types. A kernel is
    a function with `pp.kernel`:
    - (kernel_c1) it has a body of level 1 ops and `pp.axis_index`, and arguments and at least one result that are tensors of static shape.
    - (kernel_c2) the pairs of `pp.inplace` name results and operands of equal types, none twice.
    - (kernel_c3) `pp.workspace` is not negative.
  }];
  let useDefaultAttributePrinterParser = 1;
  let hasConstantMaterializer = 1;
  let hasOperationAttrVerify = 1;
  let hasRegionArgAttrVerify = 1;
  let hasRegionResultAttrVerify = 1;
  let extraClassDeclaration = [{
    void registerAttributes();
  }];
}

#endif // PP_IR_PPDIALECT_TD
