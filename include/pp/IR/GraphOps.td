//===- GraphOps.td - level 1: the graph --------------------*- tablegen -*-===//
//
// SPDX-License-Identifier: Apache-2.0
//
// A restricted StableHLO: same semantics, ranked static shapes, explicit
// broadcast, no regions. Softmax, layer norm, attention arrive decomposed.
//
//===----------------------------------------------------------------------===//
#ifndef PP_IR_GRAPHOPS_TD
#define PP_IR_GRAPHOPS_TD

include "pp/IR/OpBase.td"

//===----------------------------------------------------------------------===//
// Elementwise
//===----------------------------------------------------------------------===//

class PP_UnaryOp<string mnemonic, Type type = PP_FloatTensor, string element = "f32",
                 list<Trait> traits = []>
    : PP_PureOp<mnemonic, !listconcat([Elementwise, PP_ComputesElements, SameOperandsAndResultType], traits)> {
  let description = "```mlir\n%y = pp." # mnemonic # " %x : tensor<4x8x" # element # ">\n```\n";
  let arguments = (ins type:$operand);
  let results = (outs type:$result);
  let assemblyFormat = "$operand attr-dict `:` type($result)";
}
class PP_BinaryOp<string mnemonic, Type type = PP_NumberTensor, list<Trait> traits = [],
                  string element = "f32">
    : PP_PureOp<mnemonic, !listconcat([Elementwise, PP_ComputesElements, SameOperandsAndResultType], traits)> {
  let description = "```mlir\n%z = pp." # mnemonic # " %x, %y : tensor<4x8x" # element # ">\n```\n";
  let arguments = (ins type:$lhs, type:$rhs);
  let results = (outs type:$result);
  let assemblyFormat = "$lhs `,` $rhs attr-dict `:` type($result)";
}

def PP_NegOp : PP_UnaryOp<"neg", PP_NumberTensor> {
  let hasFolder = 1;
  let summary = "-x";
}
def PP_AbsOp : PP_UnaryOp<"abs", PP_NumberTensor> {
  let summary = "|x|; its gradient at 0 is 0";
}
def PP_ExpOp : PP_UnaryOp<"exp", PP_FloatTensor, "f32", [PP_Transcendental]> {
  let summary = "the exponential: e to the x";
}
def PP_LogOp : PP_UnaryOp<"log", PP_FloatTensor, "f32", [PP_Transcendental]> {
  let summary = "natural logarithm";
}
def PP_Log1pOp : PP_UnaryOp<"log1p", PP_FloatTensor, "f32", [PP_Transcendental]> {
  let summary = "log(1 + x), exact for small x, too";
}
def PP_SqrtOp : PP_UnaryOp<"sqrt"> {
  let summary = "square root";
}
def PP_RsqrtOp : PP_UnaryOp<"rsqrt"> {
  let summary = "1 / sqrt(x)";
}
def PP_TanhOp : PP_UnaryOp<"tanh", PP_FloatTensor, "f32", [PP_Transcendental]> {
  let summary = "hyperbolic tangent";
}
def PP_ErfOp : PP_UnaryOp<"erf", PP_FloatTensor, "f32", [PP_Transcendental]> {
  let summary = "error function";
}
def PP_LogisticOp : PP_UnaryOp<"logistic", PP_FloatTensor, "f32", [PP_Transcendental]> {
  let summary = "1 / (1 + exp(-x))";
}
def PP_SinOp : PP_UnaryOp<"sin", PP_FloatTensor, "f32", [PP_Transcendental]> {
  let summary = "sine";
}
def PP_CosOp : PP_UnaryOp<"cos", PP_FloatTensor, "f32", [PP_Transcendental]> {
  let summary = "cosine";
}
def PP_SignOp : PP_UnaryOp<"sign", PP_NumberTensor> {
  let summary = "-1, 0 or 1";
}
def PP_NotOp : PP_UnaryOp<"not", PP_LogicTensor, "i1"> {
  let hasFolder = 1;
  let summary = "logical or bitwise not";
}

def PP_AddOp : PP_BinaryOp<"add", PP_NumberTensor, [Commutative]> {
  let hasFolder = 1;
  let hasCanonicalizer = 1;
  let summary = "the sum x + y";
}
def PP_SubOp : PP_BinaryOp<"sub", PP_NumberTensor> {
  let hasFolder = 1;
  let summary = "the difference x - y";
}
def PP_MulOp : PP_BinaryOp<"mul", PP_NumberTensor, [Commutative]> {
  let hasFolder = 1;
  let summary = "the product x * y";
}
def PP_DivOp : PP_BinaryOp<"div", PP_NumberTensor> {
  let hasFolder = 1;
  let summary = "the quotient x / y; integers round towards zero";
}
def PP_MaxOp : PP_BinaryOp<"max", PP_NumberTensor, [Commutative]> {
  let summary = "the larger; NaN if either is; ties share the gradient equally";
}
def PP_MinOp : PP_BinaryOp<"min", PP_NumberTensor, [Commutative]> {
  let summary = "the smaller; NaN if either is; ties share the gradient equally";
}
def PP_PowOp : PP_BinaryOp<"pow", PP_FloatTensor, [PP_Transcendental]> {
  let summary = "the power: x to the y";
}
def PP_AndOp : PP_BinaryOp<"and", PP_LogicTensor, [Commutative], "i1"> {
  let summary = "logical or bitwise and";
}
def PP_OrOp : PP_BinaryOp<"or", PP_LogicTensor, [Commutative], "i1"> {
  let summary = "logical or bitwise or";
}

def PP_CompareOp : PP_PureOp<"compare", [PP_FindsElements, Elementwise, SameTypeOperands, SameOperandsAndResultShape]> {
  let summary = "compares element by element; every comparison with NaN but `ne` is false";
  let description = [{
    ```mlir
    %m = pp.compare le %i, %j : tensor<4x4xi32> -> tensor<4x4xi1>
    ```
  }];
  let arguments = (ins PP_DirectionAttr:$direction, PP_Tensor:$lhs, PP_Tensor:$rhs);
  let results = (outs PP_BoolTensor:$result);
  let assemblyFormat = "`` $direction $lhs `,` $rhs attr-dict `:` type($lhs) `->` type($result)";
}

def PP_SelectOp : PP_PureOp<"select", [PP_MovesElements, Elementwise, AllTypesMatch<["on_true", "on_false", "result"]>,
                                       AllShapesMatch<["predicate", "result"]>]> {
  let hasFolder = 1;
  let summary = "`on_true` where `predicate` holds, `on_false` elsewhere";
  let description = [{
    ```mlir
    %y = pp.select %m, %x, %z : tensor<4x8xi1>, tensor<4x8xf32>
    ```
  }];
  let arguments = (ins PP_BoolTensor:$predicate, PP_Tensor:$on_true, PP_Tensor:$on_false);
  let results = (outs PP_Tensor:$result);
  let assemblyFormat = "$predicate `,` $on_true `,` $on_false attr-dict `:` type($predicate) `,` type($result)";
}

def PP_ConvertOp : PP_PureOp<"convert", [PP_FindsElements, Elementwise, SameOperandsAndResultShape]> {
  let hasFolder = 1;
  let summary = "changes the element type; floats round to nearest even, float to integer truncates";
  let description = [{
    A float out of range becomes the nearest integer of the type, NaN becomes 0.
    ```mlir
    %y = pp.convert %x : tensor<4x8xf32> -> tensor<4x8xbf16>
    ```
  }];
  let arguments = (ins PP_Tensor:$operand);
  let results = (outs PP_Tensor:$result);
  let assemblyFormat = "$operand attr-dict `:` type($operand) `->` type($result)";
}

def PP_StopGradientOp : PP_PureOp<"stop_gradient", [PP_MovesElements, Elementwise, SameOperandsAndResultType]> {
  let summary = "the identity, through which no gradient flows";
  let description = [{
    ```mlir
    %y = pp.stop_gradient %x : tensor<4x8xf32>
    ```
  }];
  let arguments = (ins PP_Tensor:$operand);
  let results = (outs PP_Tensor:$result);
  let assemblyFormat = "$operand attr-dict `:` type($result)";
}

def PP_IfTrainingOp : PP_PureOp<"if_training", [PP_MovesElements, Elementwise,
                                                AllTypesMatch<["training", "evaluation", "result"]>]> {
  let summary = "`training` in a training step, `evaluation` in a program that only evaluates";
  let description = [{
    What dropout and batch norm do is different in the two. pp-take-training and
    pp-evaluate replace the op by one of its operands, before anything else
    looks at it.

    ```mlir
    %y = pp.if_training %dropped else %x : tensor<4x8xf32>
    ```
  }];
  let arguments = (ins PP_Tensor:$training, PP_Tensor:$evaluation);
  let results = (outs PP_Tensor:$result);
  let assemblyFormat = "$training `else` $evaluation attr-dict `:` type($result)";
}

//===----------------------------------------------------------------------===//
// Sources
//===----------------------------------------------------------------------===//

def PP_ConstantOp : PP_PureOp<"constant", [PP_FindsElements, PP_MadeByReaders, ConstantLike, AllTypesMatch<["value", "result"]>]> {
  let hasFolder = 1;
  let summary = "a literal";
  let description = [{
    ```mlir
    %c = pp.constant dense<[1.0, 2.0]> : tensor<2xf32>
    ```
  }];
  let arguments = (ins ElementsAttr:$value);
  let results = (outs PP_Tensor:$result);
  let assemblyFormat = "attr-dict $value";
}

def PP_IotaOp : PP_PureOp<"iota", [PP_FindsElements, PP_MadeByReaders]> {
  let summary = "counts 0, 1, 2, ... along one dimension";
  let description = [{
    Constraints:
    - (iota_c1) `dimension` is a dimension of the result.

    ```mlir
    %p = pp.iota dim 1 : tensor<4x8xi32>
    ```
  }];
  let arguments = (ins I64Attr:$dimension);
  let results = (outs PP_NumberTensor:$result);
  let hasVerifier = 1;
  let extraClassDeclaration = PP_Dimensions<[PP_Names<"dimension", -1>.cpp]>.cpp;
  let assemblyFormat = "`dim` $dimension attr-dict `:` type($result)";
}

def PP_RandomBitsOp : PP_PureOp<"random_bits", [PP_FindsElements]> {
  let summary = "counter-based random bits";
  let description = [{
    Philox4x32-10 with the key (low, high word of `seed`) and the counter (low,
    high word of the global row-major index, low word of `step`, low word of
    `stream`); an element is the first word of its block: the same numbers under
    every partition. On one device of a mesh, `offsets` (one scalar per
    dimension) and `global_shape` say which part of the tensor this is. Two ops
    of one `stream` are equal.

    Constraints:
    - (random_bits_c1) no offsets, or one per dimension together with `global_shape`.

    ```mlir
    %b = pp.random_bits %seed, %step stream 7 : tensor<i64>, tensor<i32> -> tensor<4x8xi32>
    ```
  }];
  let arguments = (ins PP_ScalarIndex:$seed, PP_ScalarIndex:$step,
                       Variadic<PP_ScalarIndex>:$offsets, I64Attr:$stream,
                       OptionalAttr<DenseI64ArrayAttr>:$global_shape);
  let results = (outs StaticShapeTensorOf<[I32]>:$result);
  let hasVerifier = 1;
  let extraClassDeclaration = PP_Dimensions<[PP_PerDimension<"global_shape">.cpp]>.cpp;
  let assemblyFormat = [{
    $seed `,` $step (`offsets` `(` $offsets^ `:` type($offsets) `)` `of` $global_shape)?
    `stream` $stream attr-dict `:` type($seed) `,` type($step) `->` type($result)
  }];
}

//===----------------------------------------------------------------------===//
// Shape
//===----------------------------------------------------------------------===//

def PP_BroadcastOp : PP_PureOp<"broadcast", [PP_MovesElements, PP_MadeByReaders, SameOperandsAndResultElementType]> {
  let hasFolder = 1;
  let summary = "repeats a tensor along new dimensions";
  let description = [{
    Operand dimension i becomes result dimension `dimensions[i]`; the others are new.
    Constraints:
    - (broadcast_c1) one entry per operand dimension, strictly increasing, within the result's rank.
    - (broadcast_c2) mapped dimensions keep their size.

    ```mlir
    %y = pp.broadcast %bias dims [1] : tensor<8xf32> -> tensor<4x8xf32>
    ```
  }];
  let arguments = (ins PP_Tensor:$operand, DenseI64ArrayAttr:$dimensions);
  let results = (outs PP_Tensor:$result);
  let hasVerifier = 1;
  let extraClassDeclaration = PP_Dimensions<[PP_Names<"dimensions", -1>.cpp]>.cpp;
  let assemblyFormat = "$operand `dims` $dimensions attr-dict `:` type($operand) `->` type($result)";
}

def PP_ReshapeOp : PP_PureOp<"reshape", [PP_MovesElements, PP_IsView, SameOperandsAndResultElementType]> {
  let hasFolder = 1;
  let summary = "the same elements, row-major, under another shape";
  let description = [{
    Constraints:
    - (reshape_c1) operand and result have equally many elements.

    ```mlir
    %y = pp.reshape %x : tensor<4x3x8xf32> -> tensor<12x8xf32>
    ```
  }];
  let arguments = (ins PP_Tensor:$operand);
  let results = (outs PP_Tensor:$result);
  let hasVerifier = 1;
  let assemblyFormat = "$operand attr-dict `:` type($operand) `->` type($result)";
}

def PP_TransposeOp : PP_PureOp<"transpose", [PP_MovesElements, PP_IsView, SameOperandsAndResultElementType]> {
  let hasFolder = 1;
  let summary = "permutes dimensions: result dimension i is operand dimension `permutation[i]`";
  let description = [{
    Constraints:
    - (transpose_c1) `permutation` is a permutation of the dimensions.
    - (transpose_c2) the result's shape is the permuted shape.

    ```mlir
    %y = pp.transpose %x perm [2, 0, 1] : tensor<4x3x8xf32> -> tensor<8x4x3xf32>
    ```
  }];
  let arguments = (ins PP_Tensor:$operand, DenseI64ArrayAttr:$permutation);
  let results = (outs PP_Tensor:$result);
  let hasVerifier = 1;
  let extraClassDeclaration = PP_Dimensions<[PP_Names<"permutation", 0>.cpp]>.cpp;
  let assemblyFormat = "$operand `perm` $permutation attr-dict `:` type($operand) `->` type($result)";
}

def PP_ReverseOp : PP_PureOp<"reverse", [PP_MovesElements, SameOperandsAndResultType]> {
  let summary = "the same elements, in the opposite order along some dimensions";
  let description = [{
    Constraints:
    - (reverse_c1) `dimensions` strictly increase within the operand's rank.

    ```mlir
    %y = pp.reverse %x dims [1] : tensor<4x8xf32>
    ```
  }];
  let arguments = (ins PP_Tensor:$operand, DenseI64ArrayAttr:$dimensions);
  let results = (outs PP_Tensor:$result);
  let hasVerifier = 1;
  let extraClassDeclaration = PP_Dimensions<[PP_Names<"dimensions", 0>.cpp]>.cpp;
  let assemblyFormat = "$operand `dims` $dimensions attr-dict `:` type($result)";
}

def PP_SliceOp : PP_PureOp<"slice", [PP_MovesElements, SameOperandsAndResultElementType]> {
  let hasFolder = 1;
  let summary = "a box of a tensor, with strides";
  let description = [{
    Result dimension d holds operand elements `starts[d]`, `starts[d] + strides[d]`, ... below `limits[d]`.
    Constraints:
    - (slice_c1) one start, limit and stride per dimension.
    - (slice_c2) 0 <= start <= limit <= size and stride >= 1.
    - (slice_c3) the result's shape follows.

    ```mlir
    %q = pp.slice %qkv [0, 0], [4, 1], [1, 1] : tensor<4x3xf32> -> tensor<4x1xf32>
    ```
  }];
  let arguments = (ins PP_Tensor:$operand, DenseI64ArrayAttr:$starts,
                       DenseI64ArrayAttr:$limits, DenseI64ArrayAttr:$strides);
  let results = (outs PP_Tensor:$result);
  let hasVerifier = 1;
  let extraClassDeclaration = PP_Dimensions<[PP_PerDimension<"starts">.cpp,
    PP_Ends<"limits">.cpp, PP_PerDimension<"strides">.cpp]>.cpp;
  let assemblyFormat = [{
    $operand $starts `,` $limits `,` $strides attr-dict `:` type($operand) `->` type($result)
  }];
}

def PP_PadOp : PP_PureOp<"pad", [PP_MovesElements, SameOperandsAndResultElementType]> {
  let hasFolder = 1;
  let summary = "surrounds and interleaves a tensor with a value";
  let description = [{
    Constraints:
    - (pad_c1) one low, high and interior amount per dimension, none negative.
    - (pad_c2) the result's shape follows.

    ```mlir
    %y = pp.pad %x, %zero low [0, 1] high [2, 0] interior [0, 1]
        : tensor<4x3xf32>, tensor<f32> -> tensor<6x6xf32>
    ```
  }];
  let arguments = (ins PP_Tensor:$operand, PP_Tensor:$value, DenseI64ArrayAttr:$low,
                       DenseI64ArrayAttr:$high, DenseI64ArrayAttr:$interior);
  let results = (outs PP_Tensor:$result);
  let hasVerifier = 1;
  let extraClassDeclaration = PP_Dimensions<[PP_PerDimension<"low">.cpp,
    PP_PerDimension<"high">.cpp, PP_PerDimension<"interior">.cpp]>.cpp;
  let assemblyFormat = [{
    $operand `,` $value `low` $low `high` $high `interior` $interior attr-dict
    `:` type($operand) `,` type($value) `->` type($result)
  }];
}

def PP_ConcatenateOp : PP_PureOp<"concatenate", [PP_MovesElements, SameOperandsAndResultElementType]> {
  let hasFolder = 1;
  let summary = "joins tensors along one dimension";
  let description = [{
    Constraints:
    - (concatenate_c1) at least one operand, all of the result's rank.
    - (concatenate_c2) sizes agree but along `dimension`, where they add up.

    ```mlir
    %z = pp.concatenate %x, %y dim 1 : tensor<4x3xf32>, tensor<4x5xf32> -> tensor<4x8xf32>
    ```
  }];
  let arguments = (ins Variadic<PP_Tensor>:$operands, I64Attr:$dimension);
  let results = (outs PP_Tensor:$result);
  let hasVerifier = 1;
  let extraClassDeclaration = PP_Dimensions<[PP_Names<"dimension", -1>.cpp]>.cpp;
  let assemblyFormat = "$operands `dim` $dimension attr-dict `:` type($operands) `->` type($result)";
}

def PP_DynamicSliceOp : PP_PureOp<"dynamic_slice", [PP_MovesElements]> {
  let summary = "a box of the result's shape at computed starts, clamped to lie within";
  let description = [{
    Constraints:
    - (dynamic_slice_c1) one start per dimension; the result is nowhere larger than the operand.

    ```mlir
    %y = pp.dynamic_slice %x[%i, %j] : tensor<8x8xf32>, tensor<i32>, tensor<i32> -> tensor<2x8xf32>
    ```
  }];
  let arguments = (ins PP_Tensor:$operand, Variadic<PP_ScalarIndex>:$starts);
  let results = (outs PP_Tensor:$result);
  let hasVerifier = 1;
  let assemblyFormat = "$operand `[` $starts `]` attr-dict `:` type($operand) `,` type($starts) `->` type($result)";
}

def PP_DynamicUpdateSliceOp : PP_PureOp<"dynamic_update_slice", [PP_MovesElements, PP_UpdatesOperand, AllTypesMatch<["operand", "result"]>]> {
  let summary = "`operand` with `update` written at computed starts, clamped to lie within";
  let description = [{
    Constraints:
    - (dynamic_update_slice_c1) one start per dimension; the update is nowhere larger than the operand.

    ```mlir
    %y = pp.dynamic_update_slice %x, %u[%i, %j]
        : tensor<8x8xf32>, tensor<2x8xf32>, tensor<i32>, tensor<i32>
    ```
  }];
  let arguments = (ins PP_Tensor:$operand, PP_Tensor:$update, Variadic<PP_ScalarIndex>:$starts);
  let results = (outs PP_Tensor:$result);
  let hasVerifier = 1;
  let assemblyFormat = "$operand `,` $update `[` $starts `]` attr-dict `:` type($operand) `,` type($update) `,` type($starts)";
}

//===----------------------------------------------------------------------===//
// Reductions, contractions, indexing
//===----------------------------------------------------------------------===//

def PP_ReduceOp : PP_PureOp<"reduce", [PP_ComputesElements, PP_DropsDimensions, SameOperandsAndResultElementType]> {
  let hasFolder = 1;
  let summary = "reduces over dimensions, which the result drops";
  let description = [{
    Ties of `max` and `min` share the gradient equally.
    Constraints:
    - (reduce_c1) `dimensions` strictly increase within the operand's rank.
    - (reduce_c2) the result's shape is the operand's without them.
    - (reduce_c3) `and` and `or` take i1 and integers, the others floats and integers.
    - (reduce_c4) `max` and `min` take at least one element for each of the result.

    ```mlir
    %m = pp.reduce max %x dims [1] : tensor<4x8xf32> -> tensor<4xf32>
    ```
  }];
  let arguments = (ins PP_ReductionAttr:$reduction, PP_Tensor:$operand, DenseI64ArrayAttr:$dimensions);
  let results = (outs PP_Tensor:$result);
  let hasVerifier = 1;
  let extraClassDeclaration = PP_Dimensions<[PP_Names<"dimensions", 0>.cpp]>.cpp;
  let assemblyFormat = "`` $reduction $operand `dims` $dimensions attr-dict `:` type($operand) `->` type($result)";
}

def PP_ArgmaxOp : PP_PureOp<"argmax", [PP_FindsElements, PP_DropsDimensions, PP_FindsLargest]> {
  let summary = "index of the first largest element along one dimension, which the result drops";
  let description = [{
    NaN counts as larger than every number.
    Constraints:
    - (argmax_c1) `dimension` is a dimension of the operand; the result's shape is the operand's without it.
    - (argmax_c2) there is at least one element along `dimension` for each of the result.

    ```mlir
    %i = pp.argmax %x dim 1 : tensor<4x8xf32> -> tensor<4xi32>
    ```
  }];
  let arguments = (ins PP_NumberTensor:$operand, I64Attr:$dimension);
  let results = (outs StaticShapeTensorOf<[I32]>:$result);
  let hasVerifier = 1;
  let extraClassDeclaration = PP_Dimensions<[PP_Names<"dimension", 0>.cpp]>.cpp;
  let assemblyFormat = "$operand `dim` $dimension attr-dict `:` type($operand) `->` type($result)";
}

def PP_TopKOp : PP_PureOp<"top_k", [PP_FindsElements, PP_FindsLargest, PP_ReadsMany]> {
  let summary = "indices of the largest elements along one dimension, largest first";
  let description = [{
    The result's size along `dimension` is their number. Equal elements keep
    their order; NaN counts as larger than every number. `pp.gather` reads their
    values, and has the gradient.
    Constraints:
    - (top_k_c1) `dimension` is a dimension of the operand; the result's other sizes are the operand's.
    - (top_k_c2) the result has at most as many elements along `dimension` as the operand.

    ```mlir
    %i = pp.top_k %x dim 1 : tensor<4x8xf32> -> tensor<4x2xi32>
    ```
  }];
  let arguments = (ins PP_NumberTensor:$operand, I64Attr:$dimension);
  let results = (outs StaticShapeTensorOf<[I32]>:$result);
  let hasVerifier = 1;
  let extraClassDeclaration = PP_Dimensions<[PP_Names<"dimension", 0>.cpp]>.cpp;
  let assemblyFormat = "$operand `dim` $dimension attr-dict `:` type($operand) `->` type($result)";
}

def PP_CumsumOp : PP_PureOp<"cumsum", [PP_ComputesElements, PP_ReadsMany, SameOperandsAndResultType]> {
  let summary = "inclusive running sum along one dimension; `reverse` from the end";
  let description = [{
    Constraints:
    - (cumsum_c1) `dimension` is a dimension of the operand.

    ```mlir
    %y = pp.cumsum %x dim 1 reverse : tensor<4x8xf32>
    ```
  }];
  let arguments = (ins PP_NumberTensor:$operand, I64Attr:$dimension, UnitAttr:$reverse);
  let results = (outs PP_NumberTensor:$result);
  let hasVerifier = 1;
  let extraClassDeclaration = PP_Dimensions<[PP_Names<"dimension", 0>.cpp]>.cpp;
  let assemblyFormat = "$operand `dim` $dimension (`reverse` $reverse^)? attr-dict `:` type($result)";
}

def PP_DotGeneralOp : PP_PureOp<"dot_general", [PP_FindsElements, PP_ReadsMany]> {
  let summary = "a contraction: batch dimensions, then free ones of lhs, then of rhs";
  let description = [{
    Accumulates in f32 for bf16 and f16 operands; the result's element type may be wider than the operands'.
    Constraints:
    - (dot_general_c1) batch and contracting lists pair up and name distinct dimensions.
    - (dot_general_c2) paired dimensions have equal sizes; operands share an element type, floats or integers as the result's.
    - (dot_general_c3) the result's shape is batch, free lhs, free rhs dimensions in order.

    ```mlir
    %c = pp.dot_general %a, %b batch [0] x [0] contract [2] x [1]
        : tensor<2x3x4xf32>, tensor<2x4x5xf32> -> tensor<2x3x5xf32>
    ```
  }];
  let arguments = (ins PP_NumberTensor:$lhs, PP_NumberTensor:$rhs,
    DenseI64ArrayAttr:$lhs_batch, DenseI64ArrayAttr:$rhs_batch,
    DenseI64ArrayAttr:$lhs_contract, DenseI64ArrayAttr:$rhs_contract);
  let results = (outs PP_NumberTensor:$result);
  let hasVerifier = 1;
  let extraClassDeclaration = PP_Dimensions<[PP_Names<"lhs_batch", 0>.cpp, PP_Names<"rhs_batch", 1>.cpp,
    PP_Names<"lhs_contract", 0>.cpp, PP_Names<"rhs_contract", 1>.cpp]>.cpp # [{
    /// Dimensions of an operand that are neither batch nor contracting.
    ::llvm::SmallVector<int64_t> getLhsFree();
    ::llvm::SmallVector<int64_t> getRhsFree();
  }];
  let assemblyFormat = [{
    $lhs `,` $rhs `batch` $lhs_batch `x` $rhs_batch `contract` $lhs_contract `x` $rhs_contract
    attr-dict `:` type($lhs) `,` type($rhs) `->` type($result)
  }];
}

def PP_GatherOp : PP_PureOp<"gather", [PP_FindsElements]> {
  let summary = "rows of a table, picked by index";
  let description = [{
    With b = `batch_dims`, the operand is [batch..., table, rest...], the
    indices are [batch..., index...], and
    `result[batch, index, rest] = operand[batch, indices[batch, index], rest]`.
    An index outside the table is clamped into it. An embedding has b = 0; the
    logit of a label, [B,S,V] by [B,S], has b = 2.
    Constraints:
    - (gather_c1) leading `batch_dims` dimensions agree and a table dimension follows them.
    - (gather_c2) the result's shape is batch, index, rest; element types agree.
    - (gather_c3) the table has a row to clamp indices to, unless the result is empty.

    ```mlir
    %e = pp.gather %table[%tokens] batch 0 : tensor<50x8xf32>, tensor<2x4xi32> -> tensor<2x4x8xf32>
    ```
  }];
  let arguments = (ins PP_Tensor:$operand, PP_IntTensor:$indices, I64Attr:$batch_dims);
  let results = (outs PP_Tensor:$result);
  let hasVerifier = 1;
  let extraClassDeclaration = PP_Dimensions<[PP_Names<"batch_dims", 0>.cpp]>.cpp;
  let assemblyFormat = "$operand `[` $indices `]` `batch` $batch_dims attr-dict `:` type($operand) `,` type($indices) `->` type($result)";
}

def PP_ScatterAddOp : PP_PureOp<"scatter_add", [PP_FindsElements, PP_UpdatesOperand, AllTypesMatch<["operand", "result"]>]> {
  let summary = "adds rows into a table at indices: the transpose of gather";
  let description = [{
    `result = operand; result[batch, indices[batch, index], rest] += updates[batch, index, rest]`
    in index order. Updates whose index lies outside the table are dropped.
    Constraints:
    - (scatter_add_c1) leading `batch_dims` dimensions agree and a table dimension follows them.
    - (scatter_add_c2) the updates' shape is batch, index, rest; element types agree.

    ```mlir
    %t = pp.scatter_add %table[%tokens], %rows batch 0
        : tensor<50x8xf32>, tensor<2x4xi32>, tensor<2x4x8xf32>
    ```
  }];
  let arguments = (ins PP_NumberTensor:$operand, PP_IntTensor:$indices, PP_NumberTensor:$updates, I64Attr:$batch_dims);
  let results = (outs PP_NumberTensor:$result);
  let hasVerifier = 1;
  let extraClassDeclaration = PP_Dimensions<[PP_Names<"batch_dims", 0>.cpp]>.cpp;
  let assemblyFormat = "$operand `[` $indices `]` `,` $updates `batch` $batch_dims attr-dict `:` type($operand) `,` type($indices) `,` type($updates)";
}

#endif // PP_IR_GRAPHOPS_TD
