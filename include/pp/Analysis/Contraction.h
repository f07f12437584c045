//===- Contraction.h - kernels as library contractions ----------*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0
//
// A contraction kernel is a dot_general or a convolution, the views it reads
// its operands through and the view it is written through, a constant factor,
// added biases or residuals, an activation or its gradient, and sums of an
// operand. This analysis reads one as the record the runtime runs.
//
//===----------------------------------------------------------------------===//
#ifndef PP_ANALYSIS_CONTRACTION_H
#define PP_ANALYSIS_CONTRACTION_H

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "pprt/Ppx.h"
#include "llvm/ADT/SmallVector.h"

#include <optional>

namespace pp {

/// Whether `op` multiplies and adds up: what a library is asked for.
bool isContraction(mlir::Operation *op);

/// The contraction that `kernel` computes; failure, without a message, if no
/// record says it. Whether it can be run is the target's to say. The kernel's
/// arguments are lhs, rhs and what its epilogues read, in order; its first
/// result is the contraction's, the others are what an activation is given, and
/// sums. The scratchpad's size stays 0: it depends on the number of threads.
mlir::FailureOr<pprt::ppx::ContractionT>
matchContraction(mlir::func::FuncOp kernel);

/// The constant by which `op` multiplies its operand `value`, if it does.
std::optional<double> getConstantFactor(mlir::Operation *op, mlir::Value value);

/// Whether `op` adds up operand `index` (0 lhs, 1 rhs) of a product over all
/// that the product contracts and nothing else.
bool isSumOfOperand(mlir::Operation *op, mlir::Operation *product,
                    unsigned index);

/// Whether `op`, which reads `value`, is of a kind that a contraction does to
/// its result `value` in passing. The target has the last word.
bool isTakenAlong(mlir::Operation *op, mlir::Value value);

/// An activation that a library computes in a product, found in the elementwise
/// ops of a model or of its gradient.
struct Activation {
  /// gelu_tanh, of `value`; or gelu_tanh_gradient: `value` times the derivative
  /// at `input`.
  pprt::ppx::EpilogueKind kind;
  /// For a gradient, the input of the function; otherwise null.
  mlir::Value input;
  /// The ops from `value` to the result (the last op's), in block order.
  /// Results of the others may have more readers.
  llvm::SmallVector<mlir::Operation *> ops;
};

/// The activation that the ops of its block compute from `value` and at most
/// one other tensor, if any. Recognizes it by the values of the expression, not
/// by its form: models write GELU in many ways, and passes rewrite it.
std::optional<Activation> matchActivation(mlir::Value value);

} // namespace pp

#endif // PP_ANALYSIS_CONTRACTION_H
