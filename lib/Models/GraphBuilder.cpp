//===- GraphBuilder.cpp - writing a level 1 function ----------------------===//
//
// SPDX-License-Identifier: Apache-2.0
//
//===----------------------------------------------------------------------===//
#include "GraphBuilder.h"
#include <cmath>
#include <limits>

using namespace mlir;
using namespace pp;

InFlightDiagnostic pp::refuseConfig(MLIRContext &context, StringRef family) {
  return emitError(UnknownLoc::get(&context)) << family << " expects ";
}

LogicalResult pp::verifyDivides(MLIRContext &context, StringRef family,
                                ConfigSize parts, ConfigSize whole) {
  if (whole.value % parts.value == 0)
    return success();
  return refuseConfig(context, family)
         << parts.name << " that divide " << whole.name << ", got "
         << parts.value << " " << parts.name << " and " << whole.name << " "
         << whole.value;
}

LogicalResult pp::verifySizes(MLIRContext &context, StringRef family,
                              ArrayRef<ConfigSize> sizes) {
  for (const ConfigSize &size : sizes)
    if (size.value < 1 || size.value > size.most)
      return refuseConfig(context, family)
             << size.name << " from 1 to " << size.most << ", got "
             << size.value;
  return success();
}

GraphBuilder::GraphBuilder(MLIRContext &context, Type element)
    : builder(&context), loc(UnknownLoc::get(&context)), element(element),
      module(ModuleOp::create(loc)) {
  builder.setInsertionPointToEnd(module->getBody());
  main = func::FuncOp::create(builder, loc, "main",
                              builder.getFunctionType({}, {}));
  builder.setInsertionPointToStart(main.addEntryBlock());
}

void GraphBuilder::enter(StringRef part) {
  loc = NameLoc::get(builder.getStringAttr(part));
}

Value GraphBuilder::argument(StringRef name, ArrayRef<int64_t> shape, Role role,
                             Type element) {
  auto type = RankedTensorType::get(shape, element);
  arguments.emplace_back();
  setAttr(attrs::kRole, RoleAttr::get(builder.getContext(), role));
  setAttr(attrs::kName, builder.getStringAttr(name));
  return main.getBody().addArgument(type,
                                    NameLoc::get(builder.getStringAttr(name)));
}

void GraphBuilder::setAttr(StringRef name, Attribute value) {
  arguments.back().set(name, value);
}

Value GraphBuilder::param(StringRef name, ArrayRef<int64_t> shape,
                          InitAttr init, ArrayRef<int64_t> storedShape,
                          ArrayRef<StringRef> dims) {
  Value value = argument(name, shape, Role::Param, element);
  setAttr(attrs::kInit, init);
  if (!storedShape.empty())
    setAttr(attrs::kStoredShape, builder.getDenseI64ArrayAttr(storedShape));
  if (!dims.empty())
    setAttr(attrs::kDims, builder.getStrArrayAttr(dims));
  return value;
}

Value GraphBuilder::orderedParam(StringRef name, ArrayRef<int64_t> shape,
                                 InitAttr init, ArrayRef<int64_t> storedOrder) {
  Value value = param(name, shape, init);
  setAttr(attrs::kStoredOrder, builder.getDenseI64ArrayAttr(storedOrder));
  return value;
}

Value GraphBuilder::state(StringRef name, ArrayRef<int64_t> shape, Type element,
                          InitAttr init) {
  Value value = argument(name, shape, Role::State, element);
  setAttr(attrs::kInit, init);
  return value;
}

Value GraphBuilder::input(StringRef name, ArrayRef<int64_t> shape, Role role,
                          Type element, int64_t bound,
                          ArrayRef<StringRef> dims) {
  Value value = argument(name, shape, role, element);
  if (bound)
    setAttr(attrs::kBound, builder.getI64IntegerAttr(bound));
  if (!dims.empty())
    setAttr(attrs::kDims, builder.getStrArrayAttr(dims));
  return value;
}

Value GraphBuilder::state(StringRef name, Type element, InitAttr init) {
  Value value = argument(name, {}, Role::State, element);
  setAttr(attrs::kInit, init);
  return value;
}

InitAttr GraphBuilder::normal(double deviation) {
  return InitAttr::get(builder.getContext(), InitKind::Normal, 0.0, deviation);
}
InitAttr GraphBuilder::uniform(double low, double high) {
  return InitAttr::get(builder.getContext(), InitKind::Uniform, low, high);
}
InitAttr GraphBuilder::constant(double value) {
  return InitAttr::get(builder.getContext(), InitKind::Constant, value, 0.0);
}
InitAttr GraphBuilder::zeros() {
  return InitAttr::get(builder.getContext(), InitKind::Zeros, 0.0, 0.0);
}

ArrayRef<int64_t> GraphBuilder::shapeOf(Value value) const {
  return cast<RankedTensorType>(value.getType()).getShape();
}

Value GraphBuilder::splat(double value, ArrayRef<int64_t> shape, Type element) {
  auto scalar = RankedTensorType::get({}, element);
  Attribute number =
      isa<FloatType>(element)
          ? Attribute(builder.getFloatAttr(element, value))
          : Attribute(builder.getIntegerAttr(element, int64_t(value)));
  Value constant = ConstantOp::create(builder, loc, scalar,
                                      DenseElementsAttr::get(scalar, number));
  if (shape.empty())
    return constant;
  return BroadcastOp::create(builder, loc, scalar.clone(shape), constant,
                             ArrayRef<int64_t>());
}

Value GraphBuilder::splat(double value, Value like) {
  return splat(value, shapeOf(like),
               cast<RankedTensorType>(like.getType()).getElementType());
}

Value GraphBuilder::iota(ArrayRef<int64_t> shape, int64_t dim) {
  return IotaOp::create(builder, loc, RankedTensorType::get(shape, getI32()),
                        dim);
}

Value GraphBuilder::broadcast(Value value, ArrayRef<int64_t> dims, Value like) {
  auto elementType = cast<RankedTensorType>(value.getType()).getElementType();
  return BroadcastOp::create(builder, loc,
                             RankedTensorType::get(shapeOf(like), elementType),
                             value, dims);
}

Value GraphBuilder::addTrailing(Value value, Value bias) {
  int64_t rank = shapeOf(value).size(), biasRank = shapeOf(bias).size();
  return binary<AddOp>(
      value,
      broadcast(bias,
                llvm::to_vector(llvm::seq<int64_t>(rank - biasRank, rank)),
                value));
}

Value GraphBuilder::scale(Value value, double factor) {
  return binary<MulOp>(value, splat(factor, value));
}

Value GraphBuilder::reshape(Value value, ArrayRef<int64_t> shape) {
  auto type = cast<RankedTensorType>(value.getType());
  return ReshapeOp::create(builder, loc, type.clone(shape), value);
}

Value GraphBuilder::transpose(Value value, ArrayRef<int64_t> permutation) {
  auto type = cast<RankedTensorType>(value.getType());
  SmallVector<int64_t> shape;
  for (int64_t dim : permutation)
    shape.push_back(type.getDimSize(dim));
  return TransposeOp::create(builder, loc, type.clone(shape), value,
                             permutation);
}

Value GraphBuilder::slice(Value value, int64_t dim, int64_t start,
                          int64_t limit) {
  auto type = cast<RankedTensorType>(value.getType());
  SmallVector<int64_t> starts(type.getRank(), 0), limits(type.getShape()),
      strides(type.getRank(), 1);
  starts[dim] = start;
  limits[dim] = limit;
  SmallVector<int64_t> shape(type.getShape());
  shape[dim] = limit - start;
  return SliceOp::create(builder, loc, type.clone(shape), value, starts, limits,
                         strides);
}

Value GraphBuilder::gather(Value table, Value indices, int64_t batchDims) {
  auto type = cast<RankedTensorType>(table.getType());
  SmallVector<int64_t> shape(shapeOf(indices));
  llvm::append_range(shape, type.getShape().drop_front(batchDims + 1));
  return GatherOp::create(builder, loc, type.clone(shape), table, indices,
                          batchDims);
}

Value GraphBuilder::scatterAdd(Value table, Value indices, Value rows,
                               int64_t batchDims) {
  return ScatterAddOp::create(builder, loc, table.getType(), table, indices,
                              rows, batchDims);
}

Value GraphBuilder::topK(Value value, int64_t dim, int64_t count) {
  SmallVector<int64_t> shape(shapeOf(value));
  shape[dim] = count;
  return TopKOp::create(builder, loc, RankedTensorType::get(shape, getI32()),
                        value, dim);
}

Value GraphBuilder::cumsum(Value value, int64_t dim) {
  return CumsumOp::create(builder, loc, value.getType(), value, dim,
                          /*reverse=*/false);
}

Value GraphBuilder::compare(Direction direction, Value lhs, Value rhs) {
  auto bits = RankedTensorType::get(shapeOf(lhs), builder.getI1Type());
  return CompareOp::create(builder, loc, bits, direction, lhs, rhs);
}

Value GraphBuilder::select(Value predicate, Value onTrue, Value onFalse) {
  return SelectOp::create(builder, loc, onTrue.getType(), predicate, onTrue,
                          onFalse);
}

Value GraphBuilder::convert(Value value, Type element) {
  auto type = cast<RankedTensorType>(value.getType());
  if (type.getElementType() == element)
    return value;
  return ConvertOp::create(builder, loc, type.clone(element), value);
}

Value GraphBuilder::reduce(Reduction reduction, Value value,
                           ArrayRef<int64_t> dims) {
  auto type = cast<RankedTensorType>(value.getType());
  SmallVector<int64_t> shape;
  for (int64_t dim = 0; dim < type.getRank(); ++dim)
    if (!llvm::is_contained(dims, dim))
      shape.push_back(type.getDimSize(dim));
  return ReduceOp::create(builder, loc, type.clone(shape), reduction, value,
                          dims);
}

Value GraphBuilder::concatenate(ValueRange values, int64_t dim) {
  auto type = cast<RankedTensorType>(values.front().getType());
  SmallVector<int64_t> shape(type.getShape());
  shape[dim] = 0;
  for (Value value : values)
    shape[dim] += shapeOf(value)[dim];
  return ConcatenateOp::create(builder, loc, type.clone(shape), values, dim);
}

Value GraphBuilder::dot(Value lhs, Value rhs, ArrayRef<int64_t> lhsBatch,
                        ArrayRef<int64_t> rhsBatch,
                        ArrayRef<int64_t> lhsContract,
                        ArrayRef<int64_t> rhsContract, Type element) {
  SmallVector<int64_t> shape;
  for (int64_t dim : lhsBatch)
    shape.push_back(shapeOf(lhs)[dim]);
  auto appendFree = [&](Value value, ArrayRef<int64_t> batch,
                        ArrayRef<int64_t> contract) {
    for (auto [dim, size] : llvm::enumerate(shapeOf(value)))
      if (!llvm::is_contained(batch, static_cast<int64_t>(dim)) &&
          !llvm::is_contained(contract, static_cast<int64_t>(dim)))
        shape.push_back(size);
  };
  appendFree(lhs, lhsBatch, lhsContract);
  appendFree(rhs, rhsBatch, rhsContract);
  auto type = cast<RankedTensorType>(lhs.getType()).clone(shape);
  if (element)
    type = type.clone(element);
  return DotGeneralOp::create(builder, loc, type, lhs, rhs, lhsBatch, rhsBatch,
                              lhsContract, rhsContract);
}

Value GraphBuilder::name(Value value, StringRef name,
                         ArrayRef<StringRef> dims) {
  return NameOp::create(builder, loc, value.getType(), value, name,
                        builder.getStrArrayAttr(dims), /*gradient=*/false);
}

Value GraphBuilder::ifTraining(Value training, Value evaluation) {
  return IfTrainingOp::create(builder, loc, training.getType(), training,
                              evaluation);
}

/// Dimensions 0 .. n-1.
static SmallVector<int64_t> leading(int64_t n) {
  return llvm::to_vector(llvm::seq<int64_t>(n));
}

Value GraphBuilder::layerNorm(Value x, Value weight, Value bias, double eps) {
  int64_t last = shapeOf(x).size() - 1;
  double size = shapeOf(x)[last];
  auto mean = [&](Value value) {
    return scale(reduce(Reduction::Sum, value, last), 1.0 / size);
  };
  Value centred = binary<SubOp>(x, broadcast(mean(x), leading(last), x));
  Value variance = mean(binary<MulOp>(centred, centred));
  Value inverse = unary<RsqrtOp>(binary<AddOp>(variance, splat(eps, variance)));
  Value normal = binary<MulOp>(centred, broadcast(inverse, leading(last), x));
  return addTrailing(binary<MulOp>(normal, broadcast(weight, last, x)), bias);
}

Value GraphBuilder::geluTanh(Value x) {
  Value cube = binary<MulOp>(binary<MulOp>(x, x), x);
  Value inner = binary<AddOp>(x, scale(cube, 0.044715));
  Value tanh = unary<TanhOp>(scale(inner, std::sqrt(2.0 / M_PI)));
  return binary<MulOp>(scale(x, 0.5), binary<AddOp>(tanh, splat(1.0, tanh)));
}

Value GraphBuilder::softmax(Value x) {
  int64_t last = shapeOf(x).size() - 1;
  // The largest score only guards against overflow; it cancels in the result.
  Value largest = unary<StopGradientOp>(reduce(Reduction::Max, x, last));
  Value exp =
      unary<ExpOp>(binary<SubOp>(x, broadcast(largest, leading(last), x)));
  Value sum = reduce(Reduction::Sum, exp, last);
  return binary<DivOp>(exp, broadcast(sum, leading(last), x));
}

Value GraphBuilder::maskCausal(Value scores) {
  int64_t rank = shapeOf(scores).size();
  ArrayRef<int64_t> square = shapeOf(scores).take_back(2);
  Value query = iota(square, 0), key = iota(square, 1);
  Value visible = compare(Direction::LE, key, query);
  Value mask = broadcast(visible, {rank - 2, rank - 1}, scores);
  return select(mask, scores,
                splat(-std::numeric_limits<double>::infinity(), scores));
}

Value GraphBuilder::meanCrossEntropy(Value logits, Value labels) {
  int64_t last = shapeOf(logits).size() - 1;
  Value largest = unary<StopGradientOp>(reduce(Reduction::Max, logits, last));
  Value shifted =
      binary<SubOp>(logits, broadcast(largest, leading(last), logits));
  Value logSum =
      unary<LogOp>(reduce(Reduction::Sum, unary<ExpOp>(shifted), last));
  Value picked =
      GatherOp::create(builder, loc, logSum.getType(), shifted, labels, last);
  Value losses = binary<SubOp>(logSum, picked);
  double count = cast<RankedTensorType>(losses.getType()).getNumElements();
  return scale(reduce(Reduction::Sum, losses, leading(last)), 1.0 / count);
}

Value GraphBuilder::dropout(Value x, double probability) {
  if (probability == 0)
    return x;
  if (!seed) {
    // Drawn from the run's seed: another run gets other bits.
    seed = state("dropout.seed", builder.getI64Type(), uniform(0, 0x1p62));
    step = state("dropout.step", getI32(), zeros());
    result(Role::State, "dropout.step",
           binary<AddOp>(step, splat(1, {}, getI32())));
  }
  Value bits = RandomBitsOp::create(builder, loc,
                                    RankedTensorType::get(shapeOf(x), getI32()),
                                    seed, step, ValueRange(), draws++, nullptr);
  // Words are evenly spread over [-2^31, 2^31).
  double least = std::floor(probability * 0x1p32) - 0x1p31;
  Value isKept = compare(Direction::GE, bits, splat(least, bits));
  return ifTraining(
      select(isKept, scale(x, 1 / (1 - probability)), splat(0, x)), x);
}

void GraphBuilder::result(Role role, StringRef name, Value value) {
  results.push_back(value);
  ofResults.push_back(getResultAttrs(builder.getContext(), role, name));
}

OwningOpRef<ModuleOp> GraphBuilder::finish(Value loss) {
  results.insert(results.begin(), loss);
  ofResults.insert(ofResults.begin(),
                   getResultAttrs(builder.getContext(), Role::Loss, "loss"));
  func::ReturnOp::create(builder, loc, results);
  SmallVector<DictionaryAttr> ofArguments;
  for (NamedAttrList &attributes : arguments)
    ofArguments.push_back(attributes.getDictionary(builder.getContext()));
  setSignature(main, ofArguments, ofResults);
  return std::move(module);
}
