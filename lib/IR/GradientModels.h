//===- GradientModels.h - shared parts of the gradients ---------*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0
//
// The gradient of an op is one function that reads a `Vjp` and sets the
// operands' gradients. `GradientModel` turns it into an external model of
// GradientOpInterface.
//
//===----------------------------------------------------------------------===//
#ifndef PP_LIB_IR_GRADIENTMODELS_H
#define PP_LIB_IR_GRADIENTMODELS_H

#include "mlir/IR/Builders.h"
#include "pp/IR/Values.h"

namespace pp {

/// One vector-Jacobian product under construction. Every graph op has one
/// result; `upstream` is the gradient that arrives there.
class Vjp {
public:
  Vjp(mlir::OpBuilder &builder, mlir::Operation *op, mlir::Value upstream,
      const llvm::SmallBitVector &needed,
      llvm::MutableArrayRef<mlir::Value> gradients)
      : upstream(upstream), builder(builder), op(op), needed(needed),
        gradients(gradients) {}

  const mlir::Value upstream;

  /// Whether the gradient of an operand is asked for; never of integers.
  bool needs(unsigned operand) const;
  void set(unsigned operand, mlir::Value gradient) {
    gradients[operand] = gradient;
  }

  template <typename OpTy, typename... Args>
  mlir::Value make(mlir::Type type, Args &&...args) {
    return OpTy::create(builder, op->getLoc(), type,
                        std::forward<Args>(args)...);
  }
  template <typename OpTy> mlir::Value unary(mlir::Value x) {
    return make<OpTy>(x.getType(), x);
  }
  template <typename OpTy> mlir::Value binary(mlir::Value x, mlir::Value y) {
    return make<OpTy>(x.getType(), x, y);
  }
  mlir::Value mul(mlir::Value x, mlir::Value y) { return binary<MulOp>(x, y); }
  /// `x` times a number.
  mlir::Value scale(mlir::Value x, double factor) {
    return mul(x, fill(factor, x.getType()));
  }
  mlir::Value compare(Direction direction, mlir::Value x, mlir::Value y);
  mlir::Value select(mlir::Value mask, mlir::Value x, mlir::Value y);
  /// `x` where `mask` holds, else 0.
  mlir::Value keepWhere(mlir::Value mask, mlir::Value x) {
    return select(mask, x, fill(0.0, x.getType()));
  }
  mlir::Value convert(mlir::Value x, mlir::Type element);
  mlir::Value reduce(Reduction reduction, mlir::Value x,
                     llvm::ArrayRef<int64_t> dims);
  mlir::Value broadcast(mlir::Value x, llvm::ArrayRef<int64_t> dims,
                        mlir::Type type);
  mlir::Value transpose(mlir::Value x, llvm::ArrayRef<int64_t> permutation);
  mlir::Value scalar(double value, mlir::Type element);
  /// A number everywhere: a scalar, broadcast. Scalars alone may be shared
  /// between ops without tying their shardings together.
  mlir::Value fill(double value, mlir::Type type);

private:
  mlir::OpBuilder &builder;
  mlir::Operation *op;
  const llvm::SmallBitVector &needed;
  llvm::MutableArrayRef<mlir::Value> gradients;
};

template <typename OpTy, void (*differentiate)(OpTy, Vjp &)>
struct GradientModel
    : GradientOpInterface::ExternalModel<GradientModel<OpTy, differentiate>,
                                         OpTy> {
  mlir::LogicalResult
  buildGradient(mlir::Operation *op, mlir::OpBuilder &builder,
                mlir::ValueRange resultGradients,
                const llvm::SmallBitVector &needed,
                llvm::MutableArrayRef<mlir::Value> operandGradients) const {
    Vjp vjp(builder, op, resultGradients[0], needed, operandGradients);
    if (vjp.upstream)
      differentiate(llvm::cast<OpTy>(op), vjp);
    return mlir::success();
  }
};

template <typename OpTy, void (*differentiate)(OpTy, Vjp &)>
void attachGradient(mlir::MLIRContext *context) {
  OpTy::template attachInterface<GradientModel<OpTy, differentiate>>(*context);
}

void registerElementwiseGradients(mlir::MLIRContext *context);
void registerShapeGradients(mlir::MLIRContext *context);
void registerContractionGradients(mlir::MLIRContext *context);
void registerWindowGradients(mlir::MLIRContext *context);

} // namespace pp

#endif // PP_LIB_IR_GRADIENTMODELS_H
