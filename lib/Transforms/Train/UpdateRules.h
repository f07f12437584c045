//===- UpdateRules.h - optimizers as ops ------------------------*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0
//
// The formulas of torch.optim, written with graph ops. Values that depend on
// the step alone are scalars in f64: 1 - 0.999^t cancels in f32.
//
//===----------------------------------------------------------------------===//
#ifndef PP_LIB_TRANSFORMS_TRAIN_UPDATERULES_H
#define PP_LIB_TRANSFORMS_TRAIN_UPDATERULES_H

#include "mlir/IR/Builders.h"
#include "pp/IR/PP.h"

namespace pp {

/// The type in which a parameter of type `element` is updated and its states
/// are kept: f64 for f64, else f32.
mlir::Type computeType(mlir::Type element);

/// Builds elementwise ops at one location.
class Arithmetic {
public:
  Arithmetic(mlir::OpBuilder &builder, mlir::Location loc)
      : builder(builder), loc(loc) {}

  template <typename OpTy> mlir::Value unary(mlir::Value x) {
    return OpTy::create(builder, loc, x.getType(), x);
  }
  template <typename OpTy> mlir::Value binary(mlir::Value x, mlir::Value y) {
    return OpTy::create(builder, loc, x.getType(), x, y);
  }
  mlir::Value add(mlir::Value x, mlir::Value y) { return binary<AddOp>(x, y); }
  mlir::Value sub(mlir::Value x, mlir::Value y) { return binary<SubOp>(x, y); }
  mlir::Value mul(mlir::Value x, mlir::Value y) { return binary<MulOp>(x, y); }
  mlir::Value div(mlir::Value x, mlir::Value y) { return binary<DivOp>(x, y); }

  /// A number everywhere in a tensor of `type`.
  mlir::Value constant(double number, mlir::Type type);
  /// An f64 scalar.
  mlir::Value scalar(double number);
  mlir::Value convert(mlir::Value x, mlir::Type element);
  /// A scalar as a tensor like `like`.
  mlir::Value spread(mlir::Value scalar, mlir::Value like);
  mlir::Value scale(mlir::Value x, double factor) {
    return mul(x, constant(factor, x.getType()));
  }
  mlir::Value scale(mlir::Value x, mlir::Value scalar) {
    return mul(x, spread(scalar, x));
  }
  mlir::Value compare(Direction direction, mlir::Value x, mlir::Value y);
  mlir::Value select(mlir::Value predicate, mlir::Value yes, mlir::Value no);
  /// The sum of the squares of all elements: an f64 scalar.
  mlir::Value sumOfSquares(mlir::Value x);
  /// Zero if all elements are finite, else no number: an f64 scalar. Made of
  /// what kernels of long sums take along.
  mlir::Value zeroIfFinite(mlir::Value x);

private:
  /// The sum of all elements as f64, formed in their type.
  mlir::Value sum(mlir::Value x);

  mlir::OpBuilder &builder;
  mlir::Location loc;
};

/// The attributes of a state argument that starts at `number`, with `others`.
mlir::DictionaryAttr getStateAttrs(mlir::MLIRContext *context,
                                   const llvm::Twine &name, double number = 0,
                                   mlir::NamedAttrList others = {});

/// Loss scaling for f16: the loss is multiplied by a scale before it is
/// differentiated, so that small gradients do not vanish, and gradients are
/// divided by it. Where one is not finite, no parameter or state changes and
/// the scale is halved; after kGrowthInterval steps without it is doubled.
/// torch.amp.GradScaler has the same constants.
namespace loss_scaling {
inline constexpr llvm::StringLiteral kScale = "optimizer.loss_scale";
inline constexpr llvm::StringLiteral kGoodSteps = "optimizer.good_steps";
inline constexpr llvm::StringLiteral kSkipped = "optimizer.skipped_steps";
inline constexpr double kInitialScale = 65536.0;
inline constexpr double kGrowth = 2.0, kBackoff = 0.5;
inline constexpr int64_t kGrowthInterval = 2000;
} // namespace loss_scaling

/// Scalars that all parameters share, computed in f64; null where the optimizer
/// has no use for one.
struct StepScalars {
  mlir::Value rate;       ///< learning rate; Adam: over 1 - beta1^t
  mlir::Value scheduled;  ///< learning rate, in f64
  mlir::Value shrink;     ///< 1 - learning rate * weight decay (AdamW)
  mlir::Value correction; ///< 1 / (1 - beta2^t)
  mlir::Value clip;       ///< what gradients are multiplied by
};

/// Whether the number of the step, t = 1, 2, ..., enters the formulas.
bool needsStep(OptimizerAttr optimizer);

/// The scalars of the step numbered `step` (i32; null unless needed), given as
/// `element`; all but `clip`.
StepScalars buildStepScalars(Arithmetic &math, OptimizerAttr optimizer,
                             mlir::Value step, mlir::Type element);

/// The norm of all gradients, from the sums of their squares. `inverse`: 1 /
/// the factor of the gradients that were squared; null if they have none.
mlir::Value buildNorm(Arithmetic &math, llvm::ArrayRef<mlir::Value> squares,
                      mlir::Value inverse);
/// clip_grad_norm_: min(1, clip / (norm + 1e-6)).
mlir::Value buildClip(Arithmetic &math, double clip, mlir::Value norm);

/// Names of the states an optimizer keeps per parameter, as torch spells them.
llvm::ArrayRef<llvm::StringRef> stateNames(OptimizerAttr optimizer);

struct UpdatedValues {
  mlir::Value value;
  llvm::SmallVector<mlir::Value> states;
};

/// One parameter after the step; `states` follow `stateNames`.
UpdatedValues applyRule(Arithmetic &math, OptimizerAttr optimizer,
                        const StepScalars &scalars, mlir::Value value,
                        mlir::Value gradient,
                        llvm::ArrayRef<mlir::Value> states);

} // namespace pp

#endif // PP_LIB_TRANSFORMS_TRAIN_UPDATERULES_H
