//===- RandomProgram.cpp - level 1 programs to partition ------------------===//
//
// SPDX-License-Identifier: Apache-2.0
//
//===----------------------------------------------------------------------===//
#include "RandomProgram.h"
#include "mlir/IR/Builders.h"
#include "pp/IR/Model.h"

using namespace mlir;
using namespace pp;
using namespace pp::testing;

namespace {

using Shape = SmallVector<int64_t>;

class Generator {
public:
  Generator(MLIRContext &context, unsigned seed)
      : builder(&context), loc(builder.getUnknownLoc()), random(seed) {}

  RandomProgram run(int numOps);

private:
  int64_t below(int64_t limit) { return random() % limit; }
  bool chance(int64_t percent) { return below(100) < percent; }
  static RankedTensorType typeOf(Value value) {
    return cast<RankedTensorType>(value.getType());
  }
  static Shape shapeOf(Value value) { return Shape(typeOf(value).getShape()); }
  RankedTensorType f64(ArrayRef<int64_t> shape) {
    return RankedTensorType::get(shape, builder.getF64Type());
  }
  RankedTensorType i32(ArrayRef<int64_t> shape) {
    return RankedTensorType::get(shape, builder.getI32Type());
  }
  int64_t size() {
    static constexpr int64_t sizes[] = {2, 3, 4, 5, 6, 8};
    return sizes[below(std::size(sizes))];
  }
  Value pick() { return values[below(values.size())]; }
  /// A value of this shape: one at hand or a broadcast scalar.
  Value pickLike(ArrayRef<int64_t> shape);
  Value indices(int64_t bound);
  void chooseMesh();
  ShardingAttr randomSharding(RankedTensorType type);
  Value argument(RankedTensorType type);
  Value randomOp();
  Value elementwise(Value x);
  Value move(Value x);
  Value contract(Value x);
  Value lookUp(Value x);

  OpBuilder builder;
  Location loc;
  std::mt19937 random;
  MeshAttr mesh;
  FlatSymbolRefAttr symbol;
  func::FuncOp main;
  SmallVector<Value> values; // of f64
  RandomProgram program;
};

void Generator::chooseMesh() {
  SmallVector<MeshAxisAttr> axes;
  int64_t devices = 1;
  for (StringRef name : {"a", "b", "c"}) {
    int64_t axisSize = 2 + below(2);
    if (devices * axisSize > 12)
      continue;
    devices *= axisSize;
    axes.push_back(MeshAxisAttr::get(builder.getContext(),
                                     builder.getStringAttr(name), axisSize,
                                     AxisKind::Space));
    if (chance(40))
      break;
  }
  mesh = MeshAttr::get(builder.getContext(), axes);
}

ShardingAttr Generator::randomSharding(RankedTensorType type) {
  SmallVector<SmallVector<StringAttr>> dims(type.getRank());
  SmallVector<int64_t> shards(type.getRank(), 1);
  SmallVector<MeshAxisAttr> axes(mesh.getAxes());
  std::shuffle(axes.begin(), axes.end(), random);
  for (MeshAxisAttr axis : axes) {
    if (type.getRank() == 0 || chance(40))
      continue;
    int64_t dim = below(type.getRank());
    if (shards[dim] * axis.getSize() > type.getDimSize(dim))
      continue;
    shards[dim] *= axis.getSize();
    dims[dim].push_back(axis.getName());
  }
  return ShardingAttr::fromAxes(symbol, dims, /*open=*/chance(70));
}

Value Generator::argument(RankedTensorType type) {
  unsigned index = main.getNumArguments();
  (void)main.insertArgument(index, type, {}, loc);
  main.setArgAttr(index, attrs::kName,
                  builder.getStringAttr("x" + std::to_string(index)));
  if (chance(80))
    main.setArgAttr(index, attrs::kSharding, randomSharding(type));
  reference::HostTensor input(type);
  for (double &value : input.values)
    value = type.getElementType().isInteger() ? double(below(9)) - 1
                                              : double(below(2000)) / 1000 - 1;
  program.inputs.push_back(std::move(input));
  return main.getArgument(index);
}

Value Generator::pickLike(ArrayRef<int64_t> shape) {
  SmallVector<Value> fitting;
  for (Value value : values)
    if (typeOf(value).getShape() == shape)
      fitting.push_back(value);
  if (fitting.size() > 1 || (!fitting.empty() && chance(70)))
    return fitting[below(fitting.size())];
  double number = chance(30) ? 0.0 : double(below(2000)) / 1000 - 1;
  Value scalar = ConstantOp::create(
      builder, loc, f64({}),
      DenseElementsAttr::get(f64({}), builder.getF64FloatAttr(number)));
  return BroadcastOp::create(builder, loc, f64(shape), scalar,
                             ArrayRef<int64_t>());
}

Value Generator::elementwise(Value x) {
  RankedTensorType type = typeOf(x);
  Value y = pickLike(type.getShape());
  switch (below(8)) {
  case 0:
    return TanhOp::create(builder, loc, type, x);
  case 1:
    return NegOp::create(builder, loc, type, x);
  case 2:
    return SubOp::create(builder, loc, x, y);
  case 3:
    return MulOp::create(builder, loc, x, y);
  case 4:
    return MaxOp::create(builder, loc, x, y);
  case 5: {
    auto bits = RankedTensorType::get(type.getShape(), builder.getI1Type());
    Value less = CompareOp::create(builder, loc, bits, Direction::LT, x, y);
    return SelectOp::create(builder, loc, type, less, x,
                            pickLike(type.getShape()));
  }
  case 6:
    // exp(2x) turns padding into inf and NaN soon, were it let through.
    return ExpOp::create(builder, loc, type,
                         TanhOp::create(builder, loc, type, x));
  default:
    return AddOp::create(builder, loc, x, y);
  }
}

Value Generator::move(Value x) {
  Shape shape = shapeOf(x);
  int64_t rank = shape.size(), dim = below(rank);
  switch (below(9)) {
  case 0: {
    SmallVector<int64_t> permutation =
        llvm::to_vector(llvm::seq<int64_t>(0, rank));
    std::shuffle(permutation.begin(), permutation.end(), random);
    Shape to;
    for (int64_t from : permutation)
      to.push_back(shape[from]);
    return TransposeOp::create(builder, loc, f64(to), x, permutation);
  }
  case 1: { // merge two dimensions, or split one
    Shape to = shape;
    if (rank > 1 && chance(50)) {
      dim = below(rank - 1);
      to[dim] *= to[dim + 1];
      to.erase(to.begin() + dim + 1);
    } else if (to[dim] % 2 == 0) {
      bool majorTwo = chance(50);
      int64_t half = to[dim] / 2;
      to[dim] = majorTwo ? 2 : half;
      to.insert(to.begin() + dim + 1, majorTwo ? half : 2);
    }
    return ReshapeOp::create(builder, loc, f64(to), x);
  }
  case 2: {
    Shape starts(rank, 0), strides(rank, 1), limits = shape, to = shape;
    starts[dim] = below(shape[dim]);
    strides[dim] = 1 + below(2);
    to[dim] = llvm::divideCeil(limits[dim] - starts[dim], strides[dim]);
    return SliceOp::create(builder, loc, f64(to), x, starts, limits, strides);
  }
  case 3: {
    Shape low(rank, 0), high(rank, 0), interior(rank, 0), to = shape;
    low[dim] = below(3);
    high[dim] = below(3);
    interior[dim] = below(2);
    to[dim] += low[dim] + high[dim] + (shape[dim] - 1) * interior[dim];
    Value zero = ConstantOp::create(
        builder, loc, f64({}),
        DenseElementsAttr::get(f64({}), builder.getF64FloatAttr(below(2))));
    return PadOp::create(builder, loc, f64(to), x, zero, low, high, interior);
  }
  case 4: {
    Shape to = shape;
    Value y = pickLike(shape);
    to[dim] *= 2;
    return ConcatenateOp::create(builder, loc, f64(to), ValueRange{x, y}, dim);
  }
  case 5: {
    Shape to = shape;
    to.insert(to.begin() + below(rank + 1), size());
    SmallVector<int64_t> dims;
    // Any increasing map whose sizes agree; the first one found will do.
    int64_t next = 0;
    for (int64_t from : shape) {
      while (to[next] != from)
        ++next;
      dims.push_back(next++);
    }
    return BroadcastOp::create(builder, loc, f64(to), x, dims);
  }
  case 6:
    return CumsumOp::create(builder, loc, typeOf(x), x, dim,
                            /*reverse=*/chance(50));
  case 7: {
    Value count = IotaOp::create(builder, loc, i32(shape), dim);
    return AddOp::create(builder, loc, x,
                         ConvertOp::create(builder, loc, f64(shape), count));
  }
  default: {
    Shape to = shape;
    to[dim] = 1 + below(shape[dim]);
    SmallVector<Value> starts;
    for (int64_t d = 0; d < rank; ++d)
      starts.push_back(ConstantOp::create(
          builder, loc, i32({}),
          DenseElementsAttr::get(i32({}),
                                 builder.getI32IntegerAttr(below(4)))));
    Value part = DynamicSliceOp::create(builder, loc, f64(to), x, starts);
    if (chance(50))
      return part;
    return DynamicUpdateSliceOp::create(builder, loc, typeOf(x),
                                        pickLike(shape), part, starts);
  }
  }
}

Value Generator::contract(Value x) {
  Shape shape = shapeOf(x);
  int64_t rank = shape.size(), dim = below(rank);
  if (chance(40)) {
    Shape to = shape;
    to.erase(to.begin() + dim);
    Reduction reduction = chance(60)   ? Reduction::Sum
                          : chance(50) ? Reduction::Max
                                       : Reduction::Min;
    return ReduceOp::create(builder, loc, f64(to), reduction, x,
                            ArrayRef<int64_t>(dim));
  }
  // x with y over one dimension of equal size, sometimes a batch dimension too.
  Value y;
  int64_t yDim = 0;
  for (int attempt = 0; attempt < 8 && !y; ++attempt) {
    Value candidate = pick();
    for (auto [d, n] : llvm::enumerate(shapeOf(candidate)))
      if (n == shape[dim] && shapeOf(candidate).size() + rank <= 6) {
        y = candidate;
        yDim = d;
      }
  }
  if (!y) {
    y = pickLike({shape[dim], size()});
    yDim = 0;
  }
  Shape yShape = shapeOf(y), to;
  SmallVector<int64_t> batch, yBatch;
  for (int64_t d = 0; d < rank && batch.empty(); ++d)
    for (int64_t e = 0; e < static_cast<int64_t>(yShape.size()); ++e)
      if (batch.empty() && d != dim && e != yDim && shape[d] == yShape[e] &&
          chance(50)) {
        batch.push_back(d);
        yBatch.push_back(e);
      }
  if (!batch.empty())
    to.push_back(shape[batch.front()]);
  for (int64_t d = 0; d < rank; ++d)
    if (d != dim && !llvm::is_contained(batch, d))
      to.push_back(shape[d]);
  for (int64_t e = 0; e < static_cast<int64_t>(yShape.size()); ++e)
    if (e != yDim && !llvm::is_contained(yBatch, e))
      to.push_back(yShape[e]);
  return DotGeneralOp::create(builder, loc, f64(to), x, y, batch, yBatch,
                              ArrayRef<int64_t>(dim), ArrayRef<int64_t>(yDim));
}

Value Generator::lookUp(Value x) {
  Shape shape = shapeOf(x);
  int64_t batch = below(shape.size());
  Shape indexShape(shape.begin(), shape.begin() + batch);
  if (chance(70))
    indexShape.push_back(size());
  Shape rows = indexShape;
  rows.append(shape.begin() + batch + 1, shape.end());
  // Some indices lie outside the table.
  Value position = argument(i32(indexShape));
  if (chance(50))
    return GatherOp::create(builder, loc, f64(rows), x, position, batch);
  return ScatterAddOp::create(builder, loc, typeOf(x), x, position,
                              pickLike(rows), batch);
}

Value Generator::randomOp() {
  Value x = pick();
  if (typeOf(x).getRank() == 0)
    return elementwise(x);
  int64_t kind = below(100);
  Value result = kind < 35   ? elementwise(x)
                 : kind < 60 ? move(x)
                 : kind < 88 ? contract(x)
                             : lookUp(x);
  // Keep numbers and shapes small.
  RankedTensorType type = typeOf(result);
  if (type.getNumElements() > 400 || type.getRank() > 4)
    result = ReduceOp::create(
        builder, loc,
        f64(type.getShape().drop_front(type.getRank() > 3 ? 2 : 1)),
        Reduction::Sum, result,
        llvm::to_vector(llvm::seq<int64_t>(0, type.getRank() > 3 ? 2 : 1)));
  if (chance(8))
    result = ShardingConstraintOp::create(
        builder, loc, result.getType(), result, randomSharding(typeOf(result)));
  return result;
}

RandomProgram Generator::run(int numOps) {
  program.module = ModuleOp::create(loc);
  builder.setInsertionPointToEnd(program.module->getBody());
  chooseMesh();
  auto meshOp = MeshOp::create(builder, loc, "mesh", mesh);
  symbol = FlatSymbolRefAttr::get(meshOp.getSymNameAttr());
  (*program.module)
      ->setAttr(attrs::kPlan,
                PlanAttr::get(builder.getContext(), mesh,
                              builder.getStringAttr(""), {}, {}, {}, 1));
  main = func::FuncOp::create(builder, loc, "main",
                              builder.getFunctionType({}, {}));
  builder.setInsertionPointToStart(main.addEntryBlock());
  int64_t side = size(), other = size();
  for (Shape shape : {Shape{side, other}, Shape{other, side},
                      Shape{side, size(), other}, Shape{other}})
    values.push_back(argument(f64(shape)));
  for (int op = 0; op < numOps; ++op)
    values.push_back(randomOp());
  SmallVector<Value> results;
  for (Value value : llvm::reverse(values))
    if (results.size() < 3 || chance(20))
      results.push_back(value);
  func::ReturnOp::create(builder, loc, results);
  main.setFunctionType(builder.getFunctionType(
      main.getFunctionType().getInputs(), TypeRange(ValueRange(results))));
  return std::move(program);
}

} // namespace

RandomProgram pp::testing::makeRandomProgram(MLIRContext &context,
                                             unsigned seed, int numOps) {
  return Generator(context, seed).run(numOps);
}
