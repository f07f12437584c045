//===- GradientsElementwise.cpp - gradients of elementwise ops ------------===//
//
// SPDX-License-Identifier: Apache-2.0
//
// exp, sqrt, rsqrt, tanh, logistic and div reuse the forward result, so only
// that stays alive until the backward pass.
//
//===----------------------------------------------------------------------===//
#include "GradientModels.h"
#include <cmath>

using namespace mlir;
using namespace pp;

namespace {

//===----------------------------------------------------------------------===//
// Unary
//===----------------------------------------------------------------------===//

/// A unary op whose derivative is `derivative(op, vjp)` times the upstream.
template <typename OpTy, Value (*gradient)(OpTy, Vjp &)>
void unary(OpTy op, Vjp &vjp) {
  if (vjp.needs(0))
    vjp.set(0, gradient(op, vjp));
}

Value neg(NegOp, Vjp &vjp) { return vjp.unary<NegOp>(vjp.upstream); }
Value abs(AbsOp op, Vjp &vjp) {
  return vjp.mul(vjp.upstream, vjp.unary<SignOp>(op.getOperand()));
}
Value exp(ExpOp op, Vjp &vjp) { return vjp.mul(vjp.upstream, op.getResult()); }
Value log(LogOp op, Vjp &vjp) {
  return vjp.binary<DivOp>(vjp.upstream, op.getOperand());
}
/// dy / (1 + x)
Value log1p(Log1pOp op, Vjp &vjp) {
  Value x = op.getOperand();
  return vjp.binary<DivOp>(vjp.upstream,
                           vjp.binary<AddOp>(vjp.fill(1.0, x.getType()), x));
}
/// dy / (2 y)
Value sqrt(SqrtOp op, Vjp &vjp) {
  return vjp.binary<DivOp>(vjp.scale(vjp.upstream, 0.5), op.getResult());
}
/// -1/2 dy y^3
Value rsqrt(RsqrtOp op, Vjp &vjp) {
  Value y = op.getResult();
  Value cube = vjp.mul(vjp.mul(y, y), y);
  return vjp.mul(vjp.scale(vjp.upstream, -0.5), cube);
}
/// dy (1 - y^2)
Value tanh(TanhOp op, Vjp &vjp) {
  Value y = op.getResult();
  Value slope = vjp.binary<SubOp>(vjp.fill(1.0, y.getType()), vjp.mul(y, y));
  return vjp.mul(vjp.upstream, slope);
}
/// dy 2/sqrt(pi) exp(-x^2)
Value erf(ErfOp op, Vjp &vjp) {
  Value x = op.getOperand();
  Value bell = vjp.unary<ExpOp>(vjp.unary<NegOp>(vjp.mul(x, x)));
  return vjp.mul(vjp.upstream, vjp.scale(bell, 2.0 / std::sqrt(M_PI)));
}
/// dy y (1 - y)
Value logistic(LogisticOp op, Vjp &vjp) {
  Value y = op.getResult();
  Value slope = vjp.mul(y, vjp.binary<SubOp>(vjp.fill(1.0, y.getType()), y));
  return vjp.mul(vjp.upstream, slope);
}
Value sin(SinOp op, Vjp &vjp) {
  return vjp.mul(vjp.upstream, vjp.unary<CosOp>(op.getOperand()));
}
Value cos(CosOp op, Vjp &vjp) {
  return vjp.unary<NegOp>(
      vjp.mul(vjp.upstream, vjp.unary<SinOp>(op.getOperand())));
}
Value convert(ConvertOp op, Vjp &vjp) {
  Type element = ranked(op.getOperand()).getElementType();
  return vjp.convert(vjp.upstream, element);
}
/// The gradient is laid out as the value, on the same side of the barrier.
Value shardingConstraint(ShardingConstraintOp op, Vjp &vjp) {
  bool isBefore = op.getBarrier() && op.getSide() == ConstrainedSide::Result;
  return vjp.make<ShardingConstraintOp>(
      op.getType(), vjp.upstream,
      isBefore ? ConstrainedSide::Operand : ConstrainedSide::Result,
      op.getSharding(), op.getBarrier(), op.getPriorityAttr());
}

Value name(NameOp op, Vjp &vjp) {
  return vjp.make<NameOp>(op.getType(), vjp.upstream, op.getNameAttr(),
                          op.getDimsAttr(), /*gradient=*/true);
}

/// Layouts are settled after differentiation.
Value reshard(ReshardOp, Vjp &vjp) { return vjp.upstream; }

//===----------------------------------------------------------------------===//
// Binary
//===----------------------------------------------------------------------===//

void add(AddOp op, Vjp &vjp) {
  if (vjp.needs(0))
    vjp.set(0, vjp.upstream);
  if (vjp.needs(1))
    vjp.set(1, vjp.upstream);
}

void sub(SubOp op, Vjp &vjp) {
  if (vjp.needs(0))
    vjp.set(0, vjp.upstream);
  if (vjp.needs(1))
    vjp.set(1, vjp.unary<NegOp>(vjp.upstream));
}

void mul(MulOp op, Vjp &vjp) {
  if (vjp.needs(0))
    vjp.set(0, vjp.mul(vjp.upstream, op.getRhs()));
  if (vjp.needs(1))
    vjp.set(1, vjp.mul(vjp.upstream, op.getLhs()));
}

/// d lhs = dy / rhs, d rhs = -(dy / rhs) y
void div(DivOp op, Vjp &vjp) {
  if (!vjp.needs(0) && !vjp.needs(1))
    return;
  Value quotient = vjp.binary<DivOp>(vjp.upstream, op.getRhs());
  if (vjp.needs(0))
    vjp.set(0, quotient);
  if (vjp.needs(1))
    vjp.set(1, vjp.unary<NegOp>(vjp.mul(quotient, op.getResult())));
}

/// All of it to the operand that wins, half to each of equal ones.
template <typename OpTy, Direction wins> void extremum(OpTy op, Vjp &vjp) {
  if (!vjp.needs(0) && !vjp.needs(1))
    return;
  Value lhs = op.getLhs(), rhs = op.getRhs();
  Value shared = vjp.keepWhere(vjp.compare(Direction::EQ, lhs, rhs),
                               vjp.scale(vjp.upstream, 0.5));
  if (vjp.needs(0))
    vjp.set(0, vjp.select(vjp.compare(wins, lhs, rhs), vjp.upstream, shared));
  if (vjp.needs(1))
    vjp.set(1, vjp.select(vjp.compare(wins, rhs, lhs), vjp.upstream, shared));
}

/// d lhs = dy y x^(y-1), d rhs = dy x^y log x; finite at x = 0 and y = 0.
void pow(PowOp op, Vjp &vjp) {
  Value x = op.getLhs(), y = op.getRhs();
  Value zero = vjp.fill(0.0, x.getType()), one = vjp.fill(1.0, x.getType());
  if (vjp.needs(0)) {
    Value exponent = vjp.select(vjp.compare(Direction::EQ, y, zero), one,
                                vjp.binary<SubOp>(y, one));
    Value slope = vjp.mul(y, vjp.binary<PowOp>(x, exponent));
    vjp.set(0, vjp.mul(vjp.upstream, slope));
  }
  if (vjp.needs(1)) {
    Value base = vjp.select(vjp.compare(Direction::EQ, x, zero), one, x);
    Value slope = vjp.mul(op.getResult(), vjp.unary<LogOp>(base));
    vjp.set(1, vjp.mul(vjp.upstream, slope));
  }
}

void select(SelectOp op, Vjp &vjp) {
  if (vjp.needs(1))
    vjp.set(1, vjp.keepWhere(op.getPredicate(), vjp.upstream));
  if (vjp.needs(2))
    vjp.set(2, vjp.select(op.getPredicate(),
                          vjp.fill(0.0, vjp.upstream.getType()), vjp.upstream));
}

/// Gradients are for training.
void ifTraining(IfTrainingOp, Vjp &vjp) {
  if (vjp.needs(0))
    vjp.set(0, vjp.upstream);
}

/// Constant almost everywhere, or of integers and truth values only.
template <typename OpTy> void zero(OpTy, Vjp &) {}

} // namespace

void pp::registerElementwiseGradients(MLIRContext *context) {
  attachGradient<NegOp, unary<NegOp, neg>>(context);
  attachGradient<AbsOp, unary<AbsOp, abs>>(context);
  attachGradient<ExpOp, unary<ExpOp, exp>>(context);
  attachGradient<LogOp, unary<LogOp, log>>(context);
  attachGradient<Log1pOp, unary<Log1pOp, log1p>>(context);
  attachGradient<SqrtOp, unary<SqrtOp, sqrt>>(context);
  attachGradient<RsqrtOp, unary<RsqrtOp, rsqrt>>(context);
  attachGradient<TanhOp, unary<TanhOp, tanh>>(context);
  attachGradient<ErfOp, unary<ErfOp, erf>>(context);
  attachGradient<LogisticOp, unary<LogisticOp, logistic>>(context);
  attachGradient<SinOp, unary<SinOp, sin>>(context);
  attachGradient<CosOp, unary<CosOp, cos>>(context);
  attachGradient<ConvertOp, unary<ConvertOp, convert>>(context);
  attachGradient<ReshardOp, unary<ReshardOp, reshard>>(context);
  attachGradient<NameOp, unary<NameOp, name>>(context);
  attachGradient<ShardingConstraintOp,
                 unary<ShardingConstraintOp, shardingConstraint>>(context);
  attachGradient<AddOp, add>(context);
  attachGradient<SubOp, sub>(context);
  attachGradient<MulOp, mul>(context);
  attachGradient<DivOp, div>(context);
  attachGradient<MaxOp, extremum<MaxOp, Direction::GT>>(context);
  attachGradient<MinOp, extremum<MinOp, Direction::LT>>(context);
  attachGradient<PowOp, pow>(context);
  attachGradient<SelectOp, select>(context);
  attachGradient<IfTrainingOp, ifTraining>(context);
  attachGradient<SignOp, zero<SignOp>>(context);
  attachGradient<NotOp, zero<NotOp>>(context);
  attachGradient<AndOp, zero<AndOp>>(context);
  attachGradient<OrOp, zero<OrOp>>(context);
  attachGradient<CompareOp, zero<CompareOp>>(context);
  attachGradient<StopGradientOp, zero<StopGradientOp>>(context);
  attachGradient<ConstantOp, zero<ConstantOp>>(context);
  attachGradient<IotaOp, zero<IotaOp>>(context);
  attachGradient<RandomBitsOp, zero<RandomBitsOp>>(context);
}
