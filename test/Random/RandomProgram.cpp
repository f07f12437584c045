//===- RandomProgram.cpp - small random training graphs -------------------===//
//
// SPDX-License-Identifier: Apache-2.0
//
// Grows a pool of values: each step applies a random op to random members. What
// depends on the batch keeps its leading dimension (see RandomProgram.h); the
// other dimensions of a value are called its own.
//
//===----------------------------------------------------------------------===//
#include "Generator.h"

using namespace mlir;
using namespace pp;
using namespace pp::testing;

/// With a batch, every second pick depends on it, so that there is work for a
/// few stages.
Value Generator::pick() {
  bool anyIsFine = !options.batch || ++picks % 2;
  Value value = pool[below(pool.size())];
  while (!anyIsFine && !batched.contains(value))
    value = pool[below(pool.size())];
  return value;
}

Value Generator::scalar(Type element, double number) {
  auto type = RankedTensorType::get({}, element);
  Attribute literal = isa<FloatType>(element)
                          ? Attribute(builder.getFloatAttr(element, number))
                          : Attribute(builder.getIntegerAttr(element, number));
  return make<ConstantOp>(type, DenseElementsAttr::get(type, literal));
}

Value Generator::fill(RankedTensorType type, double number) {
  for (auto [other, value] : fills)
    if (other == number && value.getType() == type && chance(50))
      return value;
  Value value = make<BroadcastOp>(type, scalar(type.getElementType(), number),
                                  ArrayRef<int64_t>());
  fills.push_back({number, value});
  return value;
}

Value Generator::matching(Value like) {
  SmallVector<Value> same, smaller;
  for (Value value : pool) {
    if (value.getType() == like.getType() && value != like &&
        batched.contains(value) == batched.contains(like))
      same.push_back(value);
    if (!batched.contains(value) && rankOf(value) > 0 &&
        getElementTypeOrSelf(value) == getElementTypeOrSelf(like) &&
        rankOf(value) < rankOf(like) &&
        ArrayRef<int64_t>(shapeOf(like)).take_back(rankOf(value)) ==
            ArrayRef<int64_t>(shapeOf(value)))
      smaller.push_back(value);
  }
  if (!same.empty() && chance(75))
    return same[below(same.size())];
  if (smaller.empty())
    return fill(typeOf(like), chance(30)      ? 0.0
                              : isWhole(like) ? below(9) - 4.0
                                              : below(2000) / 1000.0 - 1);
  Value bias = smaller[below(smaller.size())];
  Value &known = broadcasts[{bias, like.getType()}];
  if (!known || chance(50))
    known = keep(
        make<BroadcastOp>(typeOf(like), bias,
                          range(rankOf(like) - rankOf(bias), rankOf(like))),
        bias);
  return known;
}

/// A parameter as it is, or behind a narrower type, in which something may be
/// done to it.
Value Generator::narrowed(Value parameter) {
  if (chance(30))
    return parameter;
  RankedTensorType narrow = typeOf(parameter).clone(builder.getF32Type());
  Value value = make<ConvertOp>(narrow, parameter);
  if (rankOf(parameter) == 2 && chance(40)) {
    Sizes turned = {narrow.getDimSize(1), narrow.getDimSize(0)};
    narrow = narrow.clone(turned);
    value = make<TransposeOp>(narrow, value, Sizes{1, 0});
  }
  if (chance(40))
    value = unary<NegOp>(value);
  if (chance(20))
    value = binary<AddOp>(value, value);
  return make<ConvertOp>(narrow.clone(builder.getF64Type()), value);
}

void Generator::addArgument(RankedTensorType type, Role role,
                            const Twine &name) {
  unsigned index = main.getNumArguments();
  (void)main.insertArgument(index, type, {}, loc);
  MLIRContext *context = main.getContext();
  main.setArgAttr(index, attrs::kRole, RoleAttr::get(context, role));
  main.setArgAttr(index, attrs::kName, builder.getStringAttr(name));
  Value argument = main.getArgument(index);
  if (role == Role::Param || role == Role::State)
    main.setArgAttr(index, attrs::kInit,
                    InitAttr::get(context, InitKind::Normal, 0.0, 1.0));
  else if (options.batch)
    batched.insert(argument);
}

/// Of the last argument.
void Generator::nameDims(ArrayRef<StringRef> dims) {
  if (options.namesDims)
    main.setArgAttr(main.getNumArguments() - 1, attrs::kDims,
                    builder.getStrArrayAttr(dims));
}

OwningOpRef<ModuleOp> Generator::build() {
  OwningOpRef<ModuleOp> module = ModuleOp::create(loc);
  builder.setInsertionPointToStart(module->getBody());
  main = func::FuncOp::create(builder, loc, "main",
                              builder.getFunctionType({}, {}));
  builder.setInsertionPointToStart(main.addEntryBlock());
  auto withBatch = [&](Sizes own) {
    if (options.batch)
      own.insert(own.begin(), options.batch);
    return own;
  };
  // Parameters and input share sizes, so that they can meet.
  int64_t side = drawSize(), other = drawSize();
  // An input has elements.
  addArgument(
      f64(withBatch({std::max<int64_t>(side, 1), std::max<int64_t>(other, 1)})),
      Role::Input, "x");
  if (options.batch)
    nameDims({"batch", "sequence", ""});
  addArgument(i32(withBatch({std::max<int64_t>(drawSize(), 1)})), Role::Input,
              "indices");
  indices = main.getArguments().back();
  const Sizes parameters[] = {
      {side, other}, {other, drawSize()}, {drawSize(), side, other}, {other}};
  for (auto [index, shape] : llvm::enumerate(parameters)) {
    addArgument(f64(shape), Role::Param, "w" + Twine(index));
    if (shape.size() == 3)
      nameDims({"expert", "", ""});
  }
  if (options.hasStates)
    addStates({parameters[0], parameters[0], parameters[3], parameters[3]});
  for (BlockArgument argument : main.getArguments())
    if (argument != indices)
      pool.push_back(options.hasConverts &&
                             getArgRole(main, argument.getArgNumber()) ==
                                 Role::Param
                         ? narrowed(argument)
                         : argument);
  if (options.mixesTypes) {
    magnitudes[indices] = 8;
    pool.push_back(indices);
  }

  using Step = Value (Generator::*)(Value);
  Step steps[] = {&Generator::elementwise, &Generator::positiveOnly,
                  &Generator::combination, &Generator::combination,
                  &Generator::choice,      &Generator::move,
                  &Generator::spread,      &Generator::regroup,
                  &Generator::cut,         &Generator::box,
                  &Generator::pad,         &Generator::reduction,
                  &Generator::contraction, &Generator::contraction,
                  &Generator::convolution, &Generator::pooling,
                  &Generator::indexing,    &Generator::routing,
                  &Generator::boolean,     &Generator::literal,
                  &Generator::noise};
  Step regroupings[] = {&Generator::regroup,     &Generator::regroup,
                        &Generator::move,        &Generator::indexing,
                        &Generator::elementwise, &Generator::routing,
                        &Generator::reduction,   &Generator::cut};
  for (int64_t op = 0; op < options.numOps; ++op)
    pool.push_back(
        options.mixesTypes && chance(30) ? retyped(pick())
        : options.regroups && chance(65)
            ? (this->*regroupings[below(std::size(regroupings))])(pick())
            : (this->*steps[below(std::size(steps))])(pick()));

  for (BlockArgument state : states)
    newValues[state] = nextValue(state);
  auto loss = f64({});
  Value total = scalar(builder.getF64Type(), 0.0);
  for (Value value : pool) {
    total = binary<AddOp>(total, make<ReduceOp>(loss, Reduction::Sum,
                                                unary<SinOp>(inF64(value)),
                                                range(0, rankOf(value))));
  }
  SmallVector<Value> results{total};
  SmallVector<ResultMark> marks{{Role::Loss, "loss"}};
  for (int64_t metric = 0; metric < options.numMetrics; ++metric) {
    Value value = pool[pool.size() - 1 - metric];
    if (batched.contains(value)) { // one number per step, as metrics are
      value = inF64(value);
      Sizes own = shapeOf(value);
      own.erase(own.begin());
      value = make<ReduceOp>(f64(own), Reduction::Sum, value, Sizes{0});
    }
    results.push_back(value);
    marks.push_back({Role::Metric, "metric" + std::to_string(metric)});
  }
  returnStates(results, marks);
  func::ReturnOp::create(builder, loc, results);
  main.setFunctionType(builder.getFunctionType(main.getArgumentTypes(),
                                               TypeRange(ValueRange(results))));
  for (auto [index, mark] : llvm::enumerate(marks))
    setResult(main, index, mark.role, mark.name);
  return module;
}

OwningOpRef<ModuleOp>
pp::testing::makeRandomProgram(MLIRContext &context, unsigned seed,
                               const RandomProgramOptions &options) {
  return Generator(context, seed, options).build();
}

std::vector<pp::reference::HostTensor>
pp::testing::makeRandomInputs(func::FuncOp function, unsigned seed) {
  std::mt19937 random(seed);
  std::vector<reference::HostTensor> inputs;
  for (BlockArgument argument : function.getArguments()) {
    inputs.emplace_back(cast<RankedTensorType>(argument.getType()));
    bool isFloat = isa<FloatType>(inputs.back().elementType());
    auto bound = function.getArgAttrOfType<IntegerAttr>(argument.getArgNumber(),
                                                        attrs::kBound);
    for (double &value : inputs.back().values)
      value = isFloat ? static_cast<double>(random() % 2000) / 1000 - 0.9995
              : bound ? static_cast<double>(random() % bound.getInt())
                      : static_cast<double>(random() % 9) - 1;
  }
  return inputs;
}
