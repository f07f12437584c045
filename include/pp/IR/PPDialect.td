//===- PPDialect.td - the pp dialect -----------------------*- tablegen -*-===//
//
// SPDX-License-Identifier: Apache-2.0
//
// Its discardable attributes are listed here; their names in C++ are in
// pp/IR/Model.h, their checks in lib/IR/DiscardableAttributes.cpp.
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
    | `pp.dims` | `input`, `label` and `param` arguments | what each dimension is: "batch", "sequence", "expert", or anything else. Of an input without it the first is the batch |
    | `pp.parameter` | `state` arguments, ops of the update at level 1, reshards and collectives | name of the parameter it belongs to: as an optimizer's state, an op of its update, or a change of its layout before the update |
    | `pp.layer` | `param` arguments that `zero` shares out | the layer in which forward reads it, counted in the order of the program; absent where that is not one |
    | `pp.stored_shape` | `param` and `state` arguments | shape in checkpoints, when it differs |
    | `pp.stored_order` | `param` and `state` arguments | the dimensions in the order in which checkpoints have them, when it differs; `pp.stored_shape` is then a shape of the tensor in that order |
    | `pp.sharding` | arguments, results | `used` sharding (what propagation sees) |
    | `pp.unpadded_shape` | arguments, results | the model's shape, where the type has padding |
    | `pp.global_shape` | level 2 arguments, results | the whole tensor's shape (padding included), of which the type is one device's part |
    | `pp.shardings` | level 1 ops | one `#pp.sharding` per result, set by propagation |
    | `pp.in_shards` | level 1 ops that take or add up a part of a dimension | true: where it is split, each shard gives what it has of the result, and that is summed; false: it is gathered. The planner says so before anything asks for the op's rule, if the model does not |
    | `pp.kind` | level 1 and 2 ops | `#pp.kind<...>`: which part of training |
    | `pp.origin` | level 1 and 2 ops | number of the forward op it derives from |
    | `pp.stages` | level 1 and 2 ops, arguments | stages that compute or hold it |
    | `pp.kernel` | private functions | `#pp.kernel<...>`: how the kernel is carried out |
    | `pp.rows`, `pp.padded` | loops kernels; a pad and the slices that read it | `#pp.rows<...>`: the rows it is computed by; the padding is in memory only, where nobody writes or reads it |
    | `pp.inplace` | kernels | pairs (result, operand) that share memory |
    | `pp.workspace` | kernels | bytes of scratch memory they ask for |
    | `pp.unfused`, `pp.epilogue` | contractions; kernels | the kernel of what is done besides the product, should a library refuse it; of that kernel, a checksum of what it does |
    | `pp.approximate` | kernels | its results may be off by units in the last place: no choice depends on them |
    | `pp.schedule` | `@main` | `#pp.schedule<...>` |
    | `pp.plan` | module | the decisions the passes obey |
    | `pp.level` | module | `#pp.level<...>`: the contract that holds |
    | `pp.target` | module | string: what runs its kernels; nothing: the processors of the machine that compiles |

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
