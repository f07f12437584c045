//===- PPInterfaces.td - interfaces of graph ops -----------*- tablegen -*-===//
//
// SPDX-License-Identifier: Apache-2.0
//
// An op's definition lists the attributes that name or measure dimensions. A
// new graph op implements the three interfaces after DimensionOpInterface, and
// either ScalarOpInterface or the two behind it. They are attached as external
// models, one file per aspect (lib/IR/Gradients.cpp, ShardingRules.cpp,
// Costs.cpp; lib/Target/Scalars.cpp, LinalgLowering.cpp, Gpu/ElementRules.cpp),
// so an aspect reads as one table and an op without one is reported, never
// guessed.
//
//===----------------------------------------------------------------------===//
#ifndef PP_IR_PPINTERFACES_TD
#define PP_IR_PPINTERFACES_TD

include "mlir/IR/OpBase.td"

def PP_DimensionOpInterface : OpInterface<"DimensionOpInterface"> {
  let cppNamespace = "::pp";
  let description = [{ The op's attributes that name or measure dimensions. }];
  let methods = [
    StaticInterfaceMethod<[{
      The attributes that name dimensions or have an entry per dimension
      (pp/IR/PP.h). `PP_Dimensions` in an op's definition lists them; its other
      integer attributes do not concern dimensions.
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
  let description = [{ How the op can be sharded. }];
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
      Adapts the op to padded operands and results, which have their new types
      already; `rule` has the sizes of the model. Changes attributes that name
      sizes, and keeps indices out of the padding. Ops built in front are
      scalars or have the shape, and then the layout, of one of the op's
      operands.
    }], "void", "resize",
    (ins "::mlir::OpBuilder &":$builder, "const ::pp::ShardingRule &":$rule)>,
    InterfaceMethod<[{
      True if a partial sum in `operand` is reduced before the op, although the
      op is additive in it: if the result is at least twice as large, as that of
      a broadcast. This depends on shapes alone, so every mesh gets the same
      collectives.
    }], "bool", "reducesFirst", (ins "unsigned":$operand), "", [{
      auto count = [](::mlir::Value value) {
        return ::llvm::cast<::mlir::RankedTensorType>(value.getType())
            .getNumElements();
      };
      return count($_op->getResult(0)) >= 2 * count($_op->getOperand(operand));
    }]>,
    InterfaceMethod<[{
      For an op with two rules: shards of a dimension from which it takes a
      part, or which it adds up, compute their parts of the result, which are
      summed; or the dimension is gathered. Returns the elements of both; the
      rule obeys `pp.in_shards`. Nothing if there is one rule.
    }], "std::optional<::pp::ShardSum>", "getShardSum", (ins), "",
    [{ return std::nullopt; }]>,
    InterfaceMethod<[{
      The op needs dimension `dim` of operand 0 whole, but each shard could do
      its part first. Returns the bytes that all shards then share: gathered
      bytes, and summed ones twice. Nothing if the op cannot work so, or not
      with that many shards.
    }], "std::optional<int64_t>", "getBytesInShards",
    (ins "unsigned":$dim, "int64_t":$shards), "", [{ return std::nullopt; }]>,
    InterfaceMethod<[{
      Builds the op that way, if `getBytesInShards` returns bytes, from an
      operand with `sharding`. Each op built has `pp.shardings`; the shards
      share values through changes of these.
    }], "::mlir::Value", "computeInShards",
    (ins "::mlir::OpBuilder &":$builder, "unsigned":$dim,
         "::pp::ShardingAttr":$sharding, "::pp::MeshAttr":$meshAttr), "",
    [{ llvm_unreachable("no way to work in shards"); }]>
  ];
}

def PP_CostOpInterface : OpInterface<"CostOpInterface"> {
  let cppNamespace = "::pp";
  let description = [{ The op's cost on its shapes. }];
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
    An elementwise op on scalars, for kernels of processors and GPUs.
  }];
  let methods = [
    InterfaceMethod<[{
      Builds an element of the result from one of each operand. Floats of 16
      bits are computed in f32 and rounded at the end.
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
  let description = [{ The op element by element. }];
  let methods = [
    InterfaceMethod<[{
      Builds the elements of the result at the place in `question`; nothing if
      it cannot build a run of them at once, and is then asked for each element.
    }], "::llvm::SmallVector<::mlir::Value, 8>", "getElements",
    (ins "const ::pp::gpu::Question &":$question)>
  ];
}

#endif // PP_IR_PPINTERFACES_TD
