//===- RandomProgram.cpp - small random training graphs -------------------===//
//
// SPDX-License-Identifier: Apache-2.0
//
// Grows a pool of values: each step applies a random op to random members. What
// depends on the batch keeps its leading dimension (see RandomProgram.h); the
// other dimensions of a value are called its own.
//
//===----------------------------------------------------------------------===//
#include "RandomProgram.h"
#include "mlir/IR/Builders.h"
#include "pp/IR/Model.h"
#include "pp/IR/PP.h"
#include <random>

using namespace mlir;
using namespace pp;
using namespace pp::testing;

namespace {

using Sizes = SmallVector<int64_t>;

RankedTensorType typeOf(Value value) {
  return cast<RankedTensorType>(value.getType());
}
Sizes shapeOf(Value value) { return Sizes(typeOf(value).getShape()); }
int64_t rankOf(Value value) { return typeOf(value).getRank(); }
Sizes range(int64_t begin, int64_t end) {
  return llvm::to_vector(llvm::seq<int64_t>(begin, end));
}
int64_t product(ArrayRef<int64_t> sizes) {
  int64_t result = 1;
  for (int64_t size : sizes)
    result *= size;
  return result;
}

class Generator {
public:
  Generator(MLIRContext &context, unsigned seed,
            const RandomProgramOptions &options)
      : options(options), random(seed), builder(&context),
        loc(builder.getUnknownLoc()) {}

  OwningOpRef<ModuleOp> build();

private:
  int64_t below(int64_t limit) { return random() % limit; }
  bool chance(int64_t percent) { return below(100) < percent; }
  int64_t drawSize() { return options.sizes[below(options.sizes.size())]; }
  Value pick();
  RankedTensorType f64(ArrayRef<int64_t> shape) {
    return RankedTensorType::get(shape, builder.getF64Type());
  }
  RankedTensorType i32(ArrayRef<int64_t> shape) {
    return RankedTensorType::get(shape, builder.getI32Type());
  }

  template <typename OpTy, typename... Args>
  Value make(RankedTensorType type, Args &&...args) {
    auto op = OpTy::create(builder, loc, type, std::forward<Args>(args)...);
    if (llvm::any_of(op->getOperands(),
                     [&](Value operand) { return batched.contains(operand); }))
      batched.insert(op->getResult(0));
    return op;
  }
  template <typename OpTy> Value unary(Value x) {
    return make<OpTy>(typeOf(x), x);
  }
  template <typename OpTy> Value binary(Value x, Value y) {
    return make<OpTy>(typeOf(x), x, y);
  }
  Value scalar(Type element, double number);
  Value fill(RankedTensorType type, double number);

  /// The first of a value's own dimensions.
  int64_t ownDim(Value value) const { return batched.contains(value) ? 1 : 0; }
  bool hasOwnDim(Value value) const { return ownDim(value) < rankOf(value); }
  int64_t drawOwnDim(Value value) {
    return ownDim(value) + below(rankOf(value) - ownDim(value));
  }
  bool isTooLarge(ArrayRef<int64_t> shape) const {
    return product(shape) > options.maxElements || shape.size() > 4;
  }

  double magnitudeOf(Value value) const {
    auto it = magnitudes.find(value);
    return it == magnitudes.end() ? 1.0 : it->second;
  }
  /// `value`, whose elements are at most `magnitude`, or its tanh.
  Value limit(Value value, double magnitude) {
    if (magnitude > options.maxMagnitude)
      return unary<TanhOp>(value);
    magnitudes[value] = magnitude;
    return value;
  }
  Value keep(Value value, Value like) {
    return limit(value, magnitudeOf(like));
  }
  /// x^2 + 1/2 of an x in (-1, 1): positive and away from 0.
  Value positive(Value x) {
    x = unary<SinOp>(x);
    return binary<AddOp>(binary<MulOp>(x, x), fill(typeOf(x), 0.5));
  }
  /// Another value of the type of `like`, broadcast if there is no such.
  Value matching(Value like);

  Value simple(Value x);
  Value elementwise(Value x);
  Value positiveOnly(Value x);
  Value combination(Value x);
  Value choice(Value x);
  Value move(Value x);
  Value spread(Value x);
  Value regroup(Value x);
  Value cut(Value x);
  Value box(Value x);
  Value pad(Value x);
  Value reduction(Value x);
  Value contraction(Value x);
  Value indexing(Value x);

  void addArgument(RankedTensorType type, Role role, const Twine &name);

  RandomProgramOptions options;
  std::mt19937 random;
  OpBuilder builder;
  Location loc;
  func::FuncOp main;
  SmallVector<Value> pool;
  llvm::DenseSet<Value> batched;
  llvm::DenseMap<Value, double> magnitudes;
  Value indices;
  int64_t picks = 0;
};

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
  return make<BroadcastOp>(type, scalar(type.getElementType(), number),
                           ArrayRef<int64_t>());
}

Value Generator::matching(Value like) {
  SmallVector<Value> same, smaller;
  for (Value value : pool) {
    if (value.getType() == like.getType() && value != like &&
        batched.contains(value) == batched.contains(like))
      same.push_back(value);
    if (!batched.contains(value) && rankOf(value) > 0 &&
        rankOf(value) < rankOf(like) &&
        ArrayRef<int64_t>(shapeOf(like)).take_back(rankOf(value)) ==
            ArrayRef<int64_t>(shapeOf(value)))
      smaller.push_back(value);
  }
  if (!same.empty() && chance(75))
    return same[below(same.size())];
  if (smaller.empty())
    return fill(typeOf(like), chance(30) ? 0.0 : below(2000) / 1000.0 - 1);
  Value bias = smaller[below(smaller.size())];
  return keep(
      make<BroadcastOp>(typeOf(like), bias,
                        range(rankOf(like) - rankOf(bias), rankOf(like))),
      bias);
}

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
    return keep(unary<AbsOp>(x), x);
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
  switch (below(6)) {
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

Value Generator::move(Value x) {
  if (!hasOwnDim(x))
    return simple(x);
  if (chance(30)) {
    int64_t dim = drawOwnDim(x);
    return limit(make<CumsumOp>(typeOf(x), x, dim, chance(50)),
                 magnitudeOf(x) * typeOf(x).getDimSize(dim));
  }
  Sizes permutation = range(0, rankOf(x)), shape;
  llvm::shuffle(permutation.begin() + ownDim(x), permutation.end(), random);
  for (int64_t dim : permutation)
    shape.push_back(shapeOf(x)[dim]);
  return keep(make<TransposeOp>(f64(shape), x, permutation), x);
}

/// A new dimension.
Value Generator::spread(Value x) {
  Sizes shape = shapeOf(x), dims;
  int64_t at = ownDim(x) + below(rankOf(x) - ownDim(x) + 1);
  shape.insert(shape.begin() + at, drawSize());
  if (isTooLarge(shape))
    return simple(x);
  for (int64_t dim = 0; dim < rankOf(x); ++dim)
    dims.push_back(dim < at ? dim : dim + 1);
  return keep(make<BroadcastOp>(f64(shape), x, dims), x);
}

/// Two dimensions become one, or one two.
Value Generator::regroup(Value x) {
  Sizes shape = shapeOf(x);
  if (!hasOwnDim(x))
    return simple(x);
  int64_t dim = drawOwnDim(x);
  if (dim + 1 < rankOf(x) && chance(50)) {
    shape[dim] *= shape[dim + 1];
    shape.erase(shape.begin() + dim + 1);
  } else if (shape[dim] % 2 == 0 && rankOf(x) < 4) {
    int64_t major = chance(50) ? 2 : shape[dim] / 2;
    shape.insert(shape.begin() + dim + 1, shape[dim] / major);
    shape[dim] = major;
  }
  return keep(make<ReshapeOp>(f64(shape), x), x);
}

Value Generator::cut(Value x) {
  if (!hasOwnDim(x))
    return simple(x);
  Sizes shape = shapeOf(x);
  int64_t dim = drawOwnDim(x);
  if (chance(50)) {
    Value y = matching(x);
    shape[dim] *= 2;
    if (isTooLarge(shape))
      return simple(x);
    return limit(make<ConcatenateOp>(f64(shape), ValueRange{x, y}, dim),
                 std::max(magnitudeOf(x), magnitudeOf(y)));
  }
  Sizes starts(rankOf(x), 0), limits(shape), strides(rankOf(x), 1);
  starts[dim] = below(shape[dim]);
  strides[dim] = 1 + below(2);
  shape[dim] = llvm::divideCeil(shape[dim] - starts[dim], strides[dim]);
  return keep(make<SliceOp>(f64(shape), x, starts, limits, strides), x);
}

/// A box at a computed place, read or written over.
Value Generator::box(Value x) {
  if (!hasOwnDim(x))
    return simple(x);
  Sizes shape = shapeOf(x);
  int64_t dim = drawOwnDim(x);
  shape[dim] = 1 + below(shape[dim]);
  SmallVector<Value> starts;
  for (int64_t d = 0; d < rankOf(x); ++d)
    starts.push_back(
        scalar(builder.getI32Type(), d < ownDim(x) ? 0 : below(4)));
  Value part = keep(make<DynamicSliceOp>(f64(shape), x, starts), x);
  if (chance(50))
    return part;
  Value y = matching(x);
  return limit(make<DynamicUpdateSliceOp>(typeOf(x), y, part, starts),
               std::max(magnitudeOf(x), magnitudeOf(y)));
}

Value Generator::pad(Value x) {
  if (!hasOwnDim(x))
    return simple(x);
  Sizes low(rankOf(x), 0), high(low), interior(low), shape = shapeOf(x);
  int64_t dim = drawOwnDim(x);
  low[dim] = below(3);
  high[dim] = below(3);
  interior[dim] = below(2);
  shape[dim] += low[dim] + high[dim] + (shape[dim] - 1) * interior[dim];
  if (isTooLarge(shape))
    return simple(x);
  Value value = scalar(builder.getF64Type(), below(2));
  return limit(make<PadOp>(f64(shape), x, value, low, high, interior),
               std::max(magnitudeOf(x), 1.0));
}

Value Generator::reduction(Value x) {
  Sizes dims, shape;
  for (auto [dim, size] : llvm::enumerate(shapeOf(x))) {
    if (static_cast<int64_t>(dim) >= ownDim(x) && chance(50))
      dims.push_back(dim);
    else
      shape.push_back(size);
  }
  double count = typeOf(x).getNumElements() / product(shape);
  if (chance(50))
    return limit(make<ReduceOp>(f64(shape), Reduction::Sum, x, dims),
                 magnitudeOf(x) * count);
  if (chance(60))
    return keep(make<ReduceOp>(f64(shape),
                               chance(50) ? Reduction::Max : Reduction::Min, x,
                               dims),
                x);
  return make<ReduceOp>(f64(shape), Reduction::Prod, unary<SinOp>(x), dims);
}

/// Contracts a dimension that two values share, sometimes with another one as
/// batch dimension.
Value Generator::contraction(Value x) {
  SmallVector<Value> others(pool);
  llvm::shuffle(others.begin(), others.end(), random);
  for (Value y : others) {
    // What has examples comes first, and so do they in the result.
    Value lhs = x, rhs = y;
    if (batched.contains(rhs) && !batched.contains(lhs))
      std::swap(lhs, rhs);
    Sizes a = shapeOf(lhs), b = shapeOf(rhs), lhsBatch, rhsBatch, shape;
    auto pairUp = [&](Sizes &left, Sizes &right) {
      for (int64_t i = ownDim(lhs); i < rankOf(lhs); ++i)
        for (int64_t j = ownDim(rhs); j < rankOf(rhs); ++j)
          if (a[i] == b[j] && !llvm::is_contained(lhsBatch, i) &&
              !llvm::is_contained(rhsBatch, j)) {
            left.push_back(i);
            right.push_back(j);
            return true;
          }
      return false;
    };
    if (batched.contains(rhs)) {
      lhsBatch.push_back(0);
      rhsBatch.push_back(0);
    }
    // Batch dimensions come first; the examples have that place already.
    bool areAlike = batched.contains(lhs) == batched.contains(rhs);
    if (areAlike && chance(30))
      (void)pairUp(lhsBatch, rhsBatch);
    Sizes lhsContract, rhsContract;
    if (!pairUp(lhsContract, rhsContract))
      continue;
    for (int64_t dim : lhsBatch)
      shape.push_back(a[dim]);
    for (auto [dim, size] : llvm::enumerate(a))
      if (!llvm::is_contained(lhsBatch, dim) &&
          !llvm::is_contained(lhsContract, dim))
        shape.push_back(size);
    for (auto [dim, size] : llvm::enumerate(b))
      if (!llvm::is_contained(rhsBatch, dim) &&
          !llvm::is_contained(rhsContract, dim))
        shape.push_back(size);
    if (isTooLarge(shape))
      continue;
    return limit(make<DotGeneralOp>(f64(shape), lhs, rhs, lhsBatch, rhsBatch,
                                    lhsContract, rhsContract),
                 magnitudeOf(lhs) * magnitudeOf(rhs) * a[lhsContract[0]]);
  }
  return simple(x);
}

/// A lookup in a table per example, or in one for all of them; or an addition
/// to one.
Value Generator::indexing(Value x) {
  if (!hasOwnDim(x))
    return simple(x);
  int64_t batchDims = ownDim(x);
  Sizes shape = shapeOf(indices);
  llvm::append_range(shape,
                     ArrayRef<int64_t>(shapeOf(x)).drop_front(batchDims + 1));
  if (isTooLarge(shape))
    return simple(x);
  bool isOneForAll = batched.contains(indices) && batchDims == 0;
  if (isOneForAll || chance(50))
    return keep(make<GatherOp>(f64(shape), x, indices, batchDims), x);
  Value rows = make<GatherOp>(f64(shape), x, indices, batchDims);
  return limit(
      make<ScatterAddOp>(typeOf(x), x, indices, unary<SinOp>(rows), batchDims),
      magnitudeOf(x) + shapeOf(indices).back());
}

void Generator::addArgument(RankedTensorType type, Role role,
                            const Twine &name) {
  unsigned index = main.getNumArguments();
  (void)main.insertArgument(index, type, {}, loc);
  MLIRContext *context = main.getContext();
  main.setArgAttr(index, attrs::kRole, RoleAttr::get(context, role));
  main.setArgAttr(index, attrs::kName, builder.getStringAttr(name));
  Value argument = main.getArgument(index);
  if (role == Role::Param)
    main.setArgAttr(index, attrs::kInit,
                    InitAttr::get(context, InitKind::Normal, 0.0, 1.0));
  else if (options.batch)
    batched.insert(argument);
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
  addArgument(f64(withBatch({side, other})), Role::Input, "x");
  addArgument(i32(withBatch({drawSize()})), Role::Input, "indices");
  indices = main.getArguments().back();
  const Sizes parameters[] = {
      {side, other}, {other, drawSize()}, {drawSize(), side, other}, {other}};
  for (auto [index, shape] : llvm::enumerate(parameters))
    addArgument(f64(shape), Role::Param, "w" + Twine(index));
  for (Value argument : main.getArguments())
    if (argument != indices)
      pool.push_back(argument);

  using Step = Value (Generator::*)(Value);
  Step steps[] = {&Generator::elementwise, &Generator::positiveOnly,
                  &Generator::combination, &Generator::combination,
                  &Generator::choice,      &Generator::move,
                  &Generator::spread,      &Generator::regroup,
                  &Generator::cut,         &Generator::box,
                  &Generator::pad,         &Generator::reduction,
                  &Generator::contraction, &Generator::contraction,
                  &Generator::indexing};
  for (int64_t op = 0; op < options.numOps; ++op)
    pool.push_back((this->*steps[below(std::size(steps))])(pick()));

  auto loss = f64({});
  Value total = scalar(builder.getF64Type(), 0.0);
  for (Value value : pool) {
    total = binary<AddOp>(total, make<ReduceOp>(loss, Reduction::Sum,
                                                unary<SinOp>(value),
                                                range(0, rankOf(value))));
  }
  SmallVector<Value> results{total};
  for (int64_t metric = 0; metric < options.numMetrics; ++metric)
    results.push_back(pool[pool.size() - 1 - metric]);
  func::ReturnOp::create(builder, loc, results);
  main.setFunctionType(builder.getFunctionType(main.getArgumentTypes(),
                                               TypeRange(ValueRange(results))));
  setResult(main, 0, Role::Loss, "loss");
  for (int64_t metric = 0; metric < options.numMetrics; ++metric)
    setResult(main, 1 + metric, Role::Metric, ("metric" + Twine(metric)).str());
  return module;
}

} // namespace

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
