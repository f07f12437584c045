//===- Elementwise.cpp - reference meaning of elementwise ops -------------===//
//
// SPDX-License-Identifier: Apache-2.0
//
// Floats compute as doubles; integers in 64 bits, wrapped to their width.
//
//===----------------------------------------------------------------------===//
#include "Evaluators.h"
#include "llvm/ADT/TypeSwitch.h"
#include <cmath>
#include <limits>

using namespace mlir;
using namespace pp;
using namespace pp::reference;

namespace {

template <typename Fn> HostTensor mapUnary(const HostTensor &x, Fn fn) {
  HostTensor result(x.type);
  for (int64_t i = 0, e = x.size(); i < e; ++i)
    result.values[i] = fn(x.values[i]);
  return result;
}

template <typename Fn>
HostTensor mapBinary(const HostTensor &x, const HostTensor &y, Fn fn) {
  HostTensor result(x.type);
  for (int64_t i = 0, e = x.size(); i < e; ++i)
    result.values[i] = fn(x.values[i], y.values[i]);
  return result;
}

bool isFloat(const HostTensor &x) { return isa<FloatType>(x.elementType()); }
int64_t toInt(double value) { return static_cast<int64_t>(value); }

/// Applies `onInts` modulo 2^64 and wraps its result to the element's width.
template <typename Fn>
HostTensor mapInts(const HostTensor &x, const HostTensor &y, Fn onInts) {
  auto element = cast<IntegerType>(x.elementType());
  return mapBinary(x, y, [&](double a, double b) -> double {
    int64_t result = static_cast<int64_t>(onInts(
        static_cast<uint64_t>(toInt(a)), static_cast<uint64_t>(toInt(b))));
    return wrapTo(element, result);
  });
}

/// Arithmetic: `onFloats` on doubles, or `onInts` on unsigned 64-bit integers.
template <typename FloatFn, typename IntFn>
HostTensor arithmetic(Operands in, FloatFn onFloats, IntFn onInts) {
  if (isFloat(*in[0]))
    return mapBinary(*in[0], *in[1], onFloats);
  return mapInts(*in[0], *in[1], onInts);
}

/// Zero is larger than minus zero, as in IEEE 754's maximum.
bool isLess(double a, double b) {
  return a < b || (a == b && std::signbit(a) && !std::signbit(b));
}
double maxOf(double a, double b) {
  return std::isnan(a) || std::isnan(b) ? NAN : isLess(a, b) ? b : a;
}
double minOf(double a, double b) {
  return std::isnan(a) || std::isnan(b) ? NAN : isLess(b, a) ? b : a;
}
double signOf(double x) {
  return std::isnan(x) ? x : double(x > 0) - double(x < 0);
}

/// Division by zero gives -1, as XLA's integer division does.
uint64_t divideInts(uint64_t a, uint64_t b) {
  int64_t x = static_cast<int64_t>(a), y = static_cast<int64_t>(b);
  if (y == 0)
    return static_cast<uint64_t>(-1);
  return y == -1 ? 0 - a : static_cast<uint64_t>(x / y);
}

bool compareElements(Direction direction, double a, double b) {
  switch (direction) {
  case Direction::EQ:
    return a == b;
  case Direction::NE:
    return a != b;
  case Direction::LT:
    return a < b;
  case Direction::LE:
    return a <= b;
  case Direction::GT:
    return a > b;
  case Direction::GE:
    return a >= b;
  }
  return false;
}

HostTensor compare(CompareOp op, Operands in) {
  HostTensor result(op.getType());
  for (int64_t i = 0, e = result.size(); i < e; ++i)
    result.values[i] =
        compareElements(op.getDirection(), in[0]->values[i], in[1]->values[i]);
  return result;
}

HostTensor select(SelectOp op, Operands in) {
  HostTensor result(op.getType());
  for (int64_t i = 0, e = result.size(); i < e; ++i)
    result.values[i] =
        in[0]->values[i] != 0.0 ? in[1]->values[i] : in[2]->values[i];
  return result;
}

/// Truncates towards zero and saturates, NaN becoming 0.
double truncateTo(double value, double low, double high) {
  if (std::isnan(value))
    return 0.0;
  return std::trunc(std::min(std::max(value, low), high));
}

HostTensor convert(ConvertOp op, Operands in) {
  HostTensor result(op.getType(), in[0]->values);
  Type from = in[0]->elementType(), to = result.elementType();
  if (to.isInteger(1)) {
    for (double &value : result.values)
      value = value != 0.0;
  } else if (isa<FloatType>(from) && isa<IntegerType>(to)) {
    double limit = std::ldexp(1.0, to.getIntOrFloatBitWidth() - 1);
    for (double &value : result.values)
      value = truncateTo(value, -limit, limit - 1);
  } else if (isa<IntegerType>(to)) {
    result.roundToElement();
  }
  return result;
}

std::optional<HostTensor> evaluateUnary(Operation *op, const HostTensor &x) {
  auto map = [&](auto fn) { return mapUnary(x, fn); };
  return llvm::TypeSwitch<Operation *, std::optional<HostTensor>>(op)
      .Case([&](NegOp) { return map([](double v) { return -v; }); })
      .Case([&](AbsOp) { return map([](double v) { return std::fabs(v); }); })
      .Case([&](ExpOp) { return map([](double v) { return std::exp(v); }); })
      .Case([&](LogOp) { return map([](double v) { return std::log(v); }); })
      .Case(
          [&](Log1pOp) { return map([](double v) { return std::log1p(v); }); })
      .Case([&](SqrtOp) { return map([](double v) { return std::sqrt(v); }); })
      .Case([&](RsqrtOp) {
        return map([](double v) { return 1.0 / std::sqrt(v); });
      })
      .Case([&](TanhOp) { return map([](double v) { return std::tanh(v); }); })
      .Case([&](ErfOp) { return map([](double v) { return std::erf(v); }); })
      .Case([&](LogisticOp) {
        return map([](double v) { return 1.0 / (1.0 + std::exp(-v)); });
      })
      .Case([&](SinOp) { return map([](double v) { return std::sin(v); }); })
      .Case([&](CosOp) { return map([](double v) { return std::cos(v); }); })
      .Case([&](SignOp) { return map(signOf); })
      .Case([&](NotOp) {
        bool isBool = x.elementType().isInteger(1);
        return map([&](double v) -> double {
          return isBool ? double(v == 0.0) : double(~toInt(v));
        });
      })
      .Case<StopGradientOp, ShardingConstraintOp, ReshardOp, NameOp>(
          [&](auto) { return x; })
      .Default([](Operation *) { return std::nullopt; });
}

std::optional<HostTensor> evaluateBinary(Operation *op, Operands in) {
  using U = uint64_t;
  return llvm::TypeSwitch<Operation *, std::optional<HostTensor>>(op)
      .Case([&](AddOp) {
        return arithmetic(
            in, [](double a, double b) { return a + b; },
            [](U a, U b) { return a + b; });
      })
      .Case([&](SubOp) {
        return arithmetic(
            in, [](double a, double b) { return a - b; },
            [](U a, U b) { return a - b; });
      })
      .Case([&](MulOp) {
        return arithmetic(
            in, [](double a, double b) { return a * b; },
            [](U a, U b) { return a * b; });
      })
      .Case([&](DivOp) {
        return arithmetic(
            in, [](double a, double b) { return a / b; }, divideInts);
      })
      .Case([&](MaxOp) { return mapBinary(*in[0], *in[1], maxOf); })
      .Case([&](MinOp) { return mapBinary(*in[0], *in[1], minOf); })
      .Case([&](PowOp) {
        return mapBinary(*in[0], *in[1],
                         [](double a, double b) { return std::pow(a, b); });
      })
      .Case([&](IfTrainingOp) { return *in[0]; })
      .Case([&](AndOp) {
        return mapInts(*in[0], *in[1], [](U a, U b) { return a & b; });
      })
      .Case([&](OrOp) {
        return mapInts(*in[0], *in[1], [](U a, U b) { return a | b; });
      })
      .Default([](Operation *) { return std::nullopt; });
}

} // namespace

std::optional<HostTensor>
pp::reference::evaluateElementwise(Operation *op, Operands operands) {
  if (auto compareOp = dyn_cast<CompareOp>(op))
    return compare(compareOp, operands);
  if (auto selectOp = dyn_cast<SelectOp>(op))
    return select(selectOp, operands);
  if (auto convertOp = dyn_cast<ConvertOp>(op))
    return convert(convertOp, operands);
  if (operands.size() == 1)
    return evaluateUnary(op, *operands[0]);
  if (operands.size() == 2)
    return evaluateBinary(op, operands);
  return std::nullopt;
}

double pp::reference::combine(Reduction reduction, Type element, double a,
                              double b) {
  switch (reduction) {
  case Reduction::Sum:
    return isa<FloatType>(element) ? a + b : roundTo(element, a + b);
  case Reduction::Prod:
    return isa<FloatType>(element) ? a * b : roundTo(element, a * b);
  case Reduction::Max:
    return maxOf(a, b);
  case Reduction::Min:
    return minOf(a, b);
  case Reduction::And:
    return static_cast<double>(toInt(a) & toInt(b));
  case Reduction::Or:
    return static_cast<double>(toInt(a) | toInt(b));
  }
  return a;
}

double pp::reference::identityOf(Reduction reduction, Type element) {
  bool isFloat = isa<FloatType>(element), isBool = element.isInteger(1);
  double largest = INFINITY, smallest = -INFINITY;
  if (!isFloat) {
    int width = element.getIntOrFloatBitWidth();
    largest = isBool ? 1.0 : std::ldexp(1.0, width - 1) - 1;
    smallest = isBool ? 0.0 : -std::ldexp(1.0, width - 1);
  }
  switch (reduction) {
  case Reduction::Sum:
  case Reduction::Or:
    return 0.0;
  case Reduction::Prod:
    return 1.0;
  case Reduction::Max:
    return smallest;
  case Reduction::Min:
    return largest;
  case Reduction::And:
    return isBool ? 1.0 : -1.0;
  }
  return 0.0;
}
