//===- Activation.h - functions that libraries have by name -----*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0
//
// In: a value of an expression of elementwise ops, as a model wrote it or
// differentiation left it. Out: the part of the expression that is a function
// which a library computes in a product. It is told by its values and not by
// its form: there are many ways to write GELU, more to write its gradient, and
// every pass before this one may find another.
//
//===----------------------------------------------------------------------===//
#ifndef PP_ANALYSIS_ACTIVATION_H
#define PP_ANALYSIS_ACTIVATION_H

#include "mlir/IR/Operation.h"
#include "pprt/Ppx.h"
#include "llvm/ADT/SmallVector.h"
#include <optional>

namespace pp {

struct Activation {
  /// gelu_tanh, of `value`; or gelu_tanh_gradient: `value` times the derivative
  /// at `input`.
  pprt::ppx::EpilogueKind kind;
  /// What the function that was differentiated was given; null of the function.
  mlir::Value input;
  /// From `value` to the result, which is the last one's, in block order.
  /// Others may read what those before it make.
  llvm::SmallVector<mlir::Operation *> ops;
};

/// What is computed from `value`, and at most one other tensor, by the ops of
/// its block; nothing if it is no function of these.
std::optional<Activation> matchActivation(mlir::Value value);

} // namespace pp

#endif // PP_ANALYSIS_ACTIVATION_H
