//===- Scalars.cpp - ops on scalars ---------------------------------------===//
//
// SPDX-License-Identifier: Apache-2.0
//
// Elementwise ops carry no fast-math flags: each rounds once, so that equal
// computations in two kernels have the same bits, as the gradients of maxima
// need. Sums may be reassociated (otherwise no reduction would be vectorised)
// but never assume the absence of infinities, which masks consist of, nor of
// NaN, which a comparison behind a sum may look for.
//
//===----------------------------------------------------------------------===//
#include "Scalars.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "pp/IR/Aspects.h"
#include "pp/IR/Model.h"
#include <cmath>

using namespace mlir;
using namespace pp;

namespace {

arith::FastMathFlagsAttr fastMath(OpBuilder &builder) {
  using Flags = arith::FastMathFlags;
  return arith::FastMathFlagsAttr::get(
      builder.getContext(),
      Flags::reassoc | Flags::nsz | Flags::arcp | Flags::contract | Flags::afn);
}

/// A float op within a reduction.
template <typename FloatOp>
Value reducing(OpBuilder &b, Location loc, ValueRange operands) {
  return FloatOp::create(b, loc, TypeRange(operands.front().getType()),
                         operands, b.getNamedAttr("fastmath", fastMath(b)))
      ->getResult(0);
}

Value literal(OpBuilder &b, Location loc, Type type, double value) {
  TypedAttr attr =
      isa<FloatType>(type)
          ? TypedAttr(b.getFloatAttr(type, value))
          : TypedAttr(b.getIntegerAttr(type, static_cast<int64_t>(value)));
  return arith::ConstantOp::create(b, loc, attr);
}

/// Builds an element of the result of an elementwise op.
using Form = Value (*)(OpBuilder &b, Operation *op, ValueRange x);

/// A verifier or this file forgot something: no module is to blame.
Value lacksForm(OpBuilder &, Operation *op, ValueRange) {
  llvm::reportFatalInternalError(op->getName().getStringRef() +
                                 " of this type has no scalar form");
}

/// The op is one of `arith` or `math`.
template <typename ScalarOp>
Value build(OpBuilder &b, Operation *op, ValueRange x) {
  return ScalarOp::create(b, op->getLoc(), TypeRange(x.front().getType()), x)
      ->getResult(0);
}

/// Narrow floats are computed in f32 and rounded at the end.
template <Form floats, Form integers = lacksForm>
Value byType(OpBuilder &b, Operation *op, ValueRange x) {
  Type element = x.front().getType();
  if (!isa<FloatType>(element))
    return integers(b, op, x);
  SmallVector<Value> wide;
  for (Value operand : x)
    wide.push_back(
        emitConvert(b, op->getLoc(), operand, getComputeType(element)));
  return emitConvert(b, op->getLoc(), floats(b, op, wide), element);
}

Value negate(OpBuilder &b, Operation *op, ValueRange x) {
  Value zero = literal(b, op->getLoc(), x[0].getType(), 0);
  return arith::SubIOp::create(b, op->getLoc(), zero, x[0]);
}

Value complement(OpBuilder &b, Operation *op, ValueRange x) {
  Value ones = literal(b, op->getLoc(), x[0].getType(), -1);
  return arith::XOrIOp::create(b, op->getLoc(), x[0], ones);
}

/// Integer division that never traps: x / 0 is -1, the smallest integer
/// divided by -1 wraps.
Value divideIntegers(OpBuilder &b, Operation *op, ValueRange x) {
  Location loc = op->getLoc();
  Value lhs = x[0], rhs = x[1];
  Type type = lhs.getType();
  using P = arith::CmpIPredicate;
  Value zero = literal(b, loc, type, 0), one = literal(b, loc, type, 1);
  Value minusOne = literal(b, loc, type, -1);
  Value isZero = arith::CmpIOp::create(b, loc, P::eq, rhs, zero);
  Value isMinusOne = arith::CmpIOp::create(b, loc, P::eq, rhs, minusOne);
  Value isSpecial = arith::OrIOp::create(b, loc, isZero, isMinusOne);
  Value safe = arith::SelectOp::create(b, loc, isSpecial, one, rhs);
  Value quotient = arith::DivSIOp::create(b, loc, lhs, safe);
  Value negated = arith::SubIOp::create(b, loc, zero, lhs);
  quotient = arith::SelectOp::create(b, loc, isMinusOne, negated, quotient);
  return arith::SelectOp::create(b, loc, isZero, minusOne, quotient);
}

Value sign(OpBuilder &b, Operation *op, ValueRange operands) {
  Location loc = op->getLoc();
  Value x = operands[0];
  Type type = x.getType();
  Value zero = literal(b, loc, type, 0), one = literal(b, loc, type, 1);
  Value minusOne = literal(b, loc, type, -1);
  Value above, below;
  if (isa<FloatType>(type)) {
    above = arith::CmpFOp::create(b, loc, arith::CmpFPredicate::OGT, x, zero);
    below = arith::CmpFOp::create(b, loc, arith::CmpFPredicate::OLT, x, zero);
    // A number that is neither above, below nor equal is NaN and stays.
    Value equal =
        arith::CmpFOp::create(b, loc, arith::CmpFPredicate::OEQ, x, zero);
    zero = arith::SelectOp::create(b, loc, equal, zero, x);
  } else {
    above = arith::CmpIOp::create(b, loc, arith::CmpIPredicate::sgt, x, zero);
    below = arith::CmpIOp::create(b, loc, arith::CmpIPredicate::slt, x, zero);
  }
  Value rest = arith::SelectOp::create(b, loc, below, minusOne, zero);
  return arith::SelectOp::create(b, loc, above, one, rest);
}

Value compare(OpBuilder &b, Operation *op, ValueRange x) {
  Location loc = op->getLoc();
  const auto direction = static_cast<int>(cast<CompareOp>(op).getDirection());
  Value lhs = x[0], rhs = x[1];
  if (isa<FloatType>(lhs.getType())) {
    using P = arith::CmpFPredicate;
    // Indexed by Direction: EQ NE LT LE GT GE.
    constexpr P kPredicates[] = {P::OEQ, P::UNE, P::OLT,
                                 P::OLE, P::OGT, P::OGE};
    return arith::CmpFOp::create(b, loc, kPredicates[direction], lhs, rhs);
  }
  using P = arith::CmpIPredicate;
  constexpr P kSigned[] = {P::eq, P::ne, P::slt, P::sle, P::sgt, P::sge};
  constexpr P kUnsigned[] = {P::eq, P::ne, P::ult, P::ule, P::ugt, P::uge};
  bool isBool = lhs.getType().isInteger(1);
  P predicate = (isBool ? kUnsigned : kSigned)[direction];
  return arith::CmpIOp::create(b, loc, predicate, lhs, rhs);
}

Value logistic(OpBuilder &b, Operation *op, ValueRange x) {
  Value one = literal(b, op->getLoc(), x[0].getType(), 1);
  Value exp = build<math::ExpOp>(b, op, build<arith::NegFOp>(b, op, x));
  return build<arith::DivFOp>(b, op,
                              {one, build<arith::AddFOp>(b, op, {one, exp})});
}

/// An exact division: the processor's estimate of 1 / sqrt(x) and the step that
/// refines it make NaN of 0 and of infinity.
Value rsqrt(OpBuilder &b, Operation *op, ValueRange x) {
  Value one = literal(b, op->getLoc(), x[0].getType(), 1);
  return build<arith::DivFOp>(b, op, {one, build<math::SqrtOp>(b, op, x)});
}

/// Narrow floats are chosen as bits: not every processor can hold them.
Value select(OpBuilder &b, Operation *op, ValueRange x) {
  Location loc = op->getLoc();
  if (!isNarrowFloat(x[1].getType()))
    return arith::SelectOp::create(b, loc, x[0], x[1], x[2]);
  Type bits = b.getI16Type();
  Value onTrue = arith::BitcastOp::create(b, loc, bits, x[1]);
  Value onFalse = arith::BitcastOp::create(b, loc, bits, x[2]);
  Value chosen = arith::SelectOp::create(b, loc, x[0], onTrue, onFalse);
  return arith::BitcastOp::create(b, loc, x[1].getType(), chosen);
}

Value convert(OpBuilder &b, Operation *op, ValueRange x) {
  return emitConvert(b, op->getLoc(), x[0],
                     getElementTypeOrSelf(op->getResult(0).getType()));
}

Value same(OpBuilder &, Operation *, ValueRange x) { return x[0]; }

template <typename OpT, Form form>
struct Model : ScalarOpInterface::ExternalModel<Model<OpT, form>, OpT> {
  Value emitScalar(Operation *op, OpBuilder &builder,
                   ValueRange operands) const {
    return form(builder, op, operands);
  }
};

template <typename OpT, Form form> void attach(MLIRContext *context) {
  OpT::template attachInterface<Model<OpT, form>>(*context);
}
/// By the names of ops of `math`, all of floats.
template <typename OpT, typename MathOp> void attachMath(MLIRContext *context) {
  attach<OpT, byType<build<MathOp>>>(context);
}
/// By the names of ops for floats and for integers.
template <typename OpT, typename FloatOp, typename IntegerOp>
void attachBoth(MLIRContext *context) {
  attach<OpT, byType<build<FloatOp>, build<IntegerOp>>>(context);
}

} // namespace

Type pp::getComputeType(Type element) {
  return isNarrowFloat(element) ? Float32Type::get(element.getContext())
                                : element;
}

/// Rounds f64 to f32 so that rounding the result again equals rounding once:
/// numbers between two neighbours stay apart from both.
static Value roundToOdd(OpBuilder &b, Location loc, Value value) {
  Type f32 = b.getF32Type(), i32 = b.getI32Type();
  Value nearest = arith::TruncFOp::create(b, loc, f32, value);
  Value back = arith::ExtFOp::create(b, loc, value.getType(), nearest);
  auto compare = [&](arith::CmpFPredicate predicate, Value x, Value y) {
    return arith::CmpFOp::create(b, loc, predicate, x, y);
  };
  auto choose = [&](Value condition, int64_t onTrue) {
    return arith::SelectOp::create(b, loc, condition,
                                   literal(b, loc, i32, onTrue),
                                   literal(b, loc, i32, 0));
  };
  Value isInexact = compare(arith::CmpFPredicate::ONE, back, value);
  Value isAbove =
      compare(arith::CmpFPredicate::OGT, math::AbsFOp::create(b, loc, back),
              math::AbsFOp::create(b, loc, value));
  Value bits = arith::BitcastOp::create(b, loc, i32, nearest);
  bits = arith::SubIOp::create(b, loc, bits, choose(isAbove, 1));
  bits = arith::OrIOp::create(b, loc, bits, choose(isInexact, 1));
  return arith::BitcastOp::create(b, loc, f32, bits);
}

/// Truncates; out of range becomes the nearest integer, NaN 0. The processor's
/// result would be undefined.
static Value toInteger(OpBuilder &b, Location loc, Value value, Type to) {
  const unsigned width = to.getIntOrFloatBitWidth();
  const double limit = std::ldexp(1.0, int(width) - 1);
  auto integer = [&](const APInt &number) {
    return arith::ConstantOp::create(b, loc, b.getIntegerAttr(to, number));
  };
  auto compare = [&](arith::CmpFPredicate predicate, double bound) {
    return arith::CmpFOp::create(b, loc, predicate, value,
                                 literal(b, loc, value.getType(), bound));
  };
  Value isBelow = compare(arith::CmpFPredicate::OLT, -limit);
  Value isAbove = compare(arith::CmpFPredicate::OGE, limit);
  Value isInside =
      arith::AndIOp::create(b, loc, compare(arith::CmpFPredicate::OGE, -limit),
                            compare(arith::CmpFPredicate::OLT, limit));
  Value safe = arith::SelectOp::create(b, loc, isInside, value,
                                       literal(b, loc, value.getType(), 0));
  Value result = arith::FPToSIOp::create(b, loc, to, safe);
  result = arith::SelectOp::create(
      b, loc, isBelow, integer(APInt::getSignedMinValue(width)), result);
  return arith::SelectOp::create(
      b, loc, isAbove, integer(APInt::getSignedMaxValue(width)), result);
}

Value pp::emitConvert(OpBuilder &b, Location loc, Value value, Type to) {
  Type from = value.getType();
  if (from == to)
    return value;
  if (isa<FloatType>(from) && isa<FloatType>(to)) {
    // Processors convert narrow floats from and to f32 alone. No flags: with
    // them narrowing and widening again would be folded, which leaves out the
    // rounding that was asked for.
    if (isNarrowFloat(from))
      value = arith::ExtFOp::create(b, loc, b.getF32Type(), value);
    else if (from.isF64() && isNarrowFloat(to))
      value = roundToOdd(b, loc, value);
    if (value.getType() == to)
      return value;
    if (value.getType().getIntOrFloatBitWidth() < to.getIntOrFloatBitWidth())
      return arith::ExtFOp::create(b, loc, to, value);
    return arith::TruncFOp::create(b, loc, to, value);
  }
  if (to.isInteger(1)) {
    Value zero = literal(b, loc, from, 0);
    if (isa<FloatType>(from))
      return arith::CmpFOp::create(b, loc, arith::CmpFPredicate::UNE, value,
                                   zero);
    return arith::CmpIOp::create(b, loc, arith::CmpIPredicate::ne, value, zero);
  }
  if (isa<FloatType>(from)) {
    return toInteger(b, loc, emitConvert(b, loc, value, getComputeType(from)),
                     to);
  }
  if (isa<FloatType>(to)) {
    Type compute = getComputeType(to);
    Value wide = from.isInteger(1)
                     ? Value(arith::UIToFPOp::create(b, loc, compute, value))
                     : Value(arith::SIToFPOp::create(b, loc, compute, value));
    return emitConvert(b, loc, wide, to);
  }
  if (from.isInteger(1))
    return arith::ExtUIOp::create(b, loc, to, value);
  if (from.getIntOrFloatBitWidth() < to.getIntOrFloatBitWidth())
    return arith::ExtSIOp::create(b, loc, to, value);
  return arith::TruncIOp::create(b, loc, to, value);
}

void pp::registerScalarModels(DialectRegistry &registry) {
  registry.insert<arith::ArithDialect, math::MathDialect>();
  registry.addExtension(+[](MLIRContext *context, PPDialect *) {
    attachMath<ExpOp, math::ExpOp>(context);
    attachMath<LogOp, math::LogOp>(context);
    attachMath<Log1pOp, math::Log1pOp>(context);
    attachMath<SqrtOp, math::SqrtOp>(context);
    attachMath<TanhOp, math::TanhOp>(context);
    attachMath<ErfOp, math::ErfOp>(context);
    attachMath<SinOp, math::SinOp>(context);
    attachMath<CosOp, math::CosOp>(context);
    attachMath<PowOp, math::PowFOp>(context);
    attach<RsqrtOp, byType<rsqrt>>(context);
    attach<LogisticOp, byType<logistic>>(context);
    attach<NegOp, byType<build<arith::NegFOp>, negate>>(context);
    attach<SignOp, byType<sign, sign>>(context);
    attach<DivOp, byType<build<arith::DivFOp>, divideIntegers>>(context);
    attachBoth<AbsOp, math::AbsFOp, math::AbsIOp>(context);
    attachBoth<AddOp, arith::AddFOp, arith::AddIOp>(context);
    attachBoth<SubOp, arith::SubFOp, arith::SubIOp>(context);
    attachBoth<MulOp, arith::MulFOp, arith::MulIOp>(context);
    attachBoth<MaxOp, arith::MaximumFOp, arith::MaxSIOp>(context);
    attachBoth<MinOp, arith::MinimumFOp, arith::MinSIOp>(context);
    attach<AndOp, build<arith::AndIOp>>(context);
    attach<OrOp, build<arith::OrIOp>>(context);
    attach<NotOp, complement>(context);
    attach<CompareOp, compare>(context);
    attach<ConvertOp, convert>(context);
    attach<SelectOp, select>(context);
    attach<StopGradientOp, same>(context);
    attach<IfTrainingOp, same>(context);
    attach<ShardingConstraintOp, same>(context);
    attach<ReshardOp, same>(context);
    attach<NameOp, same>(context);
  });
}

Value pp::emitIsLarger(OpBuilder &b, Location loc, Value lhs, Value rhs) {
  if (!isa<FloatType>(lhs.getType()))
    return arith::CmpIOp::create(b, loc, arith::CmpIPredicate::sgt, lhs, rhs);
  // Larger, or one of both is NaN; then it must not be `rhs`.
  Value isLarger =
      arith::CmpFOp::create(b, loc, arith::CmpFPredicate::UGT, lhs, rhs);
  Value isNumber =
      arith::CmpFOp::create(b, loc, arith::CmpFPredicate::ORD, rhs, rhs);
  return arith::AndIOp::create(b, loc, isLarger, isNumber);
}

Value pp::emitCombine(OpBuilder &b, Location loc, Reduction reduction,
                      Value lhs, Value rhs) {
  Type element = lhs.getType();
  assert(element == getComputeType(element) && "sums are rounded in the end");
  bool isFloat = isa<FloatType>(element), isBool = element.isInteger(1);
  SmallVector<Value> x{lhs, rhs};
  switch (reduction) {
  case Reduction::Sum:
    return isFloat ? reducing<arith::AddFOp>(b, loc, x)
                   : Value(arith::AddIOp::create(b, loc, lhs, rhs));
  case Reduction::Prod:
    return isFloat ? reducing<arith::MulFOp>(b, loc, x)
                   : Value(arith::MulIOp::create(b, loc, lhs, rhs));
  case Reduction::Max:
    // Processors look for NaN in the first operand: not in the earlier results,
    // for which the next step waits.
    return isFloat  ? reducing<arith::MaximumFOp>(b, loc, {rhs, lhs})
           : isBool ? Value(arith::OrIOp::create(b, loc, lhs, rhs))
                    : Value(arith::MaxSIOp::create(b, loc, lhs, rhs));
  case Reduction::Min:
    return isFloat  ? reducing<arith::MinimumFOp>(b, loc, {rhs, lhs})
           : isBool ? Value(arith::AndIOp::create(b, loc, lhs, rhs))
                    : Value(arith::MinSIOp::create(b, loc, lhs, rhs));
  case Reduction::And:
    return arith::AndIOp::create(b, loc, lhs, rhs);
  case Reduction::Or:
    return arith::OrIOp::create(b, loc, lhs, rhs);
  }
  llvm_unreachable("every reduction is handled above");
}

namespace {

/// 32-bit arithmetic of Philox4x32-10 (Salmon et al., 2011).
struct Philox {
  OpBuilder &b;
  Location loc;

  Value literal(uint32_t value) {
    return arith::ConstantOp::create(
        b, loc, b.getI32IntegerAttr(static_cast<int32_t>(value)));
  }
  Value low(Value wide) {
    return arith::TruncIOp::create(b, loc, b.getI32Type(), wide);
  }
  Value high(Value wide) {
    Value shift = arith::ConstantOp::create(b, loc, b.getI64IntegerAttr(32));
    return low(arith::ShRUIOp::create(b, loc, wide, shift));
  }
  Value exclusiveOr(Value x, Value y) {
    return arith::XOrIOp::create(b, loc, x, y);
  }

  SmallVector<Value, 4> run(SmallVector<Value, 4> counter, Value key0,
                            Value key1) {
    for (int round = 0; round < 10; ++round) {
      auto first = arith::MulUIExtendedOp::create(b, loc, literal(0xD2511F53),
                                                  counter[0]);
      auto second = arith::MulUIExtendedOp::create(b, loc, literal(0xCD9E8D57),
                                                   counter[2]);
      counter = {exclusiveOr(exclusiveOr(second.getHigh(), counter[1]), key0),
                 second.getLow(),
                 exclusiveOr(exclusiveOr(first.getHigh(), counter[3]), key1),
                 first.getLow()};
      key0 = arith::AddIOp::create(b, loc, key0, literal(0x9E3779B9));
      key1 = arith::AddIOp::create(b, loc, key1, literal(0xBB67AE85));
    }
    return counter;
  }
};

} // namespace

Value pp::emitRandomBits(OpBuilder &b, RandomBitsOp op,
                         function_ref<Value(int64_t)> placeAlong,
                         function_ref<Value(unsigned)> operand) {
  Location loc = op.getLoc();
  Type i64 = b.getI64Type();
  auto wide = [&](unsigned index) {
    return emitConvert(b, loc, operand(index), i64);
  };
  Value index; // in the global tensor, row-major
  for (auto [dim, size] :
       llvm::enumerate(op.getGlobalShape().value_or(op.getType().getShape()))) {
    Value place = placeAlong(dim);
    if (op.getGlobalShape())
      place = arith::AddIOp::create(b, loc, place, wide(2 + dim));
    if (index) {
      index = arith::MulIOp::create(b, loc, index, literal(b, loc, i64, size));
      place = arith::AddIOp::create(b, loc, index, place);
    }
    index = place;
  }
  if (!index)
    index = literal(b, loc, i64, 0);
  Value seed = wide(0), step = wide(1);
  Philox philox{b, loc};
  SmallVector<Value, 4> counter{
      philox.low(index), philox.high(index), philox.low(step),
      philox.literal(static_cast<uint32_t>(op.getStream()))};
  return philox.run(counter, philox.low(seed), philox.high(seed))[0];
}

Value pp::emitAxisIndex(OpBuilder &b, AxisIndexOp op,
                        function_ref<Value(int64_t)> scalar) {
  Location loc = op.getLoc();
  Type i64 = b.getI64Type();
  MeshAttr mesh = lookupMesh(op->getParentOfType<ModuleOp>()).getMesh();
  Value index = literal(b, loc, i64, 0);
  for (StringAttr name : op.getAxes().getAsRange<StringAttr>()) {
    MeshAxisAttr axis = mesh.lookup(name);
    const int64_t position = axis.getKind() == AxisKind::Time
                                 ? mesh.getAxes().size()
                                 : mesh.indexOf(name);
    index = arith::MulIOp::create(b, loc, index,
                                  literal(b, loc, i64, axis.getSize()));
    index = arith::AddIOp::create(b, loc, index, scalar(position));
  }
  return emitConvert(b, loc, index, ranked(op.getResult()).getElementType());
}
