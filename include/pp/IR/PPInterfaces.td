//===- PPInterfaces.td - what every graph op can say -------*- tablegen -*-===//
//
// SPDX-License-Identifier: Apache-2.0
//
// An op's definition says which attributes speak of dimensions. Adding an op to
// the graph means implementing the three interfaces behind that, and either
// ScalarOpInterface or the two that follow it. They are attached as external
// models, one file per aspect (lib/IR/Gradients.cpp, ShardingRules.cpp,
// Costs.cpp; lib/Target/Scalars.cpp, LinalgLowering.cpp,
// Gpu/ElementRules.cpp), so an aspect reads as one table and an op without one
// is reported, never guessed.
//
//===----------------------------------------------------------------------===//
#ifndef PP_IR_PPINTERFACES_TD
#define PP_IR_PPINTERFACES_TD

include "mlir/IR/OpBase.td"

def PP_DimensionOpInterface : OpInterface<"DimensionOpInterface"> {
  let cppNamespace = "::pp";
  let description = [{ Which attributes of the op speak of dimensions. }];
  let methods = [
    StaticInterfaceMethod<[{
      The attributes that name dimensions or have an entry per dimension
      (pp/IR/PP.h). `PP_Dimensions` in an op's definition lists them; an
      integer attribute that it leaves out speaks of no dimension.
    }], "::llvm::ArrayRef<::pp::DimensionAttr>", "getDimensionAttrs",
    (ins), "", [{ return {}; }]>
  ];
}

def PP_GradientOpInterface : OpInterface<"GradientOpInterface"> {
  let cppNamespace = "::pp";
  let description = [{ The op's vector-Jacobian product. }];
  let methods = [
    InterfaceMethod<[{
      Builds the gradients of the operands from those of the results.
      `resultGradients` holds a value per result, null where none arrives.
      Sets `operandGradients[i]` (one entry per operand, null at the start) for
      every operand that `needed` asks for; leaves it null where the gradient
      is zero or the operand is not of a float type.
    }], "::llvm::LogicalResult", "buildGradient",
    (ins "::mlir::OpBuilder &":$builder, "::mlir::ValueRange":$resultGradients,
         "const ::llvm::SmallBitVector &":$needed,
         "::llvm::MutableArrayRef<::mlir::Value>":$operandGradients)>
  ];
}

def PP_ShardingOpInterface : OpInterface<"ShardingOpInterface"> {
  let cppNamespace = "::pp";
  let description = [{ How the op may be divided over a mesh. }];
  let methods = [
    InterfaceMethod<"The op as an einsum over factors.",
      "::pp::ShardingRule", "getShardingRule">,
    InterfaceMethod<[{
      Builds the op on one device. `operands` are local shards laid out as the
      rule maps `factorAxes` (axes of every factor, major to minor) onto the
      operands' dimensions; `resultTypes` are the local result types. The
      default clones the op with local types and is right for every factor
      that needs no global index; an op with `localize` factors replaces it.
    }], "::llvm::FailureOr<::llvm::SmallVector<::mlir::Value>>", "localize",
    (ins "::mlir::OpBuilder &":$builder, "::mlir::ValueRange":$operands,
         "::mlir::TypeRange":$resultTypes,
         "::llvm::ArrayRef<::llvm::SmallVector<::mlir::StringAttr>>":$factorAxes,
         "::mlir::FlatSymbolRefAttr":$mesh, "::pp::MeshAttr":$meshAttr)>,
    InterfaceMethod<[{
      Adapts the op to operands and results that were padded, when these have
      their types already; `rule` has the sizes of the model. Attributes that
      name sizes are changed, indices kept within what was not padded. Ops that
      it builds in front have the shape of one of the op's operands, as which
      they lie then, or none.
    }], "void", "resize",
    (ins "::mlir::OpBuilder &":$builder, "const ::pp::ShardingRule &":$rule)>,
    InterfaceMethod<[{
      True if a partial sum in `operand` is reduced before the op, though the op
      is additive in it: where it makes twice as much of it, as a broadcast
      does. Shapes alone say so: every mesh gets the same collectives.
    }], "bool", "reducesFirst", (ins "unsigned":$operand), "", [{
      auto count = [](::mlir::Value value) {
        return ::llvm::cast<::mlir::RankedTensorType>(value.getType())
            .getNumElements();
      };
      return count($_op->getResult(0)) >= 2 * count($_op->getOperand(operand));
    }]>,
    InterfaceMethod<[{
      For an op that has two rules: shards of a dimension that it takes a part
      of, or adds up to one, give what they have of the result, which is summed;
      or the dimension is gathered. How many elements are one and the other; the
      rule obeys `pp.in_shards` and weighs nothing. Nothing where there is one
      rule.
    }], "std::optional<::pp::ShardSum>", "getShardSum", (ins), "",
    [{ return std::nullopt; }]>,
    InterfaceMethod<[{
      What shards of dimension `dim` of operand 0, which the op needs whole,
      share if each does its part of the work first: bytes of what is gathered
      of all of them, and twice those of what is summed. Nothing where the op
      knows no such way, or not for as many shards.
    }], "std::optional<int64_t>", "getBytesInShards",
    (ins "unsigned":$dim, "int64_t":$shards), "", [{ return std::nullopt; }]>,
    InterfaceMethod<[{
      Builds the op that way, where `getBytesInShards` knows it, from an operand
      that lies as `sharding`. Each op built says in `pp.shardings` how its
      result lies; what the shards share they get by lying so.
    }], "::mlir::Value", "computeInShards",
    (ins "::mlir::OpBuilder &":$builder, "unsigned":$dim,
         "::pp::ShardingAttr":$sharding, "::pp::MeshAttr":$meshAttr), "",
    [{ llvm_unreachable("no way to work in shards"); }]>
  ];
}

def PP_CostOpInterface : OpInterface<"CostOpInterface"> {
  let cppNamespace = "::pp";
  let description = [{ What the op costs on the shapes it has. }];
  let methods = [
    InterfaceMethod<"Floating-point operations (a multiply-add counts two).",
      "double", "getFlops">,
    InterfaceMethod<"Bytes read and written if nothing is fused.",
      "double", "getBytes">
  ];
}

def PP_ScalarOpInterface : OpInterface<"ScalarOpInterface"> {
  let cppNamespace = "::pp";
  let description = [{
    An elementwise op on scalars: all that kernels of processors and GPUs need.
  }];
  let methods = [
    InterfaceMethod<[{
      Builds an element of the result from one of each operand. bf16 is computed
      in f32 and rounded at the end.
    }], "::mlir::Value", "emitScalar",
    (ins "::mlir::OpBuilder &":$builder, "::mlir::ValueRange":$operands)>
  ];
}

def PP_LinalgOpInterface : OpInterface<"LinalgOpInterface"> {
  let cppNamespace = "::pp";
  let description = [{ The op as loops over tensors. }];
  let methods = [
    InterfaceMethod<[{
      Builds linalg, tensor and arith ops that compute the result from
      `operands` (the op's operands, already lowered).
    }], "::llvm::FailureOr<::mlir::Value>", "lowerToLinalg",
    (ins "::mlir::OpBuilder &":$builder, "::mlir::ValueRange":$operands)>
  ];
}

def PP_GpuOpInterface : OpInterface<"GpuOpInterface"> {
  let cppNamespace = "::pp";
  let description = [{ The op as elements at places. }];
  let methods = [
    InterfaceMethod<[{
      Builds the elements of the result at the place that is asked for, or
      nothing for a run that cannot be had at once: the op is asked for each
      element of it then.
    }], "::llvm::SmallVector<::mlir::Value, 8>", "getElements",
    (ins "const ::pp::gpu::Question &":$question)>
  ];
}

#endif // PP_IR_PPINTERFACES_TD
