//===- Elementwise.cpp - ops on elements ----------------------------------===//
//
// SPDX-License-Identifier: Apache-2.0
//
// Arithmetic on booleans is logic. What has no op of its own is made of others,
// exact to rounding.
//
//===----------------------------------------------------------------------===//
#include "Conversion.h"
#include "llvm/ADT/StringSwitch.h"
#include <limits>

using namespace mlir;
using namespace pp;
using namespace pp::hlo;

static Type elementOf(Value value) {
  return Conversion::typeOf(value).getElementType();
}
static bool isBool(Value value) { return elementOf(value).isInteger(1); }

//===----------------------------------------------------------------------===//
// One operand
//===----------------------------------------------------------------------===//

template <typename Op> static Value convertUnary(HloOp op, Conversion &graph) {
  return graph.unary<Op>(graph.operand(op, 0));
}

/// e^x - 1, also for small x: tanh(x / 2) * (e^x + 1).
static Value convertExpm1(HloOp op, Conversion &graph) {
  Value x = graph.operand(op, 0);
  RankedTensorType type = graph.typeOf(x);
  Value half = graph.binary<MulOp>(x, graph.splat(0.5, type));
  Value sum = graph.binary<AddOp>(graph.unary<ExpOp>(x), graph.splat(1, type));
  return graph.binary<MulOp>(graph.unary<TanhOp>(half), sum);
}

/// 1 - erf(x): absolutely exact; what exact GELU needs.
static Value convertErfc(HloOp op, Conversion &graph) {
  Value x = graph.operand(op, 0);
  return graph.binary<SubOp>(graph.splat(1, graph.typeOf(x)),
                             graph.unary<ErfOp>(x));
}

static Value convertTan(HloOp op, Conversion &graph) {
  Value x = graph.operand(op, 0);
  return graph.binary<DivOp>(graph.unary<SinOp>(x), graph.unary<CosOp>(x));
}

static Value convertSquare(HloOp op, Conversion &graph) {
  Value x = graph.operand(op, 0);
  return graph.binary<MulOp>(x, x);
}

/// |x| compared with infinity.
template <Direction direction>
static Value compareWithInfinity(HloOp op, Conversion &graph) {
  Value x = graph.operand(op, 0);
  if (!isa<FloatType>(elementOf(x)))
    return op->emitOpError("expects floats, got ") << x.getType(), Value();
  constexpr double infinity = std::numeric_limits<double>::infinity();
  return graph.compare(direction, graph.unary<AbsOp>(x),
                       graph.splat(infinity, graph.typeOf(x)));
}

/// What is before the point. Numbers that are too large for an integer have
/// nothing behind it.
static Value cutOff(Value x, Conversion &graph) {
  RankedTensorType type = graph.typeOf(x);
  Type i64 = IntegerType::get(graph.getContext(), 64);
  Value cut = graph.convert(graph.convert(x, i64), type.getElementType());
  Value isSmall = graph.compare(Direction::LT, graph.unary<AbsOp>(x),
                                graph.splat(0x1p52, type));
  return graph.select(isSmall, cut, x);
}

/// The integer at or below x, or at or above it: what is cut off moves the
/// value towards zero.
template <Direction direction>
static Value convertFloor(HloOp op, Conversion &graph) {
  constexpr double step = direction == Direction::GT ? -1 : 1;
  Value x = graph.operand(op, 0);
  RankedTensorType type = graph.typeOf(x);
  Value cut = cutOff(x, graph);
  Value isOff = graph.compare(direction, cut, x);
  return graph.select(isOff, graph.binary<AddOp>(cut, graph.splat(step, type)),
                      cut);
}

/// The nearest integer. A half goes away from zero, or to the even one.
template <bool toEven> static Value convertRound(HloOp op, Conversion &graph) {
  Value x = graph.operand(op, 0);
  RankedTensorType type = graph.typeOf(x);
  Value cut = cutOff(x, graph);
  Value rest = graph.unary<AbsOp>(graph.binary<SubOp>(x, cut));
  Value half = graph.splat(0.5, type);
  Value isUp =
      graph.compare(toEven ? Direction::GT : Direction::GE, rest, half);
  if constexpr (toEven) {
    Value integer =
        graph.convert(cut, IntegerType::get(graph.getContext(), 64));
    if (!integer)
      return {};
    RankedTensorType integers = graph.typeOf(integer);
    Value isOdd =
        graph.compare(Direction::NE,
                      graph.binary<AndOp>(integer, graph.splatInt(1, integers)),
                      graph.splatInt(0, integers));
    isUp = graph.binary<OrOp>(
        isUp,
        graph.binary<AndOp>(graph.compare(Direction::EQ, rest, half), isOdd));
  }
  return graph.binary<AddOp>(
      cut, graph.select(isUp, graph.unary<SignOp>(x), graph.splat(0, type)));
}

/// The value of an unsigned integer in wider signed ones.
static Value widenUnsigned(Value x, unsigned bits, Conversion &graph) {
  Type i64 = IntegerType::get(graph.getContext(), 64);
  Value wide = graph.convert(x, i64);
  if (!wide)
    return {};
  return graph.binary<AndOp>(
      wide, graph.splatInt((int64_t(1) << bits) - 1, graph.typeOf(wide)));
}

static Value convertConvert(HloOp op, Conversion &graph) {
  Value x = graph.operand(op, 0);
  Type from = op.getOperandType(0).getElementType();
  Type to = op.getResultType().getElementType();
  if (to.isInteger(1)) // whether it is not zero
    return isBool(x) ? x
                     : graph.compare(Direction::NE, x,
                                     graph.splat(0, graph.typeOf(x)));
  const Type element = graph.resultType(op).getElementType();
  const unsigned bits = from.getIntOrFloatBitWidth();
  const bool isWider = isa<FloatType>(to) || to.getIntOrFloatBitWidth() > bits;
  if (from.isUnsignedInteger() && isWider)
    return bits == 64 ? (failed(verifySigned(op)), Value())
                      : graph.convert(widenUnsigned(x, bits, graph), element);
  if (isa<FloatType>(from) && to.isUnsignedInteger()) {
    if (to.isInteger(64))
      return op->emitError("cannot import a conversion to ui64, which pp has "
                           "not; use i64"),
             Value();
    x = graph.convert(x, IntegerType::get(graph.getContext(), 64));
  }
  return graph.convert(x, element);
}

/// Rounds to a narrower type and back.
static Value convertReducePrecision(HloOp op, Conversion &graph) {
  Value x = graph.operand(op, 0);
  std::string format = op.getWord("format"); // of the pretty form
  if (format.empty()) {
    FailureOr<int64_t> exponent = op.getInt("exponent_bits", 0);
    FailureOr<int64_t> mantissa = op.getInt("mantissa_bits", 0);
    if (failed(exponent) || failed(mantissa))
      return {};
    format = "e" + std::to_string(*exponent) + "m" + std::to_string(*mantissa);
  }
  MLIRContext *context = graph.getContext();
  Type narrow = llvm::StringSwitch<Type>(format)
                    .Case("e8m7", BFloat16Type::get(context))
                    .Case("e5m10", Float16Type::get(context))
                    .Case("e8m23", Float32Type::get(context))
                    .Case("e11m52", elementOf(x))
                    .Default({});
  if (!narrow)
    return op->emitError("cannot import a rounding to ")
               << format << "; expects e8m7, e5m10 or e8m23",
           Value();
  return graph.convert(graph.convert(x, narrow), elementOf(x));
}

//===----------------------------------------------------------------------===//
// More operands
//===----------------------------------------------------------------------===//

template <typename Op> static Value convertBinary(HloOp op, Conversion &graph) {
  return graph.binary<Op>(graph.operand(op, 0), graph.operand(op, 1));
}

/// An op on numbers that is another one on booleans.
template <typename Op, typename Logic>
static Value convertArithmetic(HloOp op, Conversion &graph) {
  return isBool(graph.operand(op, 0)) ? convertBinary<Logic>(op, graph)
                                      : convertBinary<Op>(op, graph);
}

/// The larger or smaller of two. Softmax of JAX compares maxima with -inf.
template <typename Op, typename Logic, Reduction reduction>
static Value convertOrdered(HloOp op, Conversion &graph) {
  if (failed(verifySigned(op)))
    return {};
  for (unsigned index : {0, 1})
    if (isa<FloatType>(elementOf(graph.operand(op, index))) &&
        isIdentity(graph.operand(op, index), reduction))
      return graph.operand(op, 1 - index);
  return convertArithmetic<Op, Logic>(op, graph);
}

/// As StableHLO defines it for integers: x / 0 is -1, and the smallest number
/// divided by -1 is itself. Neither has a quotient in pp.
static Value divide(Value x, Value y, Conversion &graph) {
  if (isa<FloatType>(elementOf(x)))
    return graph.binary<DivOp>(x, y);
  RankedTensorType type = graph.typeOf(y);
  auto choose = [&](int64_t divisor, Value quotient, Value other) {
    Value number = graph.splatInt(divisor, type);
    return graph.select(graph.compare(Direction::EQ, y, number), quotient,
                        other);
  };
  std::optional<int64_t> divisor = graph.known(y);
  if (divisor == 0)
    return graph.splatInt(-1, type);
  if (divisor == -1)
    return graph.unary<NegOp>(x);
  if (divisor)
    return graph.binary<DivOp>(x, y);
  Value one = graph.splatInt(1, type);
  Value safe = choose(0, one, choose(-1, one, y));
  return choose(
      0, graph.splatInt(-1, type),
      choose(-1, graph.unary<NegOp>(x), graph.binary<DivOp>(x, safe)));
}

static Value convertDivide(HloOp op, Conversion &graph) {
  return succeeded(verifySigned(op))
             ? divide(graph.operand(op, 0), graph.operand(op, 1), graph)
             : Value();
}

/// Integers: x - (x / y) * y, whose division rounds towards zero.
static Value convertRemainder(HloOp op, Conversion &graph) {
  Value x = graph.operand(op, 0), y = graph.operand(op, 1);
  if (failed(verifySigned(op)))
    return {};
  if (isa<FloatType>(elementOf(x)))
    return op->emitError("cannot import stablehlo.remainder of floats; pp has "
                         "no op for it"),
           Value();
  return graph.binary<SubOp>(x, graph.binary<MulOp>(divide(x, y, graph), y));
}

static Value convertCompare(HloOp op, Conversion &graph) {
  Value lhs = graph.operand(op, 0), rhs = graph.operand(op, 1);
  const std::string word = op.getWord("comparison_direction");
  auto direction = llvm::StringSwitch<std::optional<Direction>>(word)
                       .Case("EQ", Direction::EQ)
                       .Case("NE", Direction::NE)
                       .Case("LT", Direction::LT)
                       .Case("LE", Direction::LE)
                       .Case("GT", Direction::GT)
                       .Case("GE", Direction::GE)
                       .Default(std::nullopt);
  if (!direction)
    return op.failAt("comparison_direction", "EQ, NE, LT, LE, GT or GE"),
           Value();
  const bool isOrder = direction != Direction::EQ && direction != Direction::NE;
  if (isOrder && (failed(verifySigned(op)) || isBool(lhs)))
    return isBool(lhs)
               ? (op->emitError("cannot import an order of booleans"), Value())
               : Value();
  if (op.getWord("compare_type") == "TOTALORDER")
    return op->emitError("cannot import a total order, which tells NaN apart; "
                         "compare as floats"),
           Value();
  return graph.compare(*direction, lhs, rhs);
}

static Value convertSelect(HloOp op, Conversion &graph) {
  return graph.select(graph.operand(op, 0), graph.operand(op, 1),
                      graph.operand(op, 2));
}

/// min, x, max; the bounds may be scalars.
static Value convertClamp(HloOp op, Conversion &graph) {
  if (failed(verifySigned(op)))
    return {};
  Value x = graph.operand(op, 1);
  auto spread = [&](unsigned index) {
    Value bound = graph.operand(op, index);
    return graph.typeOf(bound).getRank() == 0
               ? graph.broadcast(bound, {}, graph.shapeOf(x))
               : bound;
  };
  return graph.binary<MinOp>(graph.binary<MaxOp>(x, spread(0)), spread(2));
}

void pp::hlo::addElementwise(Handlers &handlers) {
  auto unary = [&](StringRef name, OneHandler handler) {
    handlers[name] = {handler, nullptr, 1};
  };
  auto binary = [&](StringRef name, OneHandler handler) {
    handlers[name] = {handler, nullptr, 2};
  };
  unary("abs", convertUnary<AbsOp>);
  unary("exponential", convertUnary<ExpOp>);
  unary("log", convertUnary<LogOp>);
  unary("log_plus_one", convertUnary<Log1pOp>);
  unary("sqrt", convertUnary<SqrtOp>);
  unary("rsqrt", convertUnary<RsqrtOp>);
  unary("tanh", convertUnary<TanhOp>);
  unary("logistic", convertUnary<LogisticOp>);
  unary("sine", convertUnary<SinOp>);
  unary("cosine", convertUnary<CosOp>);
  unary("negate", convertUnary<NegOp>);
  unary("sign", convertUnary<SignOp>);
  unary("not", convertUnary<NotOp>);
  unary("chlo.erf", convertUnary<ErfOp>);
  unary("exponential_minus_one", convertExpm1);
  unary("tan", convertTan);
  unary("chlo.tan", convertTan);
  unary("chlo.erfc", convertErfc);
  unary("chlo.square", convertSquare);
  unary("is_finite", compareWithInfinity<Direction::LT>);
  unary("chlo.is_inf", compareWithInfinity<Direction::EQ>);
  unary("floor", convertFloor<Direction::GT>);
  unary("ceil", convertFloor<Direction::LT>);
  unary("round_nearest_even", convertRound<true>);
  unary("round_nearest_afz", convertRound<false>);
  unary("convert", convertConvert);
  unary("reduce_precision", convertReducePrecision);
  binary("add", convertArithmetic<AddOp, OrOp>);
  binary("multiply", convertArithmetic<MulOp, AndOp>);
  binary("maximum", convertOrdered<MaxOp, OrOp, Reduction::Max>);
  binary("minimum", convertOrdered<MinOp, AndOp, Reduction::Min>);
  binary("subtract", convertBinary<SubOp>);
  binary("divide", convertDivide);
  binary("remainder", convertRemainder);
  binary("power", convertBinary<PowOp>);
  binary("and", convertBinary<AndOp>);
  binary("or", convertBinary<OrOp>);
  binary("compare", convertCompare);
  handlers["select"] = {convertSelect, nullptr, 3};
  handlers["clamp"] = {convertClamp, nullptr, 3};
}
