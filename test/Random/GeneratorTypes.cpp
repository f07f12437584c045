//===- GeneratorTypes.cpp - random programs of several element types ------===//
//
// SPDX-License-Identifier: Apache-2.0
//
// Whole numbers in all types but f64: a wrong bit is a fault, whatever the type
// and the order in which sums are added up. Numbers that grow are cut off long
// before bf16 would round them, or i8 wrap them.
//
//===----------------------------------------------------------------------===//
#include "Generator.h"
#include <cmath>

using namespace mlir;
using namespace pp;
using namespace pp::testing;

/// Largest magnitude of a whole number, and of one that was cut off.
static constexpr double kMostWhole = 100, kCutOff = 8;

bool Generator::mayRound(Value x, double magnitude) {
  auto type = dyn_cast<FloatType>(getElementTypeOrSelf(x));
  return type && magnitude > std::ldexp(1.0, APFloat::semanticsPrecision(
                                                 type.getFloatSemantics()));
}

Value Generator::limitWhole(Value value, double magnitude) {
  if (!isLogic(value) && magnitude > kMostWhole) {
    value = binary<MaxOp>(value, fill(typeOf(value), -kCutOff));
    value = binary<MinOp>(value, fill(typeOf(value), kCutOff));
    magnitude = kCutOff;
  }
  magnitudes[value] = magnitude;
  return value;
}

Value Generator::small(Value x) {
  return !isWhole(x) ? unary<SinOp>(x) : isLogic(x) ? x : unary<SignOp>(x);
}

Value Generator::inType(Value x, Type element) {
  if (getElementTypeOrSelf(x) == element)
    return x;
  return keep(make<ConvertOp>(typeOf(x).clone(element), x), x);
}

Value Generator::inF64(Value x) { return inType(x, builder.getF64Type()); }

/// In another type; or places of elements, or what is larger than something.
Value Generator::retyped(Value x) {
  const int64_t dim = hasOwnDim(x) ? drawOwnDim(x) : 0;
  const bool hasPlaces = hasOwnDim(x) && !isLogic(x) && shapeOf(x)[dim] > 0;
  if (hasPlaces && chance(25)) {
    Sizes shape = shapeOf(x);
    if (chance(50)) {
      shape[dim] = 1 + below(shape[dim]);
      return limit(make<TopKOp>(i32(shape), x, dim), shapeOf(x)[dim]);
    }
    shape.erase(shape.begin() + dim);
    return limit(make<ArgmaxOp>(i32(shape), x, dim), shapeOf(x)[dim]);
  }
  if (chance(20))
    return make<CompareOp>(typeOf(x).clone(builder.getI1Type()),
                           isWhole(x) && chance(50) ? Direction::EQ
                                                    : Direction::GT,
                           x, matching(x));
  const Type elements[] = {builder.getF64Type(),  builder.getF32Type(),
                           builder.getBF16Type(), builder.getF16Type(),
                           builder.getI64Type(),  builder.getI32Type(),
                           builder.getI8Type(),   builder.getI1Type()};
  if (!isWhole(x)) { // no rounding leads from one whole number to another
    Value scaled = binary<MulOp>(unary<SinOp>(x), fill(typeOf(x), 4.3));
    x = limit(make<ConvertOp>(i32(shapeOf(x)), scaled), 4);
  }
  return inType(x, elements[below(std::size(elements))]);
}

Value Generator::wholeOp(Value x) {
  if (isLogic(x))
    return unary<NotOp>(x);
  switch (below(5)) {
  case 0:
    return keep(unary<AbsOp>(x), x);
  case 1:
    return limit(unary<SignOp>(x), 1);
  case 2:
    return keep(make<NameOp>(typeOf(x), x,
                             builder.getStringAttr("v" + Twine(names++)),
                             ArrayAttr(), /*gradient=*/false),
                x);
  case 3:
    return options.stopsGradients ? keep(unary<StopGradientOp>(x), x)
                                  : simple(x);
  default:
    return simple(x);
  }
}

Value Generator::wholePair(Value x) {
  Value y = matching(x);
  if (isLogic(x))
    return chance(50) ? binary<AndOp>(x, y) : binary<OrOp>(x, y);
  const double a = magnitudeOf(x), b = magnitudeOf(y);
  const bool isInteger = isa<IntegerType>(getElementTypeOrSelf(x));
  switch (below(isInteger ? 8 : 5)) {
  case 0:
    return limit(binary<AddOp>(x, y), a + b);
  case 1:
    return limit(binary<SubOp>(x, y), a + b);
  case 2:
    return limit(binary<MulOp>(x, y), a * b);
  case 3:
    return limit(binary<MaxOp>(x, y), std::max(a, b));
  case 4:
    return limit(binary<MinOp>(x, y), std::max(a, b));
  case 5: {
    Value divisor =
        binary<MaxOp>(unary<AbsOp>(y), fill(typeOf(y), 1)); // what is not 0
    return limit(binary<DivOp>(x, divisor), a);
  }
  case 6: // bits of numbers below a power of two
    return limit(binary<AndOp>(x, y), 2 * std::max(a, b) + 1);
  default:
    return limit(binary<OrOp>(x, y), 2 * std::max(a, b) + 1);
  }
}
