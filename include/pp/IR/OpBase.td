//===- OpBase.td - classes the op files share --------------*- tablegen -*-===//
//
// SPDX-License-Identifier: Apache-2.0
//
// Types of operands and the base classes of ops. In all levels shapes are
// static.
//
//===----------------------------------------------------------------------===//
#ifndef PP_IR_OPBASE_TD
#define PP_IR_OPBASE_TD

include "mlir/IR/BuiltinAttributes.td"
include "mlir/IR/OpAsmInterface.td"
include "mlir/IR/SymbolInterfaces.td"
include "mlir/Interfaces/InferTypeOpInterface.td"
include "mlir/Interfaces/SideEffectInterfaces.td"
include "pp/IR/PPAttributes.td"
include "pp/IR/PPInterfaces.td"

def PP_Tensor : StaticShapeTensorOf<[F64, F32, BF16, F16, I64, I32, I8, I1]>;
def PP_FloatTensor : StaticShapeTensorOf<[F64, F32, BF16, F16]>;
def PP_NumberTensor : StaticShapeTensorOf<[F64, F32, BF16, F16, I64, I32, I8]>;
/// Places, which are indices: i8 would hold few.
def PP_IntTensor : StaticShapeTensorOf<[I64, I32]>;
def PP_BoolTensor : StaticShapeTensorOf<[I1]>;
def PP_LogicTensor : StaticShapeTensorOf<[I1, I8, I32, I64]>;
def PP_ScalarIndex : 0DTensorOf<[I64, I32]>;

class PP_OpTrait<string name> : NativeOpTrait<name> {
  let cppNamespace = "::pp";
}

/// The result is operand 0 with other values added to it or inserted: an element
/// reads that operand at its own place alone.
def PP_UpdatesOperand : PP_OpTrait<"UpdatesOperand">;

// How an element of the result derives from elements of operands. A graph op
// has one of these three traits; passes that form kernels ask for them.

/// It is an element of an operand, or a constant: nothing is computed.
def PP_MovesElements : PP_OpTrait<"MovesElements">;
/// It is computed from elements of operands in their type; floats of 16 bits
/// in f32.
def PP_ComputesElements : PP_OpTrait<"ComputesElements">;
/// It has another type, is counted, looked up or chosen, or the op has special
/// kernels.
def PP_FindsElements : PP_OpTrait<"FindsElements">;

/// An element of an operand is read for many of the result, so that it has to be
/// in memory.
def PP_ReadsMany : PP_OpTrait<"ReadsMany">;
/// A call of a mathematical function: not worth computing twice.
def PP_Transcendental : PP_OpTrait<"Transcendental">;
/// Each reader makes the element itself: it is a literal, counted, or that of a
/// smaller tensor.
def PP_MadeByReaders : PP_OpTrait<"MadeByReaders">;
/// The same elements under another shape or in another order of dimensions, which
/// a product can read where they are.
def PP_IsView : PP_OpTrait<"IsView">;
/// An element of the result combines all along dimensions, which the result drops.
def PP_DropsDimensions : PP_OpTrait<"DropsDimensions">;
/// The op finds which elements are the largest, which depends on how they are
/// rounded.
def PP_FindsLargest : PP_OpTrait<"FindsLargest">;

class PP_Op<string mnemonic, list<Trait> traits = []> : Op<PP_Dialect, mnemonic, traits>;
class PP_PureOp<string mnemonic, list<Trait> traits = []>
    : PP_Op<mnemonic, !listconcat([Pure, PP_DimensionOpInterface], traits)>;

// Attributes that speak of dimensions, as C++ initialisers of pp::DimensionAttr.

/// Names dimensions of operand `tensor`, or of the result if that is -1.
class PP_Names<string attr, int tensor> {
  string cpp = "{\"" # attr # "\", ::pp::DimensionAttr::Names, " # tensor # "}";
}
/// Has an entry for each dimension of the result.
class PP_PerDimension<string attr> {
  string cpp = "{\"" # attr # "\", ::pp::DimensionAttr::PerDimension, -1}";
}
/// Has an end for each dimension of the result.
class PP_Ends<string attr> {
  string cpp = "{\"" # attr # "\", ::pp::DimensionAttr::Ends, -1}";
}
/// All of an op's, for its extraClassDeclaration.
class PP_Dimensions<list<string> attrs> {
  string cpp = "static ::llvm::ArrayRef<::pp::DimensionAttr> getDimensionAttrs() {\n"
                "  static constexpr ::pp::DimensionAttr attrs[] = {" # !interleave(attrs, ", ") # "};\n"
                "  return attrs;\n}\n";
}

#endif // PP_IR_OPBASE_TD
