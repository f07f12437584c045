//===- Contraction.h - kernels as library contractions ----------*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0
//
// A contraction kernel is a dot_general or a convolution with views of its
// operands and of its result, a constant factor, added biases or residuals, an
// activation or its gradient, and sums of an operand. This analysis turns one
// into the record that the runtime runs.
//
//===----------------------------------------------------------------------===//
#ifndef PP_ANALYSIS_CONTRACTION_H
#define PP_ANALYSIS_CONTRACTION_H

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "pprt/Ppx.h"
#include "llvm/ADT/SmallVector.h"

#include <optional>

namespace pp {

/// Whether `op` is a product that a library may compute.
bool isContraction(mlir::Operation *op);

/// The contraction that `kernel` computes; failure, without a message, if no
/// record describes it. The target decides whether it can run. The kernel's
/// arguments are lhs, rhs and the operands of its epilogues, in order; its
/// first result is the contraction's, the others are inputs of activations, and
/// sums. The scratchpad's size stays 0: it depends on the number of threads.
mlir::FailureOr<pprt::ppx::ContractionT>
matchContraction(mlir::func::FuncOp kernel);

/// The constant by which `op` multiplies its operand `value`, if it does.
std::optional<double> getConstantFactor(mlir::Operation *op, mlir::Value value);

/// Whether `op` sums operand `index` (0 lhs, 1 rhs) of a product, or the same
/// numbers as wider floats, over exactly the dimensions that the product
/// contracts.
bool isSumOfOperand(mlir::Operation *op, mlir::Operation *product,
                    unsigned index);

/// Whether `op`, which reads a contraction's result `value`, is of a kind that
/// can be its epilogue. The target decides.
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
