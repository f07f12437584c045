//===- SourceNames.h - names from locations ---------------------*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0
//
// JAX names ops by paths: "jit(loss)/jvp(h.0)/attn/dot_general". The scopes in
// them are parts of the model, which pp writes with dots; the last component is
// the primitive, others are transformations.
//
//===----------------------------------------------------------------------===//
#ifndef PP_LIB_IMPORT_SOURCENAMES_H
#define PP_LIB_IMPORT_SOURCENAMES_H

#include "mlir/IR/Location.h"
#include <string>

namespace pp::hlo {

/// The part of the model that an op's location names, `h.0.attn`. Empty if it
/// names none. Components of loops, `while/body`, are the numbers of
/// `iterations`, outermost first.
std::string findPart(mlir::Location loc, llvm::ArrayRef<int64_t> iterations);

/// A scope, `with jax.named_scope("stop_gradient")`, through whose ops no
/// gradient flows: jax.lax.stop_gradient leaves no trace in StableHLO.
inline constexpr llvm::StringLiteral kStopGradient = "stop_gradient";

/// Whether the location is in a scope of that name.
bool isInScope(mlir::Location loc, llvm::StringRef scope);

/// Whether JAX made an op at the location as part of a gradient, by transposing
/// the derivative. What jax.checkpoint computes again is not.
bool isInGradient(mlir::Location loc);

/// One below the other, as `h.0` and `attn`; either may be empty.
std::string joinNames(llvm::StringRef outer, llvm::StringRef inner);

/// The line of the user's source, or an unknown location.
mlir::Location findPlace(mlir::Location loc);

/// The root of an argument and the path below it: `params` and `h.0.w` of
/// `params['h'][0]['w']`.
struct ArgumentPath {
  std::string root, path;
  /// `params.h.0.w`
  std::string whole() const { return joinNames(root, path); }
};
ArgumentPath splitArgumentName(llvm::StringRef name);

} // namespace pp::hlo

#endif // PP_LIB_IMPORT_SOURCENAMES_H
