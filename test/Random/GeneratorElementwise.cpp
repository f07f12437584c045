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
  return chance(50) ? unary<SinOp>(x) : unary<CosOp>(x);
}

Value Generator::elementwise(Value x) {
  switch (below(7)) {
  case 0:
    return unary<TanhOp>(x);
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
  switch (below(4)) {
  case 0:
    return unary<LogOp>(positive(x));
  case 1:
    return limit(unary<SqrtOp>(positive(x)), 1.3);
  case 2:
    return limit(unary<RsqrtOp>(positive(x)), 1.5);
  default:
    return limit(binary<PowOp>(positive(x), unary<SinOp>(matching(x))), 2.0);
  }
}

Value Generator::combination(Value x) {
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
  if (options.isSmooth)
    return simple(x);
  Value y = matching(x);
  if (chance(30) && hasOwnDim(x)) { // by place
    Value place = make<IotaOp>(i32(shapeOf(x)), drawOwnDim(x));
    Value number = make<ConvertOp>(typeOf(x), place);
    return limit(binary<AddOp>(x, number),
                 magnitudeOf(x) + options.maxElements);
  }
  Value mask = make<CompareOp>(typeOf(x).clone(builder.getI1Type()),
                               Direction::GT, unary<SinOp>(x), y);
  return limit(make<SelectOp>(typeOf(x), mask, x, y),
               std::max(magnitudeOf(x), magnitudeOf(y)));
}
