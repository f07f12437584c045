//===- Gradients.cpp - the vector-Jacobian product of every op ------------===//
//
// SPDX-License-Identifier: Apache-2.0
//
// Registration, and the building blocks of the three tables beside this file.
//
//===----------------------------------------------------------------------===//
#include "GradientModels.h"
#include "pp/IR/Aspects.h"

using namespace mlir;
using namespace pp;

bool Vjp::needs(unsigned operand) const {
  return needed.test(operand) &&
         isa<FloatType>(ranked(op->getOperand(operand)).getElementType());
}

Value Vjp::compare(Direction direction, Value x, Value y) {
  return make<CompareOp>(ranked(x).clone(IntegerType::get(op->getContext(), 1)),
                         direction, x, y);
}

Value Vjp::select(Value mask, Value x, Value y) {
  return make<SelectOp>(x.getType(), mask, x, y);
}

Value Vjp::convert(Value x, Type element) {
  if (ranked(x).getElementType() == element)
    return x;
  return make<ConvertOp>(ranked(x).clone(element), x);
}

Value Vjp::reduce(Reduction reduction, Value x, ArrayRef<int64_t> dims) {
  if (dims.empty())
    return x;
  SmallVector<int64_t> shape;
  for (auto [dim, size] : llvm::enumerate(ranked(x).getShape()))
    if (!llvm::is_contained(dims, static_cast<int64_t>(dim)))
      shape.push_back(size);
  return make<ReduceOp>(ranked(x).clone(shape), reduction, x, dims);
}

Value Vjp::broadcast(Value x, ArrayRef<int64_t> dims, Type type) {
  return x.getType() == type ? x : make<BroadcastOp>(type, x, dims);
}

Value Vjp::transpose(Value x, ArrayRef<int64_t> permutation) {
  if (llvm::equal(permutation, llvm::seq<int64_t>(permutation.size())))
    return x;
  SmallVector<int64_t> shape;
  for (int64_t dim : permutation)
    shape.push_back(ranked(x).getDimSize(dim));
  return make<TransposeOp>(ranked(x).clone(shape), x, permutation);
}

Value Vjp::scalar(double value, Type element) {
  auto type = RankedTensorType::get({}, element);
  Attribute literal;
  if (auto floatType = dyn_cast<FloatType>(element))
    literal = FloatAttr::get(floatType, value);
  else
    literal = IntegerAttr::get(element, static_cast<int64_t>(value));
  return make<ConstantOp>(type, DenseElementsAttr::get(type, literal));
}

Value Vjp::fill(double value, Type type) {
  return broadcast(scalar(value, cast<RankedTensorType>(type).getElementType()),
                   {}, type);
}

void pp::registerGradientModels(DialectRegistry &registry) {
  registry.addExtension(+[](MLIRContext *context, PPDialect *) {
    registerElementwiseGradients(context);
    registerShapeGradients(context);
    registerContractionGradients(context);
    registerWindowGradients(context);
  });
}
