//===- Values.cpp - small facts about values and elements -----------------===//
//
// SPDX-License-Identifier: Apache-2.0
//
//===----------------------------------------------------------------------===//
#include "pp/IR/Values.h"
#include "mlir/IR/Builders.h"

using namespace mlir;
using namespace pp;

bool pp::isTensor(Type type) {
  auto tensor = dyn_cast<RankedTensorType>(type);
  if (!tensor || !tensor.hasStaticShape())
    return false;
  Type element = tensor.getElementType();
  return isa<Float64Type, Float32Type, BFloat16Type, Float16Type>(element) ||
         element.isSignlessInteger(64) || element.isSignlessInteger(32) ||
         element.isSignlessInteger(8) || element.isSignlessInteger(1);
}

bool pp::isNarrowFloat(Type element) {
  auto type = dyn_cast<FloatType>(element);
  return type && type.getWidth() < 32;
}

bool pp::isExact(Type from, Type to) {
  if (from.isInteger(1))
    return true;
  auto toFloat = dyn_cast<FloatType>(to);
  if (auto fromFloat = dyn_cast<FloatType>(from))
    return toFloat && APFloat::isRepresentableBy(fromFloat.getFloatSemantics(),
                                                 toFloat.getFloatSemantics());
  const unsigned width = from.getIntOrFloatBitWidth();
  return toFloat
             ? width <= APFloat::semanticsPrecision(toFloat.getFloatSemantics())
             : width <= to.getIntOrFloatBitWidth();
}

bool pp::keepsFloats(Operation *op, Type element) {
  auto convert = dyn_cast_or_null<ConvertOp>(op);
  return convert && isa<FloatType>(element) &&
         llvm::all_of(ValueRange{convert.getOperand(), convert.getResult()},
                      [&](Value value) {
                        Type its = ranked(value).getElementType();
                        return isa<FloatType>(its) && isExact(element, its);
                      });
}

static bool isFloat(Value value) {
  return isa<FloatType>(ranked(value).getElementType());
}

std::optional<double> pp::getSplat(Value value) {
  SmallVector<FloatType> types; ///< of converts, the last first
  while (Operation *op = value.getDefiningOp()) {
    if (auto convert = dyn_cast<ConvertOp>(op);
        convert && isFloat(value) && isFloat(convert.getOperand()))
      types.push_back(cast<FloatType>(ranked(value).getElementType()));
    else if (!isa<BroadcastOp, ReshapeOp, TransposeOp>(op))
      break;
    value = op->getOperand(0);
  }
  auto constant = value.getDefiningOp<ConstantOp>();
  auto literal = constant ? dyn_cast<SplatElementsAttr>(constant.getValue())
                          : SplatElementsAttr();
  if (!literal)
    return std::nullopt;
  if (isa<FloatType>(literal.getElementType())) {
    APFloat number = literal.getSplatValue<APFloat>();
    for (FloatType type : llvm::reverse(types)) {
      bool losesInfo;
      number.convert(type.getFloatSemantics(), APFloat::rmNearestTiesToEven,
                     &losesInfo);
    }
    return number.convertToDouble();
  }
  APInt integer = literal.getSplatValue<APInt>();
  return literal.getElementType().isInteger(1)
             ? static_cast<double>(integer.getBoolValue())
             : static_cast<double>(integer.getSExtValue());
}

TypedAttr pp::getIdentity(Reduction reduction, Type element) {
  Builder b(element.getContext());
  if (auto type = dyn_cast<FloatType>(element)) {
    const llvm::fltSemantics &semantics = type.getFloatSemantics();
    switch (reduction) {
    case Reduction::Max:
      return b.getFloatAttr(type,
                            APFloat::getInf(semantics, /*Negative=*/true));
    case Reduction::Min:
      return b.getFloatAttr(type, APFloat::getInf(semantics));
    case Reduction::Prod:
      return b.getFloatAttr(type, 1.0);
    default:
      return b.getFloatAttr(type, 0.0);
    }
  }
  unsigned width = element.getIntOrFloatBitWidth();
  switch (reduction) {
  case Reduction::Max:
    return b.getIntegerAttr(
        element, width == 1 ? APInt(1, 0) : APInt::getSignedMinValue(width));
  case Reduction::Min:
    return b.getIntegerAttr(
        element, width == 1 ? APInt(1, 1) : APInt::getSignedMaxValue(width));
  case Reduction::Prod:
    return b.getIntegerAttr(element, APInt(width, 1));
  case Reduction::And:
    return b.getIntegerAttr(element, APInt::getAllOnes(width));
  default:
    return b.getIntegerAttr(element, APInt(width, 0));
  }
}
