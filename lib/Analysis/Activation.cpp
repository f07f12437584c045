//===- Activation.cpp - recognizes activations ----------------------------===//
//
// SPDX-License-Identifier: Apache-2.0
//
// Expressions are evaluated in f64 at a few places. Two functions that agree at
// all of them to far less than what tells GELU's two definitions from each
// other (3e-4) are the same. Constants are those of the module, which rounded
// them to its type. A library computes in f32 at least, and rounds the result
// to the operand's type: converts between no narrower floats are looked
// through.
//
//===----------------------------------------------------------------------===//
#include "pp/Analysis/Contraction.h"
#include "pp/IR/Values.h"
#include "llvm/ADT/MapVector.h"
#include "llvm/ADT/TypeSwitch.h"
#include <array>
#include <cmath>
#include <set>

using namespace mlir;
using namespace pp;
using pprt::ppx::EpilogueKind;

/// Ops that one expression may have: GELU's gradient has some thirty.
static constexpr size_t kMostOps = 64;
static constexpr size_t kPlaces = 29;
static constexpr double kTolerance = 2e-5;

namespace {

using Samples = std::array<double, kPlaces>;

bool isBefore(Operation *a, Operation *b) { return a->isBeforeInBlock(b); }

/// The value of the op for the numbers `a` and `b`; nothing for other kinds of
/// op. Unary ops ignore `b`.
std::optional<double> evaluate(Operation *op, double a, double b) {
  return llvm::TypeSwitch<Operation *, std::optional<double>>(op)
      .Case([&](AddOp) { return a + b; })
      .Case([&](SubOp) { return a - b; })
      .Case([&](MulOp) { return a * b; })
      .Case([&](DivOp) { return a / b; })
      .Case([&](PowOp) { return std::pow(a, b); })
      .Case([&](NegOp) { return -a; })
      .Case([&](ExpOp) { return std::exp(a); })
      .Case([&](TanhOp) { return std::tanh(a); })
      .Case([&](ErfOp) { return std::erf(a); })
      .Case([&](LogisticOp) { return 1 / (1 + std::exp(-a)); })
      .Case([&](ConvertOp) { return a; })
      .Default([](Operation *) { return std::nullopt; });
}

/// The ops that read a value, evaluated on samples of it.
class Expression {
public:
  explicit Expression(Value value);
  std::optional<Activation> match();

private:
  bool isElement(Operation *op) const;
  const Samples *sample(Value value);
  bool sampleOthers(Value value);
  std::optional<EpilogueKind> kindOf(Operation *op);
  Activation collect(Operation *last, EpilogueKind kind);

  Value value;
  Block *block;
  Value input; ///< the other tensor, once there is one
  Samples places, factors;
  llvm::MapVector<Value, Samples> known;
};

Expression::Expression(Value value)
    : value(value), block(value.getParentBlock()) {
  for (size_t i = 0; i < kPlaces; ++i) {
    places[i] = -6.03 + 0.431 * double(i);
    factors[i] = i % 3 == 0 ? 1 : i % 3 == 1 ? -0.75 : 2.5;
  }
}

/// Whether `op` computes each element from those of its operands, no less
/// exactly than the value's type has it.
bool Expression::isElement(Operation *op) const {
  return op && op->getNumResults() == 1 && op->getNumOperands() <= 2 &&
         evaluate(op, 1, 1) &&
         ranked(op->getResult(0)).getShape() == ranked(value).getShape() &&
         (!isa<ConvertOp>(op) ||
          keepsFloats(op, ranked(value).getElementType()));
}

/// The samples of a known value or of a constant; otherwise null.
const Samples *Expression::sample(Value operand) {
  if (auto found = known.find(operand); found != known.end())
    return &found->second;
  if (auto splat = getSplat(operand)) {
    Samples all;
    all.fill(*splat);
    return &known.insert({operand, all}).first->second;
  }
  return nullptr;
}

/// Samples everything that leads to `operand`, back to the other tensor (the
/// first one found); false if there is a second one.
bool Expression::sampleOthers(Value operand) {
  SmallVector<Value> work{operand};
  for (size_t rounds = 0; !work.empty(); ++rounds) {
    if (rounds > 4 * kMostOps)
      return false;
    Value next = work.back();
    if (sample(next)) {
      work.pop_back();
      continue;
    }
    Operation *op = next.getDefiningOp();
    // What is rounded to the value's type is a tensor of its own.
    const bool isRounded =
        isa_and_present<ConvertOp>(op) && next.getType() == value.getType();
    if (!op || op->getBlock() != block || !isElement(op) || isRounded) {
      if (input || next.getType() != value.getType())
        return false;
      input = next;
      known.insert({next, places});
      continue;
    }
    bool isReady = true;
    for (Value inner : op->getOperands())
      if (!sample(inner)) {
        work.push_back(inner);
        isReady = false;
      }
    if (!isReady)
      continue;
    Samples result;
    for (size_t i = 0; i < kPlaces; ++i)
      result[i] = *evaluate(op, (*sample(op->getOperand(0)))[i],
                            (*sample(op->getOperands().back()))[i]);
    known.insert({next, result});
  }
  return true;
}

/// GELU and its derivative, with constants as an element type has them.
struct Gelu {
  double inner, cubic;

  double tanh(double x) const {
    return std::tanh(inner * (x + cubic * x * x * x));
  }
  double at(double x) const { return 0.5 * x * (1 + tanh(x)); }
  double derivativeAt(double x) const {
    const double t = tanh(x);
    return 0.5 * (1 + t) +
           0.5 * x * (1 - t * t) * inner * (1 + 3 * cubic * x * x);
  }
};

double rounded(double number, Type element) {
  APFloat value(number);
  bool losesInfo;
  value.convert(cast<FloatType>(element).getFloatSemantics(),
                APFloat::rmNearestTiesToEven, &losesInfo);
  return value.convertToDouble();
}

std::optional<EpilogueKind> Expression::kindOf(Operation *op) {
  const Samples &got = *sample(op->getResult(0));
  Type element = ranked(value).getElementType();
  const double inner = std::sqrt(2 / M_PI), cubic = 0.044715;
  for (const Gelu gelu : {Gelu{inner, cubic}, Gelu{rounded(inner, element),
                                                   rounded(cubic, element)}}) {
    bool isGelu = !input, isGradient = bool(input);
    for (size_t i = 0; i < kPlaces; ++i) {
      const double x = places[i];
      isGelu = isGelu && std::abs(got[i] - gelu.at(x)) <= kTolerance;
      isGradient =
          isGradient && std::abs(got[i] - factors[i] * gelu.derivativeAt(x)) <=
                            kTolerance * std::abs(factors[i]);
    }
    if (isGelu)
      return EpilogueKind::EpilogueKind_gelu_tanh;
    if (isGradient)
      return EpilogueKind::EpilogueKind_gelu_tanh_gradient;
  }
  return std::nullopt;
}

Activation Expression::collect(Operation *last, EpilogueKind kind) {
  Activation result{kind, input, {last}};
  DenseSet<Operation *> seen{last};
  for (size_t i = 0; i < result.ops.size(); ++i)
    for (Value operand : result.ops[i]->getOperands()) {
      Operation *op = operand.getDefiningOp();
      if (op && operand != value && operand != input && !getSplat(operand) &&
          seen.insert(op).second)
        result.ops.push_back(op);
    }
  llvm::sort(result.ops, isBefore);
  return result;
}

std::optional<Activation> Expression::match() {
  // As a function of `value`; and, with another tensor, as a multiple of it.
  for (const bool isFactor : {false, true}) {
    known.clear();
    input = {};
    known.insert({value, isFactor ? factors : places});
    std::set<Operation *, bool (*)(Operation *, Operation *)> work(isBefore);
    auto pushUsers = [&](Value read) {
      for (Operation *user : read.getUsers())
        if (user->getBlock() == block)
          work.insert(user);
    };
    pushUsers(value);
    for (size_t count = 0; !work.empty() && count < kMostOps; ++count) {
      Operation *op = *work.begin();
      work.erase(work.begin());
      if (!isElement(op))
        continue;
      bool isKnown = true;
      for (Value operand : op->getOperands())
        isKnown =
            isKnown && (sample(operand) || (isFactor && sampleOthers(operand)));
      if (!isKnown)
        continue;
      Samples result;
      for (size_t i = 0; i < kPlaces; ++i)
        result[i] = *evaluate(op, (*sample(op->getOperand(0)))[i],
                              (*sample(op->getOperands().back()))[i]);
      known.insert({op->getResult(0), result});
      if (op->getResult(0).getType() == value.getType())
        if (auto kind = kindOf(op))
          return collect(op, *kind);
      pushUsers(op->getResult(0));
    }
  }
  return std::nullopt;
}

} // namespace

std::optional<Activation> pp::matchActivation(Value value) {
  auto type = dyn_cast<RankedTensorType>(value.getType());
  if (!type || !isa<FloatType>(type.getElementType()))
    return std::nullopt;
  return Expression(value).match();
}
