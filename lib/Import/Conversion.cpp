//===- Conversion.cpp - from StableHLO to a graph of pp -------------------===//
//
// SPDX-License-Identifier: Apache-2.0
//
//===----------------------------------------------------------------------===//
#include "Conversion.h"
#include "SourceNames.h"
#include "pp/IR/Model.h"
#include "llvm/ADT/ScopeExit.h"

using namespace mlir;
using namespace pp;
using namespace pp::hlo;

/// Calls in calls; deeper ones are no model.
static constexpr size_t kMostCalls = 200;
/// Ops of a model, loops unrolled, and those that are looked at for them.
static constexpr int64_t kMostOps = 2'000'000;

//===----------------------------------------------------------------------===//
// Types
//===----------------------------------------------------------------------===//

/// Null: pp has none.
static Type convertElement(Type element) {
  MLIRContext *context = element.getContext();
  if (isa<Float64Type, Float32Type, BFloat16Type, Float16Type>(element))
    return element;
  auto integer = dyn_cast<IntegerType>(element);
  if (!integer || !llvm::is_contained({1, 8, 32, 64}, integer.getWidth()))
    return {};
  return IntegerType::get(context, integer.getWidth());
}

FailureOr<RankedTensorType> pp::hlo::convertType(Type type, Location loc) {
  auto tensor = dyn_cast<RankedTensorType>(type);
  if (!tensor)
    return emitError(loc) << "expects tensors of known rank, got " << type;
  if (!tensor.hasStaticShape())
    return emitError(loc) << "expects static shapes, got " << type
                          << "; export the model with a fixed batch";
  Type element = convertElement(tensor.getElementType());
  if (!element)
    return emitError(loc) << "expects elements f64, f32, bf16, f16 or integers "
                             "of 1, 8, 32 or 64 bits, got "
                          << tensor.getElementType();
  return RankedTensorType::get(tensor.getShape(), element);
}

LogicalResult pp::hlo::verifySigned(HloOp op) {
  for (Type type : op->getOperandTypes())
    if (cast<RankedTensorType>(type).getElementType().isUnsignedInteger())
      return op->emitError("cannot import ")
             << op->getName() << " of unsigned integers, got " << type
             << "; convert them to signed ones";
  return success();
}

RankedTensorType Conversion::resultType(HloOp op, unsigned index) {
  RankedTensorType type = op.getResultType(index);
  return RankedTensorType::get(type.getShape(),
                               convertElement(type.getElementType()));
}

LogicalResult Conversion::checkTypes(HloOp op) {
  for (Value operand : op->getOperands())
    if (!map.contains(operand))
      return op->emitOpError("expects operands that were computed before");
  return success(llvm::all_of(op->getResultTypes(), [&](Type type) {
    return succeeded(convertType(type, loc));
  }));
}

//===----------------------------------------------------------------------===//
// Making ops
//===----------------------------------------------------------------------===//

Conversion::Conversion(ModuleOp source, Block &target, Shardings &shardings,
                       bool marksGradients)
    : symbols(source), builder(source.getContext()), loc(source.getLoc()),
      callPlace(UnknownLoc::get(source.getContext())), shardings(shardings),
      marksGradients(marksGradients) {
  builder.setInsertionPointToEnd(&target);
  addElementwise(handlers);
  addBits(handlers);
  addShapes(handlers);
  addReductions(handlers);
  addGathers(handlers);
  addScatters(handlers);
  addBoxes(handlers);
  addSorts(handlers);
  addContractions(handlers);
  addControl(handlers);
}

Value Conversion::check(Operation *op) {
  if (isOfGradient)
    setKind(op, Kind::InputGradient);
  return succeeded(verify(op)) ? op->getResult(0) : Value();
}

Values Conversion::operands(HloOp op) {
  return llvm::map_to_vector(op->getOperands(),
                             [&](Value value) { return map.lookup(value); });
}

/// The elements of a small integer literal, one if all are equal.
static Ints readElements(DenseElementsAttr value) {
  constexpr int64_t most = 64;
  auto integers = dyn_cast<DenseIntElementsAttr>(value);
  if (!integers || (!value.isSplat() && value.getNumElements() > most))
    return {};
  const bool isBool = integers.getElementType().isInteger(1);
  auto read = [&](const APInt &number) {
    return isBool ? int64_t(number.getZExtValue()) : number.getSExtValue();
  };
  if (value.isSplat())
    return {read(integers.getSplatValue<APInt>())};
  return llvm::map_to_vector(integers.getValues<APInt>(), read);
}

Value Conversion::constant(DenseElementsAttr value) {
  auto type = cast<RankedTensorType>(value.getType());
  auto scalar =
      value.isSplat() ? RankedTensorType::get({}, type.getElementType()) : type;
  Value made =
      make<ConstantOp>(scalar, value.isSplat() ? value.reshape(scalar) : value);
  if (Ints elements = readElements(value); !elements.empty() && made)
    numbers[made] = elements;
  return value.isSplat() ? broadcast(made, {}, type.getShape()) : made;
}

Value Conversion::splat(double value, RankedTensorType type) {
  Type element = type.getElementType();
  if (!isa<FloatType>(element))
    return splatInt(int64_t(value), type);
  return constant(
      DenseElementsAttr::get(type, builder.getFloatAttr(element, value)));
}

Value Conversion::splatInt(int64_t value, RankedTensorType type) {
  return constant(DenseElementsAttr::get(
      type, builder.getIntegerAttr(type.getElementType(), value)));
}

Value Conversion::reshape(Value value, ArrayRef<int64_t> shape) {
  if (!value)
    return {};
  const Ints elements(knownElements(value));
  while (auto before = value.getDefiningOp<ReshapeOp>())
    value = before.getOperand();
  if (shapeOf(value) == shape)
    return value;
  Value made = make<ReshapeOp>(typeOf(value).clone(shape), value);
  if (!elements.empty() && made)
    numbers[made] = elements;
  return made;
}

Value Conversion::transpose(Value value, ArrayRef<int64_t> permutation) {
  if (!value ||
      llvm::equal(permutation, llvm::seq<int64_t>(0, permutation.size())))
    return value;
  SmallVector<int64_t> shape;
  for (int64_t dim : permutation)
    shape.push_back(
        dim >= 0 && dim < typeOf(value).getRank() ? shapeOf(value)[dim] : 0);
  return make<TransposeOp>(typeOf(value).clone(shape), value, permutation);
}

Value Conversion::convert(Value value, Type element) {
  if (!value || typeOf(value).getElementType() == element)
    return value;
  return make<ConvertOp>(RankedTensorType::get(shapeOf(value), element), value);
}

Value Conversion::slice(Value value, ArrayRef<int64_t> starts,
                        ArrayRef<int64_t> limits) {
  if (!value)
    return {};
  SmallVector<int64_t> shape;
  for (auto [start, limit] : llvm::zip(starts, limits))
    shape.push_back(std::max<int64_t>(limit - start, 0));
  if (shapeOf(value) == ArrayRef(shape))
    return value;
  return make<SliceOp>(typeOf(value).clone(shape), value, starts, limits,
                       SmallVector<int64_t>(shape.size(), 1));
}

/// Dimensions in the order of the places that they get.
static SmallVector<int64_t> sortDims(ArrayRef<int64_t> dims) {
  auto order = llvm::to_vector(llvm::seq<int64_t>(0, dims.size()));
  llvm::stable_sort(order,
                    [&](int64_t a, int64_t b) { return dims[a] < dims[b]; });
  return order;
}

Value Conversion::broadcast(Value value, ArrayRef<int64_t> dims,
                            ArrayRef<int64_t> shape) {
  if (!value)
    return {};
  SmallVector<int64_t> order = sortDims(dims), kept, places;
  Value sorted = transpose(value, order);
  if (!sorted)
    return {};
  for (auto [dim, size] : llvm::zip(order, shapeOf(sorted))) {
    const int64_t place = dims[dim];
    if (place < 0 || place >= int64_t(shape.size()))
      return emitError(loc, "expects dimensions of the result, got ") << place,
             Value();
    if (size == 1 && shape[place] != 1)
      continue; // is repeated
    kept.push_back(size);
    places.push_back(place);
  }
  Value dropped = reshape(sorted, kept);
  if (!dropped || shapeOf(dropped) == shape)
    return dropped;
  Value made;
  if (typeOf(dropped).getNumElements() ==
      RankedTensorType::get(shape, builder.getI1Type()).getNumElements())
    made = reshape(dropped, shape);
  else
    made = make<BroadcastOp>(typeOf(dropped).clone(shape), dropped, places);
  if (std::optional<int64_t> number = known(value); number && made)
    numbers[made] = {*number};
  return made;
}

Value Conversion::compare(Direction direction, Value lhs, Value rhs) {
  if (!lhs || !rhs)
    return {};
  return make<CompareOp>(
      RankedTensorType::get(shapeOf(lhs), builder.getI1Type()), direction, lhs,
      rhs);
}

Value Conversion::select(Value predicate, Value onTrue, Value onFalse) {
  if (!predicate || !onTrue || !onFalse)
    return {};
  if (std::optional<int64_t> number = known(predicate))
    return *number ? onTrue : onFalse;
  if (typeOf(predicate).getRank() == 0)
    predicate = broadcast(predicate, {}, shapeOf(onTrue));
  return make<SelectOp>(onTrue.getType(), predicate, onTrue, onFalse);
}

ArrayRef<int64_t> Conversion::knownElements(Value value) const {
  auto found = numbers.find(value);
  return found == numbers.end() ? ArrayRef<int64_t>()
                                : ArrayRef<int64_t>(found->second);
}

std::optional<int64_t> Conversion::known(Value value) const {
  ArrayRef<int64_t> elements = knownElements(value);
  if (elements.empty() || !llvm::all_equal(elements))
    return std::nullopt;
  return elements.front();
}

//===----------------------------------------------------------------------===//
// Walking
//===----------------------------------------------------------------------===//

Location Conversion::locate(Operation *op) const {
  const std::string name = joinNames(path, findPart(op->getLoc(), iterations));
  Location place = findPlace(op->getLoc());
  if (isa<UnknownLoc>(place))
    place = callPlace;
  return name.empty() ? place
                      : Location(NameLoc::get(
                            StringAttr::get(op->getContext(), name), place));
}

/// What to do about an op that pp has not.
static StringRef advise(StringRef name) {
  static constexpr std::pair<StringLiteral, StringLiteral> kAdvice[] = {
      {"rng_bit_generator", "compute random numbers outside of the loss, as an "
                            "input, or export the loss without dropout"},
      {"rng", "compute random numbers outside of the loss, as an input"},
      {"all_reduce", "export the loss of one device, without shard_map"},
      {"all_gather", "export the loss of one device, without shard_map"},
      {"reduce_scatter", "export the loss of one device, without shard_map"},
      {"collective_permute",
       "export the loss of one device, without shard_map"},
      {"all_to_all", "export the loss of one device, without shard_map"},
      {"sdy.manual_computation",
       "export the loss of one device, without shard_map"}};
  for (auto [op, advice] : kAdvice)
    if (op == name)
      return advice;
  return "pp has no op for it; write it with others";
}

LogicalResult Conversion::callHandler(HloOp op, Values &results) {
  auto found = handlers.find(op.getName());
  if (found == handlers.end())
    return op->emitError("cannot import ")
           << op->getName() << ": " << advise(op.getName());
  const Handler &handler = found->second;
  if (handler.operands >= 0 &&
      op->getNumOperands() != unsigned(handler.operands))
    return op->emitOpError("expects ")
           << handler.operands << " operands, got " << op->getNumOperands();
  if (handler.many)
    return handler.many(op, *this, results);
  if (op->getNumResults() != 1)
    return op->emitOpError("expects one result, got ") << op->getNumResults();
  results.push_back(handler.one(op, *this));
  return success(bool(results.back()));
}

LogicalResult Conversion::convertOp(HloOp op) {
  loc = locate(op);
  // Calls may pass thousands of values on.
  visited += 1 + op->getNumOperands() / 8;
  if (visited > kMostOps)
    return op->emitError("expects a model of at most ")
           << kMostOps << " ops, loops unrolled";
  const bool isAround = isOfGradient;
  isOfGradient |= marksGradients && isInGradient(op->getLoc());
  const auto leave = llvm::make_scope_exit([&] { isOfGradient = isAround; });
  if (failed(checkTypes(op)))
    return failure();
  Values results;
  if (Value folded = fold(op))
    results.push_back(folded);
  else if (failed(callHandler(op, results)))
    return failure();
  if (results.size() != op->getNumResults())
    return op->emitOpError("expects ")
           << results.size() << " results, got " << op->getNumResults();
  for (auto [index, result] : llvm::enumerate(results)) {
    if (result.getType() != resultType(op, index))
      return op->emitOpError("expects result ")
             << index << " of type " << result.getType() << ", got "
             << op.getResultType(index);
    map[op->getResult(index)] = mark(op, result);
  }
  return success();
}

Value Conversion::mark(Operation *op, Value value) {
  if ((stopsGradient || isInScope(op->getLoc(), kStopGradient)) &&
      isa<FloatType>(typeOf(value).getElementType()))
    return make<StopGradientOp>(value.getType(), value);
  return value;
}

LogicalResult Conversion::convertBlock(Block &block, Values &results) {
  for (Operation &op : block) {
    const StringRef name = op.getName().getStringRef();
    if (name != "func.return" && name != "stablehlo.return" &&
        name != "sdy.return") {
      if (failed(convertOp(&op)))
        return failure();
      continue;
    }
    loc = locate(&op);
    if (failed(checkTypes(&op)))
      return failure();
    results = operands(&op);
    return success();
  }
  return emitError(loc, "expects a block that ends with a return");
}

/// The only block of a function or region; null after an error.
static Block *getOnlyBlock(Region &region, ArrayRef<Value> arguments,
                           Location loc) {
  if (!region.hasOneBlock() ||
      region.front().getNumArguments() != arguments.size()) {
    emitError(loc, "expects a region of one block with ")
        << arguments.size() << " arguments";
    return nullptr;
  }
  return &region.front();
}

LogicalResult Conversion::inlineRegion(Region &region,
                                       ArrayRef<Value> arguments,
                                       std::optional<int64_t> index,
                                       Values &results) {
  Block *block = getOnlyBlock(region, arguments, loc);
  if (!block)
    return failure();
  for (auto [argument, value] :
       llvm::zip_equal(block->getArguments(), arguments)) {
    FailureOr<RankedTensorType> type = convertType(argument.getType(), loc);
    if (failed(type))
      return failure();
    if (*type != value.getType())
      return emitError(loc, "expects an argument of type ")
             << value.getType() << ", got " << argument.getType();
    map[argument] = value;
  }
  if (index) {
    iterations.push_back(*index);
    ++loops;
  }
  const Location around = loc;
  const LogicalResult done = convertBlock(*block, results);
  loc = around;
  if (index) {
    iterations.pop_back();
    --loops;
  }
  return done;
}

LogicalResult Conversion::inlineCall(func::FuncOp function,
                                     ArrayRef<Value> arguments, Operation *call,
                                     Values &results) {
  if (function.isExternal())
    return emitError(loc, "expects a function with a body, got @")
           << function.getName();
  if (llvm::is_contained(callers, function) || callers.size() > kMostCalls)
    return emitError(loc, "expects no recursion, got a call of @")
           << function.getName();
  callers.push_back(function);
  const std::string pathAround = path;
  const Location placeAround = callPlace;
  const bool stopsAround = stopsGradient;
  if (call) {
    path = joinNames(path, findPart(call->getLoc(), iterations));
    callPlace = findPlace(loc);
    stopsGradient |= isInScope(call->getLoc(), kStopGradient);
  }
  SmallVector<int64_t> iterationsAround;
  std::swap(iterations, iterationsAround);
  const LogicalResult done =
      inlineRegion(function.getBody(), arguments, std::nullopt, results);
  std::swap(iterations, iterationsAround);
  path = pathAround;
  callPlace = placeAround;
  stopsGradient = stopsAround;
  callers.pop_back();
  return done;
}

LogicalResult Conversion::inlineCall(HloOp op, StringRef name,
                                     Values &results) {
  auto function = symbols.lookup<func::FuncOp>(name);
  if (!function)
    return op->emitError("expects a function of this module, got @") << name;
  return inlineCall(function, operands(op), op, results);
}
