//===- WindowOps.td - level 1: what slides over dimensions -*- tablegen -*-===//
//
// SPDX-License-Identifier: Apache-2.0
//
// Convolutions and pooling. Ops number their window dimensions, so they fit
// every layout of images.
//
//===----------------------------------------------------------------------===//
#ifndef PP_IR_WINDOWOPS_TD
#define PP_IR_WINDOWOPS_TD

include "pp/IR/OpBase.td"

def PP_ConvolutionOp : PP_PureOp<"convolution", [PP_FindsElements, PP_ReadsMany]> {
  let summary = "a contraction whose operands also meet along windows that slide";
  let description = [{
    A dot_general with window dimensions. Along one of them, result position p
    is the sum over the positions t of rhs of lhs[p * stride + t * rhs_dilation - low]
    times rhs[t]; with `reverse`, times rhs[size - 1 - t]. lhs_dilation - 1
    zeros stand between neighbours of lhs, and `low` and `high` zeros before and
    behind it (negative numbers cut elements off). Groups are batch dimensions.
    The result has batch dimensions, free ones of lhs, then of rhs, in order;
    its window dimensions are at the positions behind the arrow. Gradients of a
    convolution are convolutions. Accumulates in f32 for bf16 and f16 operands;
    the result's element type may be wider than the operands'.
    Constraints:
    - (convolution_c1) batch, contracting and window lists pair up and name distinct dimensions.
    - (convolution_c2) batch and contracting dimensions have equal sizes; operands share an element type, floats or integers as the result's.
    - (convolution_c3) one stride, low, high and dilation per window dimension; strides and dilations are at least 1.
    - (convolution_c4) the result's shape follows.

    ```mlir
    %y = pp.convolution %x, %w batch [] x [] contract [3] x [2] window [1, 2] x [0, 1] -> [1, 2]
        strides [2, 2] low [1, 1] high [1, 1] dilation [1, 1] x [1, 1]
        : tensor<8x32x32x4xf32>, tensor<3x3x4x16xf32> -> tensor<8x16x16x16xf32>
    ```
  }];
  let arguments = (ins PP_NumberTensor:$lhs, PP_NumberTensor:$rhs,
    DenseI64ArrayAttr:$lhs_batch, DenseI64ArrayAttr:$rhs_batch,
    DenseI64ArrayAttr:$lhs_contract, DenseI64ArrayAttr:$rhs_contract,
    DenseI64ArrayAttr:$lhs_window, DenseI64ArrayAttr:$rhs_window,
    DenseI64ArrayAttr:$result_window, DenseI64ArrayAttr:$strides,
    DenseI64ArrayAttr:$low, DenseI64ArrayAttr:$high,
    DenseI64ArrayAttr:$lhs_dilation, DenseI64ArrayAttr:$rhs_dilation, UnitAttr:$reverse);
  let results = (outs PP_NumberTensor:$result);
  let hasVerifier = 1;
  let extraClassDeclaration = PP_Dimensions<[PP_Names<"lhs_batch", 0>.cpp, PP_Names<"rhs_batch", 1>.cpp,
    PP_Names<"lhs_contract", 0>.cpp, PP_Names<"rhs_contract", 1>.cpp, PP_Names<"lhs_window", 0>.cpp,
    PP_Names<"rhs_window", 1>.cpp, PP_Names<"result_window", -1>.cpp]>.cpp # [{
    /// Dimensions of an operand that are neither batch, contracting nor window.
    ::llvm::SmallVector<int64_t> getLhsFree();
    ::llvm::SmallVector<int64_t> getRhsFree();
    /// Result dimensions of the batch, then of the free ones of lhs, then of rhs.
    ::llvm::SmallVector<int64_t> getResultPlain();
  }];
  let assemblyFormat = [{
    $lhs `,` $rhs `batch` $lhs_batch `x` $rhs_batch `contract` $lhs_contract `x` $rhs_contract
    `window` $lhs_window `x` $rhs_window `->` $result_window
    `strides` $strides `low` $low `high` $high `dilation` $lhs_dilation `x` $rhs_dilation
    (`reverse` $reverse^)? attr-dict `:` type($lhs) `,` type($rhs) `->` type($result)
  }];
}

class PP_PoolingOp<string mnemonic, list<Trait> traits = []> : PP_PureOp<mnemonic, traits> {
  dag windows = (ins DenseI64ArrayAttr:$dimensions, DenseI64ArrayAttr:$sizes,
    DenseI64ArrayAttr:$strides, DenseI64ArrayAttr:$dilations,
    DenseI64ArrayAttr:$low, DenseI64ArrayAttr:$high);
  let hasVerifier = 1;
  let extraClassDeclaration = PP_Dimensions<[PP_Names<"dimensions", 0>.cpp]>.cpp;
}

def PP_ReduceWindowOp : PP_PoolingOp<"reduce_window", [PP_FindsElements, PP_ReadsMany, SameOperandsAndResultElementType]> {
  let summary = "reduces the windows that slide over some dimensions";
  let description = [{
    Along `dimensions[i]`, result position p reduces the operand's elements
    p * stride + t * dilation - low for t below the window's size; those outside
    of the operand are left out. A window without elements yields the
    reduction's identity. Among equal elements, the first takes the gradient of
    `max` and `min`.
    Constraints:
    - (reduce_window_c1) `dimensions` strictly increase within the rank, with a size, stride, dilation, low and high each; the first three are at least 1.
    - (reduce_window_c2) the reduction is sum, max or min.
    - (reduce_window_c3) the result's shape follows.

    ```mlir
    %y = pp.reduce_window max %x dims [1, 2] sizes [3, 3] strides [2, 2] dilation [1, 1] low [1, 1] high [1, 1]
        : tensor<8x16x16x4xf32> -> tensor<8x8x8x4xf32>
    ```
  }];
  let arguments = !con((ins PP_ReductionAttr:$reduction, PP_NumberTensor:$operand), windows);
  let results = (outs PP_NumberTensor:$result);
  let assemblyFormat = [{
    `` $reduction $operand `dims` $dimensions `sizes` $sizes `strides` $strides `dilation` $dilations
    `low` $low `high` $high attr-dict `:` type($operand) `->` type($result)
  }];
}

def PP_SelectAndScatterOp : PP_PoolingOp<"select_and_scatter", [PP_FindsElements, PP_FindsLargest, PP_ReadsMany, AllTypesMatch<["operand", "result"]>]> {
  let summary = "adds each update where the first largest element of its window lies";
  let description = [{
    The gradient of a maximum: windows slide over `operand` as in
    pp.reduce_window, and each adds its update to one of its elements; NaN
    counts as larger than every number. An update whose window lies outside of
    the operand is dropped.
    Constraints:
    - (select_and_scatter_c1) as reduce_window_c1.
    - (select_and_scatter_c2) the updates have the shape of the windows' result, and the operand's element type.

    ```mlir
    %g = pp.select_and_scatter %x, %dy dims [1, 2] sizes [3, 3] strides [2, 2] dilation [1, 1] low [1, 1] high [1, 1]
        : tensor<8x16x16x4xf32>, tensor<8x8x8x4xf32>
    ```
  }];
  let arguments = !con((ins PP_FloatTensor:$operand, PP_FloatTensor:$updates), windows);
  let results = (outs PP_FloatTensor:$result);
  let assemblyFormat = [{
    $operand `,` $updates `dims` $dimensions `sizes` $sizes `strides` $strides `dilation` $dilations
    `low` $low `high` $high attr-dict `:` type($operand) `,` type($updates)
  }];
}

#endif // PP_IR_WINDOWOPS_TD
