//===- GeneratorElementwise.cpp - elementwise ops of random programs ------===//
//
// SPDX-License-Identifier: Apache-2.0
//
// Each op gets what it is well defined on: logarithms, roots and divisors
// positive values; and every result has a bound.
//
//===----------------------------------------------------------------------===//
#include "Generator.h"

using namespace mlir;
using namespace pp;
using namespace pp::testing;

Value Generator::simple(Value x) {
  if (isWhole(x))
    return isLogic(x) ? unary<NotOp>(x) : keep(unary<NegOp>(x), x);
  return chance(50) ? unary<SinOp>(x) : unary<CosOp>(x);
}

Value Generator::elementwise(Value x) {
  if (isWhole(x))
    return wholeOp(x);
  switch (below(10)) {
  case 9:
    return keep(make<NameOp>(typeOf(x), x,
                             builder.getStringAttr("v" + Twine(names++)),
                             ArrayAttr(), /*gradient=*/false),
                x);
  case 0:
    return unary<TanhOp>(x);
  case 7:
    return options.isSmooth ? simple(x) : unary<SignOp>(x);
  case 8:
    return options.stopsGradients ? keep(unary<StopGradientOp>(x), x)
                                  : simple(x);
  case 1:
    return unary<LogisticOp>(x);
  case 2:
    return unary<ErfOp>(x);
  case 3:
    return limit(unary<ExpOp>(unary<TanhOp>(x)), 2.8);
  case 4:
    return options.isSmooth ? simple(x) : keep(unary<AbsOp>(x), x);
  case 5:
    return keep(unary<NegOp>(x), x);
  default:
    return simple(x);
  }
}

Value Generator::positiveOnly(Value x) {
  if (isWhole(x))
    return wholeOp(x);
  switch (below(4)) {
  case 0:
    return chance(50) ? unary<LogOp>(positive(x)) : unary<Log1pOp>(positive(x));
  case 1:
    return limit(unary<SqrtOp>(positive(x)), 1.3);
  case 2:
    return limit(unary<RsqrtOp>(positive(x)), 1.5);
  default:
    return limit(binary<PowOp>(positive(x), unary<SinOp>(matching(x))), 2.0);
  }
}

Value Generator::combination(Value x) {
  if (isWhole(x))
    return wholePair(x);
  Value y = matching(x);
  double a = magnitudeOf(x), b = magnitudeOf(y);
  switch (below(options.isSmooth ? 4 : 6)) {
  case 0:
    return limit(binary<AddOp>(x, y), a + b);
  case 1:
    return limit(binary<SubOp>(x, y), a + b);
  case 2:
    return limit(binary<MulOp>(x, y), a * b);
  case 3:
    return limit(binary<DivOp>(unary<SinOp>(x), positive(y)), 2.0);
  case 4:
    return limit(binary<MaxOp>(x, y), std::max(a, b));
  default:
    return limit(binary<MinOp>(x, y), std::max(a, b));
  }
}

Value Generator::choice(Value x) {
  if (options.isSmooth || isLogic(x))
    return simple(x);
  Value y = matching(x);
  if (chance(30) && hasOwnDim(x)) { // by place
    Value place = make<IotaOp>(i32(shapeOf(x)), drawOwnDim(x));
    Value number = make<ConvertOp>(typeOf(x), place);
    return limit(binary<AddOp>(x, number),
                 magnitudeOf(x) + options.maxElements);
  }
  Value mask = make<CompareOp>(typeOf(x).clone(builder.getI1Type()),
                               Direction::GT, small(x), y);
  return limit(make<SelectOp>(typeOf(x), mask, x, y),
               std::max(magnitudeOf(x), magnitudeOf(y)));
}

/// A choice by two comparisons.
Value Generator::boolean(Value x) {
  if (options.isSmooth)
    return simple(x);
  RankedTensorType bits = typeOf(x).clone(builder.getI1Type());
  Value a =
      make<CompareOp>(bits, Direction::GT, simple(x), fill(typeOf(x), -0.3));
  Value b = make<CompareOp>(bits, Direction::LT, simple(matching(x)),
                            fill(typeOf(x), 0.4));
  if (options.mixesTypes && chance(40))
    return a;
  Value both = chance(30)   ? make<NotOp>(bits, a)
               : chance(50) ? make<AndOp>(bits, a, b)
                            : make<OrOp>(bits, a, b);
  return keep(make<SelectOp>(typeOf(x), both, x, fill(typeOf(x), 0.0)), x);
}

/// Times a literal: one number, or one for each element.
Value Generator::literal(Value x) {
  const int64_t count = typeOf(x).getNumElements();
  if (count == 0)
    return simple(x);
  SmallVector<double> numbers;
  for (int64_t i = 0, end = !options.hasLiterals || chance(50) ? 1 : count;
       i < end; ++i)
    numbers.push_back(isWhole(x) ? double(below(3)) - 1
                                 : below(2000) / 1000.0 - 1);
  auto type = f64(shapeOf(x));
  Value factor =
      inType(make<ConstantOp>(
                 type, DenseElementsAttr::get(type, ArrayRef<double>(numbers))),
             typeOf(x).getElementType());
  return isLogic(x) ? binary<OrOp>(x, factor)
                    : keep(binary<MulOp>(x, factor), x);
}

/// Half of the elements, as dropout leaves them.
Value Generator::noise(Value x) {
  Value seed = scalar(builder.getI64Type(), 1 + below(3));
  Value step = scalar(builder.getI32Type(), below(3));
  Value drawn = make<RandomBitsOp>(i32(shapeOf(x)), seed, step, ValueRange(),
                                   streams++, DenseI64ArrayAttr());
  Value zero = make<BroadcastOp>(i32(shapeOf(x)),
                                 scalar(builder.getI32Type(), 0), Sizes());
  Value isKept = make<CompareOp>(typeOf(x).clone(builder.getI1Type()),
                                 Direction::LT, drawn, zero);
  return keep(make<SelectOp>(typeOf(x), isKept, x, fill(typeOf(x), 0.0)), x);
}
