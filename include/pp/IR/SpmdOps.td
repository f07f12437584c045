//===- SpmdOps.td - level 2: one device and its collectives -*- tablegen -*-===//
//
// SPDX-License-Identifier: Apache-2.0
//
// Collectives are not pure: no pass may sink one into a branch, merge it with
// another or drop it, since every member of its group must take part. Groups
// are symbolic: the devices that agree on all coordinates except those of
// `axes`, ordered by these (major to minor), which fixes the order of sums.
//
//===----------------------------------------------------------------------===//
#ifndef PP_IR_SPMDOPS_TD
#define PP_IR_SPMDOPS_TD

include "pp/IR/OpBase.td"

def PP_MeshOp : PP_Op<"mesh", [Symbol]> {
  let summary = "names a mesh";
  let description = [{
    ```mlir
    pp.mesh @mesh = <["mb"=4 : time, "pp"=2 : stage, "dp"=2, "tp"=2]>
    ```
  }];
  let arguments = (ins SymbolNameAttr:$sym_name, PP_MeshAttr:$mesh);
  let assemblyFormat = "$sym_name `=` $mesh attr-dict";
}

def PP_AxisIndexOp : PP_PureOp<"axis_index", [PP_MadeByReaders]> {
  let summary = "this device's shard index over `axes` (major to minor): a scalar";
  let description = [{
    On a time axis: the micro-batch.
    Constraints:
    - (axis_index_c1) the mesh exists and has every axis, none twice.

    ```mlir
    %i = pp.axis_index @mesh ["dp", "tp"] : tensor<i32>
    ```
  }];
  let arguments = (ins FlatSymbolRefAttr:$mesh, StrArrayAttr:$axes);
  let results = (outs 0DTensorOf<[I32, I64]>:$result);
  let hasVerifier = 1;
  let assemblyFormat = "$mesh $axes attr-dict `:` type($result)";
}

def PP_AccumulateOp : PP_PureOp<"accumulate", [SameOperandsAndResultType]> {
  let summary = "the sum of a per-micro-batch value over the time axis";
  let description = [{
    Added in micro-batch order, in f32 (f64 for f64). The result is available
    once all micro-batches have been computed.

    ```mlir
    %g = pp.accumulate %dw over "mb" : tensor<8x8xf32>
    ```
  }];
  let arguments = (ins PP_NumberTensor:$operand, StrAttr:$axis);
  let results = (outs PP_NumberTensor:$result);
  let assemblyFormat = "$operand `over` $axis attr-dict `:` type($result)";
}

def PP_AllReduceOp : PP_Op<"all_reduce"> {
  let summary = "reduces values over a group; every member gets the result";
  let description = [{
    Variadic: one call may carry many tensors (a bucket). `stages` restricts a
    reduction over the stage axis to those stages.
    Constraints:
    - (all_reduce_c1) at least one operand; as many results, of the same types.
    - (all_reduce_c2) the mesh exists and has every axis, none twice, none of kind time.

    ```mlir
    %r = pp.all_reduce sum %x over @mesh ["tp"] : (tensor<4x8xf32>) -> tensor<4x8xf32>
    ```
  }];
  let arguments = (ins PP_ReductionAttr:$reduction, Variadic<PP_Tensor>:$operands,
                       FlatSymbolRefAttr:$mesh, StrArrayAttr:$axes,
                       OptionalAttr<DenseI64ArrayAttr>:$stages);
  let results = (outs Variadic<PP_Tensor>:$outputs);
  let assemblyFormat = [{
    `` $reduction $operands `over` $mesh $axes (`stages` $stages^)? attr-dict `:`
    functional-type($operands, $outputs)
  }];
  let hasVerifier = 1;
  let builders = [OpBuilder<(ins "::mlir::ValueRange":$operands, "::pp::Reduction":$reduction,
      "::mlir::FlatSymbolRefAttr":$mesh, "::llvm::ArrayRef<::mlir::StringAttr>":$axes)>];
}

def PP_AllGatherOp : PP_Op<"all_gather"> {
  let summary = "joins the members' shards of values, each along a dimension";
  let description = [{
    Variadic, as all_reduce.
    Constraints:
    - (all_gather_c1) the mesh exists and has every axis, none twice, none of kind time.
    - (all_gather_c2) each result is its operand with its dimension of `dimensions` multiplied by the group's size.
    - (all_gather_c3) at least one operand; as many results and dimensions.

    ```mlir
    %y = pp.all_gather %x dims [0] over @mesh ["tp"] : (tensor<4x8xf32>) -> tensor<8x8xf32>
    ```
  }];
  let arguments = (ins Variadic<PP_Tensor>:$operands, DenseI64ArrayAttr:$dimensions,
                       FlatSymbolRefAttr:$mesh, StrArrayAttr:$axes);
  let results = (outs Variadic<PP_Tensor>:$outputs);
  let assemblyFormat = [{
    $operands `dims` $dimensions `over` $mesh $axes attr-dict `:`
    functional-type($operands, $outputs)
  }];
  let hasVerifier = 1;
}

def PP_ReduceScatterOp : PP_Op<"reduce_scatter"> {
  let summary = "reduces values over a group; member i keeps part i of a dimension of each";
  let description = [{
    Variadic, as all_reduce.
    Constraints:
    - (reduce_scatter_c1) the mesh exists and has every axis, none twice, none of kind time.
    - (reduce_scatter_c2) each result is its operand with its dimension of `dimensions` divided by the group's size.
    - (reduce_scatter_c3) at least one operand; as many results and dimensions.

    ```mlir
    %y = pp.reduce_scatter sum %x dims [0] over @mesh ["tp"] : (tensor<4x8xf32>) -> tensor<2x8xf32>
    ```
  }];
  let arguments = (ins PP_ReductionAttr:$reduction, Variadic<PP_Tensor>:$operands,
                       DenseI64ArrayAttr:$dimensions, FlatSymbolRefAttr:$mesh,
                       StrArrayAttr:$axes);
  let results = (outs Variadic<PP_Tensor>:$outputs);
  let assemblyFormat = [{
    `` $reduction $operands `dims` $dimensions `over` $mesh $axes attr-dict `:`
    functional-type($operands, $outputs)
  }];
  let hasVerifier = 1;
}

class PP_CollectiveOp<string mnemonic, list<Trait> traits = []> : PP_Op<mnemonic, traits> {
  let results = (outs PP_Tensor:$result);
  let hasVerifier = 1;
}

def PP_AllToAllOp : PP_CollectiveOp<"all_to_all"> {
  let summary = "member i sends part j of `split` to member j, which joins the parts along `concat`";
  let description = [{
    Constraints:
    - (all_to_all_c1) the mesh exists and has every axis, none twice, none of kind time.
    - (all_to_all_c2) the result is the operand with `split` divided and `concat` multiplied by the group's size.

    ```mlir
    %y = pp.all_to_all %x split 1 concat 0 over @mesh ["tp"] : tensor<4x8xf32> -> tensor<8x4xf32>
    ```
  }];
  let arguments = (ins PP_Tensor:$operand, I64Attr:$split_dimension, I64Attr:$concat_dimension,
                       FlatSymbolRefAttr:$mesh, StrArrayAttr:$axes);
  let assemblyFormat = "$operand `split` $split_dimension `concat` $concat_dimension `over` $mesh $axes attr-dict `:` type($operand) `->` type($result)";
}

def PP_PermuteOp : PP_CollectiveOp<"permute", [SameOperandsAndResultType]> {
  let summary = "members exchange values as one order of the axes becomes another";
  let description = [{
    Member i, counted row-major over `axes`, sends its value to the member whose
    coordinates give i when they are read in the order of `target`.
    Constraints:
    - (permute_c1) the mesh exists and has every axis, none twice, none of kind time.
    - (permute_c2) `target` has the axes in any order.

    ```mlir
    %y = pp.permute %x over @mesh ["dp", "tp"] to ["tp", "dp"] : tensor<4x8xf32>
    ```
  }];
  let arguments = (ins PP_Tensor:$operand, FlatSymbolRefAttr:$mesh, StrArrayAttr:$axes, StrArrayAttr:$target);
  let assemblyFormat = "$operand `over` $mesh $axes `to` $target attr-dict `:` type($result)";
}

def PP_AllSliceOp : PP_PureOp<"all_slice"> {
  let summary = "keeps this device's part of a dimension; nothing is sent";
  let description = [{
    Constraints:
    - (all_slice_c1) the mesh exists and has every axis, none twice.
    - (all_slice_c2) the result is the operand with `dimension` divided by the group's size.

    ```mlir
    %y = pp.all_slice %x dim 0 over @mesh ["dp", "tp"] : tensor<4x8xf32> -> tensor<1x8xf32>
    ```
  }];
  let arguments = (ins PP_Tensor:$operand, I64Attr:$dimension, FlatSymbolRefAttr:$mesh, StrArrayAttr:$axes);
  let results = (outs PP_Tensor:$result);
  let hasVerifier = 1;
  let extraClassDeclaration = PP_Dimensions<[PP_Names<"dimension", 0>.cpp]>.cpp;
  let assemblyFormat = "$operand `dim` $dimension `over` $mesh $axes attr-dict `:` type($operand) `->` type($result)";
}

#endif // PP_IR_SPMDOPS_TD
