//===- LinalgScalars.cpp - elementwise ops on scalars ---------------------===//
//
// SPDX-License-Identifier: Apache-2.0
//
// The bodies of linalg ops. Elementwise ones carry no fast-math flags: each
// rounds once, so that what is computed in two kernels has the same bits, as
// the gradients of maxima rely on. Sums may be reassociated (else no reduction
// would be vectorised) but never assume that infinities are absent, of which
// masks are made, nor NaN, which a comparison behind a sum may look for.
//
//===----------------------------------------------------------------------===//
#include "LinalgScalars.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "llvm/ADT/TypeSwitch.h"
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

template <typename FloatOp>
Value floating(OpBuilder &b, Location loc, ValueRange operands) {
  return FloatOp::create(b, loc, operands.front().getType(), operands)
      ->getResult(0);
}

/// The same within a reduction.
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

/// Integer division that never traps: x / 0 is -1, the smallest integer
/// divided by -1 wraps.
Value divideIntegers(OpBuilder &b, Location loc, Value lhs, Value rhs) {
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

Value sign(OpBuilder &b, Location loc, Value x) {
  Type type = x.getType();
  Value zero = literal(b, loc, type, 0), one = literal(b, loc, type, 1);
  Value minusOne = literal(b, loc, type, -1);
  Value above, below;
  if (isa<FloatType>(type)) {
    above = arith::CmpFOp::create(b, loc, arith::CmpFPredicate::OGT, x, zero);
    below = arith::CmpFOp::create(b, loc, arith::CmpFPredicate::OLT, x, zero);
    // What is neither above, below nor equal stays what it is: NaN.
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

Value compare(OpBuilder &b, Location loc, Direction direction, Value lhs,
              Value rhs) {
  if (isa<FloatType>(lhs.getType())) {
    using P = arith::CmpFPredicate;
    // Indexed by Direction: EQ NE LT LE GT GE.
    constexpr P kPredicates[] = {P::OEQ, P::UNE, P::OLT,
                                 P::OLE, P::OGT, P::OGE};
    return arith::CmpFOp::create(
        b, loc, kPredicates[static_cast<int>(direction)], lhs, rhs);
  }
  using P = arith::CmpIPredicate;
  constexpr P kSigned[] = {P::eq, P::ne, P::slt, P::sle, P::sgt, P::sge};
  constexpr P kUnsigned[] = {P::eq, P::ne, P::ult, P::ule, P::ugt, P::uge};
  bool isBool = lhs.getType().isInteger(1);
  P predicate = (isBool ? kUnsigned : kSigned)[static_cast<int>(direction)];
  return arith::CmpIOp::create(b, loc, predicate, lhs, rhs);
}

Value logistic(OpBuilder &b, Location loc, Value x) {
  Value one = literal(b, loc, x.getType(), 1);
  Value exp = floating<math::ExpOp>(b, loc, floating<arith::NegFOp>(b, loc, x));
  return floating<arith::DivFOp>(
      b, loc, {one, floating<arith::AddFOp>(b, loc, {one, exp})});
}

/// bf16 is chosen as bits: processors without bf16 cannot hold it.
Value select(OpBuilder &b, Location loc, ValueRange x) {
  if (!x[1].getType().isBF16())
    return arith::SelectOp::create(b, loc, x[0], x[1], x[2]);
  Type bits = b.getI16Type();
  Value onTrue = arith::BitcastOp::create(b, loc, bits, x[1]);
  Value onFalse = arith::BitcastOp::create(b, loc, bits, x[2]);
  Value chosen = arith::SelectOp::create(b, loc, x[0], onTrue, onFalse);
  return arith::BitcastOp::create(b, loc, x[1].getType(), chosen);
}

/// A verifier or this file forgot something: no module is to blame.
Value lacksForm(Operation *op) {
  llvm::reportFatalInternalError(op->getName().getStringRef() +
                                 " of this type has no scalar form");
}

Value emitFloat(OpBuilder &b, Operation *op, ValueRange x) {
  Location loc = op->getLoc();
  return llvm::TypeSwitch<Operation *, Value>(op)
      .Case<NegOp>([&](auto) { return floating<arith::NegFOp>(b, loc, x); })
      .Case<AbsOp>([&](auto) { return floating<math::AbsFOp>(b, loc, x); })
      .Case<ExpOp>([&](auto) { return floating<math::ExpOp>(b, loc, x); })
      .Case<LogOp>([&](auto) { return floating<math::LogOp>(b, loc, x); })
      .Case<Log1pOp>([&](auto) { return floating<math::Log1pOp>(b, loc, x); })
      .Case<SqrtOp>([&](auto) { return floating<math::SqrtOp>(b, loc, x); })
      .Case<RsqrtOp>([&](auto) {
        // An exact division: the processor's estimate of 1 / sqrt(x) and the
        // step that refines it make NaN of 0 and of infinity.
        Value one = literal(b, loc, x[0].getType(), 1);
        return arith::DivFOp::create(b, loc, one,
                                     floating<math::SqrtOp>(b, loc, x));
      })
      .Case<TanhOp>([&](auto) { return floating<math::TanhOp>(b, loc, x); })
      .Case<ErfOp>([&](auto) { return floating<math::ErfOp>(b, loc, x); })
      .Case<LogisticOp>([&](auto) { return logistic(b, loc, x[0]); })
      .Case<SinOp>([&](auto) { return floating<math::SinOp>(b, loc, x); })
      .Case<CosOp>([&](auto) { return floating<math::CosOp>(b, loc, x); })
      .Case<SignOp>([&](auto) { return sign(b, loc, x[0]); })
      .Case<AddOp>([&](auto) { return floating<arith::AddFOp>(b, loc, x); })
      .Case<SubOp>([&](auto) { return floating<arith::SubFOp>(b, loc, x); })
      .Case<MulOp>([&](auto) { return floating<arith::MulFOp>(b, loc, x); })
      .Case<DivOp>([&](auto) { return floating<arith::DivFOp>(b, loc, x); })
      .Case<PowOp>([&](auto) { return floating<math::PowFOp>(b, loc, x); })
      .Case<MaxOp>(
          [&](auto) { return arith::MaximumFOp::create(b, loc, x[0], x[1]); })
      .Case<MinOp>(
          [&](auto) { return arith::MinimumFOp::create(b, loc, x[0], x[1]); })
      .Default(lacksForm);
}

Value emitInteger(OpBuilder &b, Operation *op, ValueRange x) {
  Location loc = op->getLoc();
  auto zero = [&] { return literal(b, loc, x[0].getType(), 0); };
  return llvm::TypeSwitch<Operation *, Value>(op)
      .Case<NegOp>(
          [&](auto) { return arith::SubIOp::create(b, loc, zero(), x[0]); })
      .Case<AbsOp>([&](auto) { return math::AbsIOp::create(b, loc, x[0]); })
      .Case<SignOp>([&](auto) { return sign(b, loc, x[0]); })
      .Case<NotOp>([&](auto) {
        Value ones = literal(b, loc, x[0].getType(), -1);
        return arith::XOrIOp::create(b, loc, x[0], ones);
      })
      .Case<AddOp>(
          [&](auto) { return arith::AddIOp::create(b, loc, x[0], x[1]); })
      .Case<SubOp>(
          [&](auto) { return arith::SubIOp::create(b, loc, x[0], x[1]); })
      .Case<MulOp>(
          [&](auto) { return arith::MulIOp::create(b, loc, x[0], x[1]); })
      .Case<DivOp>([&](auto) { return divideIntegers(b, loc, x[0], x[1]); })
      .Case<MaxOp>(
          [&](auto) { return arith::MaxSIOp::create(b, loc, x[0], x[1]); })
      .Case<MinOp>(
          [&](auto) { return arith::MinSIOp::create(b, loc, x[0], x[1]); })
      .Case<AndOp>(
          [&](auto) { return arith::AndIOp::create(b, loc, x[0], x[1]); })
      .Case<OrOp>(
          [&](auto) { return arith::OrIOp::create(b, loc, x[0], x[1]); })
      .Default(lacksForm);
}

} // namespace

Type pp::getComputeType(Type element) {
  return element.isBF16() ? Float32Type::get(element.getContext()) : element;
}

/// f64 as f32, of which it keeps the two neighbours apart from what lies
/// between them: rounding this again is rounding once.
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

/// Truncates; what lies outside of the integers becomes the nearest, and NaN 0.
/// The processor makes anything of these.
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
    unsigned fromWidth = from.getIntOrFloatBitWidth(),
             toWidth = to.getIntOrFloatBitWidth();
    // No flags: with them narrowing and widening again would be folded, which
    // leaves out the rounding that was asked for.
    if (fromWidth < toWidth)
      return arith::ExtFOp::create(b, loc, to, value);
    // No processor has this conversion.
    if (from.isF64() && to.isBF16())
      value = roundToOdd(b, loc, value);
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

Value pp::emitScalar(OpBuilder &b, Operation *op, ValueRange operands) {
  Location loc = op->getLoc();
  if (isa<SelectOp>(op))
    return select(b, loc, operands);
  if (op->hasTrait<MovesElements>())
    return operands[0];
  if (isa<ConvertOp>(op))
    return emitConvert(b, loc, operands[0],
                       getElementTypeOrSelf(op->getResult(0).getType()));
  if (auto cmp = dyn_cast<CompareOp>(op))
    return compare(b, loc, cmp.getDirection(), operands[0], operands[1]);
  Type element = operands.front().getType();
  if (!isa<FloatType>(element))
    return emitInteger(b, op, operands);
  SmallVector<Value> wide;
  for (Value operand : operands)
    wide.push_back(emitConvert(b, loc, operand, getComputeType(element)));
  return emitConvert(b, loc, emitFloat(b, op, wide), element);
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
    // Processors look for NaN in the first operand: not in what was combined
    // before, for which the next step waits.
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

Value pp::emitRandomBits(OpBuilder &b, Location loc, Value index, Value seed,
                         Value step, uint64_t stream) {
  Philox philox{b, loc};
  SmallVector<Value, 4> counter{philox.low(index), philox.high(index),
                                philox.low(step),
                                philox.literal(static_cast<uint32_t>(stream))};
  return philox.run(counter, philox.low(seed), philox.high(seed))[0];
}
