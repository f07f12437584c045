//===- HostTensor.cpp - a tensor of the reference interpreter -------------===//
//
// SPDX-License-Identifier: Apache-2.0
//
// Conversions between literals, doubles and the values of an element type.
//
//===----------------------------------------------------------------------===//
#include "pp/Reference/HostTensor.h"
#include <cmath>

using namespace mlir;
using namespace pp::reference;

namespace {

/// `value` with `precision` significant bits, rounded to nearest even, where
/// exponents (as of frexp) end at `minExponent` and `maxExponent`.
double roundToPrecision(double value, int precision, int minExponent,
                        int maxExponent) {
  if (!std::isfinite(value) || value == 0.0)
    return value;
  int exponent;
  std::frexp(value, &exponent);
  double ulp = std::ldexp(1.0, std::max(exponent, minExponent) - precision);
  double rounded = std::nearbyint(value / ulp) * ulp;
  if (std::fabs(rounded) >= std::ldexp(1.0, maxExponent))
    return std::copysign(INFINITY, value);
  return rounded;
}

} // namespace

double pp::reference::wrapTo(IntegerType element, int64_t value) {
  const unsigned width = element.getWidth();
  return width == 1 ? value != 0 : llvm::SignExtend64(uint64_t(value), width);
}

double pp::reference::roundTo(Type element, double value) {
  if (element.isF32())
    return static_cast<float>(value);
  if (element.isBF16())
    return roundToPrecision(value, 8, -125, 128);
  if (element.isF16())
    return roundToPrecision(value, 11, -13, 16);
  // A double may stand for an i64 that it cannot hold, such as the largest.
  auto integer = dyn_cast<IntegerType>(element);
  if (integer && integer.getWidth() < 64)
    return wrapTo(integer, static_cast<int64_t>(value));
  return value;
}

void HostTensor::roundToElement() {
  if (elementType().isF64() || elementType().isInteger(1))
    return;
  for (double &value : values)
    value = roundTo(elementType(), value);
}

FailureOr<HostTensor> HostTensor::fromAttribute(ElementsAttr literal) {
  auto dense = dyn_cast<DenseElementsAttr>(literal);
  auto type = dyn_cast<RankedTensorType>(literal.getType());
  if (!dense || !type)
    return failure();
  HostTensor result(type);
  if (isa<FloatType>(type.getElementType())) {
    for (auto [slot, value] :
         llvm::zip_equal(result.values, dense.getValues<APFloat>()))
      slot = value.convertToDouble();
    return result;
  }
  bool isBool = type.getElementType().isInteger(1);
  for (auto [slot, value] :
       llvm::zip_equal(result.values, dense.getValues<APInt>()))
    slot = isBool ? double(value.getBoolValue()) : double(value.getSExtValue());
  return result;
}

DenseElementsAttr HostTensor::toAttribute() const {
  SmallVector<Attribute> elements;
  elements.reserve(values.size());
  Type element = elementType();
  for (double value : values) {
    if (auto floatType = dyn_cast<FloatType>(element))
      elements.push_back(FloatAttr::get(floatType, value));
    else if (element.isInteger(1))
      elements.push_back(BoolAttr::get(element.getContext(), value != 0.0));
    else
      elements.push_back(
          IntegerAttr::get(element, static_cast<int64_t>(value)));
  }
  return DenseElementsAttr::get(type, elements);
}
