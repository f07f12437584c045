//===- LayoutOps.td - level 1: where values lie ------------*- tablegen -*-===//
//
// SPDX-License-Identifier: Apache-2.0
//
// Identities that state the layout of a value or name it for plans. Level 2 has
// none.
//
//===----------------------------------------------------------------------===//
#ifndef PP_IR_LAYOUTOPS_TD
#define PP_IR_LAYOUTOPS_TD

include "pp/IR/OpBase.td"

def PP_NameOp : PP_PureOp<"name", [PP_MovesElements, SameOperandsAndResultType]> {
  let summary = "the identity, with a name for plans";
  let description = [{
    `dims` names the dimensions, as pp.dims does for arguments; "" is a
    dimension without a name. The op's gradient is a `pp.name` with the same
    name, marked `gradient`. pp-annotate-shardings replaces the op by the
    constraints of the plan for its name.
    Constraints:
    - (name_c1) the name is not empty.
    - (name_c2) `dims` are as many as the tensor has dimensions.

    ```mlir
    %y = pp.name %x "h.0.attn.query" dims ["batch", "head"] : tensor<4x8xf32>
    %dx = pp.name %dy "h.0.attn.query" gradient : tensor<4x8xf32>
    ```
  }];
  let arguments = (ins PP_Tensor:$operand, StrAttr:$name, OptionalAttr<StrArrayAttr>:$dims,
                       UnitAttr:$gradient);
  let results = (outs PP_Tensor:$result);
  let hasVerifier = 1;
  let assemblyFormat = "$operand $name (`dims` $dims^)? (`gradient` $gradient^)? attr-dict `:` type($result)";
}

def PP_ShardingConstraintOp : PP_PureOp<"sharding_constraint", [PP_MovesElements, SameOperandsAndResultType]> {
  let summary = "the identity, one side of which has a given sharding";
  let description = [{
    `to`: the result has it. A `barrier` separates two layouts: the axes that it
    names do not spread through it, and the partitioner reshards its operand to
    the result's layout. Its gradient is the opposite change: the operand has
    the sharding (`from`). `priority` is the round of propagation, by default
    that of the axes.
    Constraints:
    - (sharding_constraint_c1) the sharding has the tensor's rank and is not partial.
    - (sharding_constraint_c2) `from` stands with `barrier`.

    ```mlir
    %y = pp.sharding_constraint %x to <@mesh, [{"dp"}, {"tp", ?} ]> : tensor<4x8xf32>
    %z = pp.sharding_constraint %y to <@mesh, [{?}, {"tp"} ]> barrier priority 0 : tensor<4x8xf32>
    %dy = pp.sharding_constraint %dz from <@mesh, [{?}, {"tp"} ]> barrier : tensor<4x8xf32>
    ```
  }];
  let arguments = (ins PP_Tensor:$operand, PP_ConstrainedSideAttr:$side, PP_ShardingAttr:$sharding,
                       UnitAttr:$barrier, OptionalAttr<I64Attr>:$priority);
  let results = (outs PP_Tensor:$result);
  let hasVerifier = 1;
  let assemblyFormat = "$operand `` $side $sharding (`barrier` $barrier^)? (`priority` $priority^)? attr-dict `:` type($result)";
  let extraClassDeclaration = [{
    /// The value that has the sharding.
    ::mlir::Value getConstrained() {
      return getSide() == ConstrainedSide::Result ? getResult() : getOperand();
    }
  }];
}

def PP_ReshardOp : PP_PureOp<"reshard", [PP_MovesElements, SameOperandsAndResultType]> {
  let summary = "the identity, between two layouts that differ in `axes`";
  let description = [{
    `with`: the result is split further over the `axes` that do not split it
    yet, in a dimension that pp-propagate-shardings chooses. `without`: the
    operand is split further, the result is not. Dimensions that are `whole` are
    not split further. Shardings spread through the op in all other axes.
    `each`: a partial value is reduced in every micro-batch, before it is
    accumulated.
    pp-annotate-shardings writes these ops for tensors that are stored or
    updated in another layout than the model uses.
    Constraints:
    - (reshard_c1) `axes` has an axis, and none twice.
    - (reshard_c2) `each` stands with `with`.
    - (reshard_c3) `whole` names dimensions of the tensor, ascending.

    ```mlir
    %y = pp.reshard %x with ["dp"] each : tensor<4x8xf32>
    %z = pp.reshard %x with ["dp"] whole [0] : tensor<4x8xf32>
    ```
  }];
  let arguments = (ins PP_Tensor:$operand, PP_LayoutChangeAttr:$change, StrArrayAttr:$axes,
                       OptionalAttr<DenseI64ArrayAttr>:$whole, UnitAttr:$each);
  let results = (outs PP_Tensor:$result);
  let hasVerifier = 1;
  let assemblyFormat = "$operand `` $change $axes (`whole` $whole^)? (`each` $each^)? attr-dict `:` type($result)";
}

#endif // PP_IR_LAYOUTOPS_TD
