//===- UpdateRules.cpp - optimizers as ops --------------------------------===//
//
// SPDX-License-Identifier: Apache-2.0
//
// SGD, momentum, Adam, AdamW, global-norm clipping and learning rates.
//
//===----------------------------------------------------------------------===//
#include "UpdateRules.h"
#include "pp/IR/Model.h"
#include <cmath>

using namespace mlir;
using namespace pp;

DictionaryAttr pp::getStateAttrs(MLIRContext *context, const Twine &name,
                                 double number, NamedAttrList attributes) {
  const InitKind kind = number == 0 ? InitKind::Zeros : InitKind::Constant;
  attributes.set(attrs::kRole, RoleAttr::get(context, Role::State));
  attributes.set(attrs::kName, StringAttr::get(context, name));
  attributes.set(attrs::kInit, InitAttr::get(context, kind, number, 0.0));
  return attributes.getDictionary(context);
}

//===----------------------------------------------------------------------===//
// Arithmetic
//===----------------------------------------------------------------------===//

Type pp::computeType(Type element) {
  return element.isF64() ? element : Float32Type::get(element.getContext());
}

Value Arithmetic::constant(double number, Type type) {
  Type element = cast<RankedTensorType>(type).getElementType();
  auto scalarType = RankedTensorType::get({}, element);
  Attribute literal;
  if (isa<FloatType>(element))
    literal = builder.getFloatAttr(element, number);
  else
    literal = builder.getIntegerAttr(element, static_cast<int64_t>(number));
  Value constant = ConstantOp::create(
      builder, loc, scalarType, DenseElementsAttr::get(scalarType, literal));
  if (type == scalarType)
    return constant;
  return BroadcastOp::create(builder, loc, type, constant, ArrayRef<int64_t>());
}

Value Arithmetic::scalar(double number) {
  return constant(number, RankedTensorType::get({}, builder.getF64Type()));
}

Value Arithmetic::convert(Value x, Type element) {
  auto type = cast<RankedTensorType>(x.getType());
  if (type.getElementType() == element)
    return x;
  return ConvertOp::create(builder, loc, type.clone(element), x);
}

Value Arithmetic::spread(Value scalar, Value like) {
  auto type = cast<RankedTensorType>(like.getType());
  Value converted = convert(scalar, type.getElementType());
  if (converted.getType() == type)
    return converted;
  return BroadcastOp::create(builder, loc, type, converted,
                             ArrayRef<int64_t>());
}

Value Arithmetic::compare(Direction direction, Value x, Value y) {
  auto type = cast<RankedTensorType>(x.getType()).clone(builder.getI1Type());
  return CompareOp::create(builder, loc, type, direction, x, y);
}

Value Arithmetic::select(Value predicate, Value yes, Value no) {
  auto type = cast<RankedTensorType>(yes.getType());
  Value spreadOut = predicate;
  if (type.getRank() != 0)
    spreadOut =
        BroadcastOp::create(builder, loc, type.clone(builder.getI1Type()),
                            predicate, ArrayRef<int64_t>());
  return SelectOp::create(builder, loc, type, spreadOut, yes, no);
}

Value Arithmetic::sum(Value x) {
  auto type = cast<RankedTensorType>(x.getType());
  auto dims = llvm::to_vector(llvm::seq<int64_t>(type.getRank()));
  if (!dims.empty())
    x = ReduceOp::create(builder, loc,
                         RankedTensorType::get({}, type.getElementType()),
                         Reduction::Sum, x, dims);
  return convert(x, builder.getF64Type());
}

Value Arithmetic::sumOfSquares(Value x) {
  auto type = cast<RankedTensorType>(x.getType());
  Value wide = convert(x, computeType(type.getElementType()));
  return sum(mul(wide, wide));
}

Value Arithmetic::zeroIfFinite(Value x) {
  // Of the whole gradient: what is linear may be computed from its parts.
  return sum(scale(unary<AbsOp>(x), 0.0));
}

//===----------------------------------------------------------------------===//
// Scalars
//===----------------------------------------------------------------------===//

static bool isAdam(OptimizerAttr optimizer) {
  return optimizer.getKind() == OptimizerKind::Adam ||
         optimizer.getKind() == OptimizerKind::AdamW;
}

bool pp::needsStep(OptimizerAttr optimizer) {
  return isAdam(optimizer) || optimizer.getWarmup() > 0 ||
         optimizer.getDecay() != Decay::Constant;
}

/// lr, times t / warmup while that is below 1, times what the decay leaves:
/// from 1 down to min_lr / lr.
static Value buildRate(Arithmetic &math, OptimizerAttr optimizer, Value t) {
  Value rate = math.scalar(optimizer.getLr());
  Value one = math.scalar(1.0);
  double warmup = optimizer.getWarmup();
  if (warmup > 0)
    rate = math.mul(rate,
                    math.binary<MinOp>(math.div(t, math.scalar(warmup)), one));
  if (optimizer.getDecay() != Decay::Constant) {
    Value elapsed = math.sub(t, math.scalar(warmup));
    Value share = math.div(elapsed, math.scalar(optimizer.getSteps() - warmup));
    share =
        math.binary<MinOp>(math.binary<MaxOp>(share, math.scalar(0.0)), one);
    Value left;
    if (optimizer.getDecay() == Decay::Cosine) {
      Value wave = math.unary<CosOp>(math.mul(share, math.scalar(M_PI)));
      left = math.mul(math.scalar(0.5), math.add(one, wave));
    } else {
      left = math.sub(one, share);
    }
    if (const double least = optimizer.getMinLr(); least > 0)
      left = math.add(math.scalar(least / optimizer.getLr()),
                      math.scale(left, 1 - least / optimizer.getLr()));
    rate = math.mul(rate, left);
  }
  return rate;
}

StepScalars pp::buildStepScalars(Arithmetic &math, OptimizerAttr optimizer,
                                 Value step, Type element) {
  Value t = step ? math.convert(step, Float64Type::get(optimizer.getContext()))
                 : Value();
  Value rate = buildRate(math, optimizer, t);
  StepScalars scalars;
  scalars.scheduled = rate;
  if (optimizer.getKind() == OptimizerKind::AdamW &&
      optimizer.getWeightDecay() != 0.0) {
    Value shrink = math.sub(math.scalar(1.0),
                            math.scale(rate, optimizer.getWeightDecay()));
    scalars.shrink = math.convert(shrink, element);
  }
  if (isAdam(optimizer)) {
    auto correction = [&](double beta) {
      return math.sub(math.scalar(1.0),
                      math.binary<PowOp>(math.scalar(beta), t));
    };
    rate = math.div(rate, correction(optimizer.getBeta1()));
    Value share = math.div(math.scalar(1.0), correction(optimizer.getBeta2()));
    scalars.correction = math.convert(share, element);
  }
  scalars.rate = math.convert(rate, element);
  return scalars;
}

Value pp::buildNorm(Arithmetic &math, ArrayRef<Value> squares, Value inverse) {
  Value total = squares.front();
  for (Value square : squares.drop_front())
    total = math.add(total, square);
  Value norm = math.unary<SqrtOp>(total);
  if (inverse)
    norm = math.mul(norm, math.spread(inverse, norm));
  return norm;
}

Value pp::buildClip(Arithmetic &math, double clip, Value norm) {
  norm = math.add(norm, math.scalar(1e-6));
  return math.binary<MinOp>(math.div(math.scalar(clip), norm),
                            math.scalar(1.0));
}

//===----------------------------------------------------------------------===//
// Rules
//===----------------------------------------------------------------------===//

ArrayRef<StringRef> pp::stateNames(OptimizerAttr optimizer) {
  static const StringRef momentum[] = {"momentum_buffer"};
  static const StringRef adam[] = {"exp_avg", "exp_avg_sq"};
  switch (optimizer.getKind()) {
  case OptimizerKind::SGD:
    return {};
  case OptimizerKind::Momentum:
    return momentum;
  case OptimizerKind::Adam:
  case OptimizerKind::AdamW:
    return adam;
  }
  return {};
}

/// old * keep + new * (1 - keep)
static Value average(Arithmetic &math, double keep, Value old, Value fresh) {
  return math.add(math.scale(old, keep), math.scale(fresh, 1.0 - keep));
}

UpdatedValues pp::applyRule(Arithmetic &math, OptimizerAttr optimizer,
                            const StepScalars &scalars, Value value,
                            Value gradient, ArrayRef<Value> states) {
  double decay = optimizer.getWeightDecay();
  if (scalars.shrink)
    value = math.scale(value, scalars.shrink);
  else if (decay != 0.0)
    gradient = math.add(gradient, math.scale(value, decay));
  if (!isAdam(optimizer)) {
    SmallVector<Value> newStates;
    if (optimizer.getKind() == OptimizerKind::Momentum) {
      // torch starts the buffer at the first gradient, which a buffer of zeros
      // yields as well: momentum has no dampening.
      gradient =
          math.add(math.scale(states[0], optimizer.getMomentum()), gradient);
      newStates.push_back(gradient);
    }
    return {math.sub(value, math.scale(gradient, scalars.rate)), newStates};
  }
  Value mean = average(math, optimizer.getBeta1(), states[0], gradient);
  Value square = average(math, optimizer.getBeta2(), states[1],
                         math.mul(gradient, gradient));
  // The root of the corrected average, rather than a corrected root: this
  // bounds the divisor.
  Value deviation =
      math.add(math.unary<SqrtOp>(math.scale(square, scalars.correction)),
               math.constant(optimizer.getEps(), square.getType()));
  Value step = math.scale(math.div(mean, deviation), scalars.rate);
  return {math.sub(value, step), {mean, square}};
}
