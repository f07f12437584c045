//===- ElementTypes.cpp - element types of the artifact -------------------===//
//
// SPDX-License-Identifier: Apache-2.0
//
// From MLIR's types to those of runtime/schema/ppx.fbs. Whoever is given other
// input than a verified module reports a type that has none.
//
//===----------------------------------------------------------------------===//
#include "pp/Analysis/ElementTypes.h"
#include "mlir/IR/BuiltinTypes.h"
#include "llvm/ADT/TypeSwitch.h"

using namespace mlir;
namespace ppx = pprt::ppx;

std::optional<ppx::ElementType> pp::toElementType(Type element) {
  using Result = std::optional<ppx::ElementType>;
  return llvm::TypeSwitch<Type, Result>(element)
      .Case([](Float64Type) { return ppx::ElementType_f64; })
      .Case([](Float32Type) { return ppx::ElementType_f32; })
      .Case([](BFloat16Type) { return ppx::ElementType_bf16; })
      .Case([](Float16Type) { return ppx::ElementType_f16; })
      .Case([](IntegerType type) -> Result {
        if (!type.isSignless())
          return std::nullopt;
        switch (type.getWidth()) {
        case 64:
          return ppx::ElementType_i64;
        case 32:
          return ppx::ElementType_i32;
        case 8:
          return ppx::ElementType_i8;
        case 1:
          return ppx::ElementType_i1;
        default:
          return std::nullopt;
        }
      })
      .Default([](Type) { return Result(); });
}
