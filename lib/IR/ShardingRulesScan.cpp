//===- ShardingRulesScan.cpp - reductions and scans, as einsums -----------===//
//
// SPDX-License-Identifier: Apache-2.0
//
// A reduction over a split dimension leaves partial results. A scan (a running
// sum, a product or a search) needs its dimension whole, but each shard may do
// its part first. With the dimension as shards x elements, a running sum starts
// from the sum of the shards before, a product is that of the shards' products,
// and the largest of all are among the largest of the shards. The shards then
// share a number, or a few, each.
//
//===----------------------------------------------------------------------===//
#include "ShardingModels.h"
#include "pp/IR/Model.h"

using namespace mlir;
using namespace pp;

namespace {

//===----------------------------------------------------------------------===//
// Rules
//===----------------------------------------------------------------------===//

ShardingRule reduceRule(ReduceOp op) {
  ShardingRule rule;
  TensorFactors operand, result;
  // No collective multiplies: a product is formed where all factors are.
  const FactorKind reducedKind = op.getReduction() == Reduction::Prod
                                     ? FactorKind::Replicated
                                     : FactorKind::Reduction;
  for (auto [dim, size] : llvm::enumerate(shapeOf(op.getOperand()))) {
    bool reduced =
        llvm::is_contained(op.getDimensions(), static_cast<int64_t>(dim));
    int64_t factor = rule.addFactor(
        size, reduced ? reducedKind : FactorKind::Parallel, op.getReduction());
    operand.push_back({factor});
    if (!reduced)
      result.push_back({factor});
  }
  rule.operands = {operand};
  rule.results = {result};
  if (op.getReduction() == Reduction::Sum)
    rule.additive = {{0}};
  return rule;
}

ShardingRule argmaxRule(ArgmaxOp op) {
  ShardingRule rule;
  TensorFactors operand = addParallel(rule, shapeOf(op.getOperand()));
  TensorFactors result = operand;
  rule.factors[op.getDimension()].kind = FactorKind::Replicated;
  result.erase(result.begin() + op.getDimension());
  rule.operands = {operand};
  rule.results = {result};
  return rule;
}

ShardingRule topKRule(TopKOp op) {
  ShardingRule rule;
  TensorFactors operand = addParallel(rule, shapeOf(op.getOperand()));
  TensorFactors result = operand;
  size_t dim = op.getDimension();
  rule.factors[dim].kind = FactorKind::Replicated;
  result[dim] = {
      rule.addFactor(shapeOf(op.getResult())[dim], FactorKind::Replicated)};
  rule.operands = {operand};
  rule.results = {result};
  return rule;
}

ShardingRule cumsumRule(CumsumOp op) {
  ShardingRule rule;
  TensorFactors tensor = addParallel(rule, shapeOf(op.getOperand()));
  rule.factors[op.getDimension()].kind = FactorKind::Replicated;
  rule.operands = {tensor};
  rule.results = {tensor};
  rule.additive = {{0}};
  return rule;
}

//===----------------------------------------------------------------------===//
// Work in shards
//===----------------------------------------------------------------------===//

using Axes = SmallVector<StringAttr>;
using Layout = SmallVector<Axes>;

/// Builds ops that work in the shards of one dimension of an operand.
class ShardWork {
public:
  ShardWork(Operation *op, const InShards &to)
      : builder(to.builder), loc(op->getLoc()), symbol(to.sharding.getMesh()),
        dim(to.dim), input(op->getOperand(0)), layout(to.sharding.getAxes()),
        axes(layout[dim]), element(elementOf(input)), i32(builder.getI32Type()),
        shards(to.mesh.sizeOf(axes)), size(shapeOf(input)[dim] / shards),
        inShards(layoutWith({axes, {}})), perShard(layoutWith({axes})),
        whole(layoutWith({Axes()})), dropped(layoutWith({})) {}

  template <typename OpTy, typename... Args>
  Value create(const Layout &layout, ArrayRef<int64_t> shape, Type element,
               Args &&...args) {
    Value value =
        OpTy::create(builder, loc, RankedTensorType::get(shape, element),
                     std::forward<Args>(args)...);
    value.getDefiningOp()->setAttr(
        attrs::kShardings,
        builder.getArrayAttr(ShardingAttr::fromAxes(symbol, layout)));
    return value;
  }

  static Type elementOf(Value value) {
    return cast<RankedTensorType>(value.getType()).getElementType();
  }
  /// The input's shape, or layout, with the dimension as these.
  SmallVector<int64_t> shapeWith(ArrayRef<int64_t> sizes) const {
    SmallVector<int64_t> shape(shapeOf(input));
    shape.erase(shape.begin() + dim);
    shape.insert(shape.begin() + dim, sizes.begin(), sizes.end());
    return shape;
  }
  Layout layoutWith(ArrayRef<Axes> ofDims) const {
    Layout result = layout;
    result.erase(result.begin() + dim);
    result.insert(result.begin() + dim, ofDims.begin(), ofDims.end());
    return result;
  }
  /// The input with the dimension as shards x elements.
  Value split() {
    return create<ReshapeOp>(inShards, shapeWith({shards, size}), element,
                             input);
  }
  Value splat(const Layout &layout, ArrayRef<int64_t> shape, TypedAttr value);
  /// Each number of a shard at the next one, or at the one before; 0 comes in.
  Value shift(Value totals, bool isReverse);
  /// `places` in shards, as places in the whole dimension; [..., shards, ...].
  Value toGlobal(Value places, const Layout &layout);
  /// The elements of `values` at `places` along dimension `along`, which the
  /// result drops.
  Value lookUp(Value values, const Layout &layout, Value places,
               const Layout &result, int64_t along);

  OpBuilder &builder;
  Location loc;
  FlatSymbolRefAttr symbol;
  unsigned dim;
  Value input;
  Layout layout;
  Axes axes;
  Type element, i32;
  int64_t shards, size;
  /// Layouts of [..., shards, size, ...]; of a number per shard, there or
  /// everywhere; of one number in all.
  Layout inShards, perShard, whole, dropped;
};

/// All dimensions of `rank` but one.
SmallVector<int64_t> allBut(int64_t rank, int64_t left) {
  auto dims = llvm::to_vector(llvm::seq<int64_t>(rank));
  dims.erase(dims.begin() + left);
  return dims;
}

Value ShardWork::splat(const Layout &layout, ArrayRef<int64_t> shape,
                       TypedAttr value) {
  auto type = RankedTensorType::get(shape, value.getType());
  return create<ConstantOp>(layout, shape, value.getType(),
                            DenseElementsAttr::get(type, Attribute(value)));
}

Value ShardWork::toGlobal(Value places, const Layout &layout) {
  ArrayRef<int64_t> shape = shapeOf(places);
  Value first =
      create<MulOp>(layout, shape, i32, create<IotaOp>(layout, shape, i32, dim),
                    splat(layout, shape, builder.getI32IntegerAttr(size)));
  return create<AddOp>(layout, shape, i32, first, places);
}

Value ShardWork::shift(Value totals, bool isReverse) {
  SmallVector<int64_t> shape(shapeOf(totals)),
      padded = shape, none(shape.size(), 0), one = none, ones(shape.size(), 1);
  padded[dim] += 1;
  one[dim] = 1;
  Value zero = splat(Layout(), {}, builder.getZeroAttr(element));
  Value more =
      create<PadOp>(whole, padded, element, totals, zero,
                    isReverse ? none : one, isReverse ? one : none, none);
  SmallVector<int64_t> limits = isReverse ? padded : shape;
  return create<SliceOp>(whole, shape, element, more, isReverse ? one : none,
                         limits, ones);
}

/// A sum of one element and zeros.
Value ShardWork::lookUp(Value values, const Layout &layout, Value places,
                        const Layout &result, int64_t along) {
  ArrayRef<int64_t> all = shapeOf(values);
  Type element = elementOf(values);
  Value wanted =
      create<BroadcastOp>(layout, all, i32, places, allBut(all.size(), along));
  Value isThere =
      create<CompareOp>(layout, all, builder.getI1Type(), Direction::EQ, wanted,
                        create<IotaOp>(layout, all, i32, along));
  Value chosen =
      create<SelectOp>(layout, all, element, isThere, values,
                       splat(layout, all, builder.getZeroAttr(element)));
  return create<ReduceOp>(result, shapeOf(places), element, Reduction::Sum,
                          chosen, ArrayRef<int64_t>(along));
}

//===----------------------------------------------------------------------===//
// The ops, and the bytes that they send
//===----------------------------------------------------------------------===//

/// Bytes of an element of the operand, and of an index.
template <typename OpTy> int64_t elementBytes(OpTy op) {
  return llvm::divideCeil(
      ShardWork::elementOf(op.getOperand()).getIntOrFloatBitWidth(), 8);
}
constexpr int64_t kIndexBytes = 4;

/// The number of rows along `dim`; none unless every shard has the same number
/// of elements, at least two.
template <typename OpTy>
std::optional<int64_t> countRows(OpTy op, unsigned dim, int64_t shards) {
  ArrayRef<int64_t> shape = shapeOf(op.getOperand());
  if (shape[dim] % shards || shape[dim] <= shards)
    return std::nullopt;
  return llvm::product_of(shape) / shape[dim];
}

std::optional<int64_t> cumsumBytes(CumsumOp op, unsigned dim, int64_t shards) {
  std::optional<int64_t> rows = countRows(op, dim, shards);
  if (!rows || dim != op.getDimension())
    return std::nullopt;
  return *rows * shards * elementBytes(op);
}

/// The running sum of a shard, plus the sums of the shards before it.
Value cumsumInShards(CumsumOp op, const InShards &to) {
  ShardWork work(op, to);
  const int64_t dim = to.dim;
  SmallVector<int64_t> shape = work.shapeWith({work.shards, work.size}),
                       numbers = work.shapeWith({work.shards});
  Value parts = work.split();
  Value sums = work.create<CumsumOp>(work.inShards, shape, work.element, parts,
                                     dim + 1, op.getReverse());
  Value totals =
      work.create<ReduceOp>(work.perShard, numbers, work.element,
                            Reduction::Sum, parts, ArrayRef<int64_t>(dim + 1));
  Value before = work.create<CumsumOp>(work.whole, numbers, work.element,
                                       work.shift(totals, op.getReverse()), dim,
                                       op.getReverse());
  Value start = work.create<BroadcastOp>(work.inShards, shape, work.element,
                                         before, allBut(shape.size(), dim + 1));
  Value sum =
      work.create<AddOp>(work.inShards, shape, work.element, sums, start);
  return work.create<ReshapeOp>(work.layout, shapeOf(op.getOperand()),
                                work.element, sum);
}

/// The largest elements of all shards, and a sum to learn the winner's place.
std::optional<int64_t> argmaxBytes(ArgmaxOp op, unsigned dim, int64_t shards) {
  std::optional<int64_t> rows = countRows(op, dim, shards);
  if (!rows || dim != op.getDimension())
    return std::nullopt;
  return *rows * (shards * elementBytes(op) + 2 * kIndexBytes);
}

/// The largest of each shard, then the shard with the largest of these.
Value argmaxInShards(ArgmaxOp op, const InShards &to) {
  ShardWork work(op, to);
  const int64_t dim = to.dim;
  Value parts = work.split();
  Value places = work.create<ArgmaxOp>(
      work.perShard, work.shapeWith({work.shards}), work.i32, parts, dim + 1);
  Value largest =
      work.lookUp(parts, work.inShards, places, work.perShard, dim + 1);
  Value winner = work.create<ArgmaxOp>(work.dropped, work.shapeWith({}),
                                       work.i32, largest, dim);
  return work.lookUp(work.toGlobal(places, work.perShard), work.perShard,
                     winner, work.dropped, dim);
}

/// The same for as many as are sought. Values are looked up along the last
/// dimension only.
std::optional<int64_t> topKBytes(TopKOp op, unsigned dim, int64_t shards) {
  std::optional<int64_t> rows = countRows(op, dim, shards);
  ArrayRef<int64_t> shape = shapeOf(op.getOperand());
  const int64_t count = shapeOf(op.getResult())[op.getDimension()];
  if (!rows || dim != op.getDimension() || dim + 1 != shape.size() ||
      count > shape[dim] / shards)
    return std::nullopt;
  return *rows * count * (shards * elementBytes(op) + 2 * kIndexBytes);
}

/// The largest of each shard, then the largest of these. Among equal ones the
/// first comes first in both.
Value topKInShards(TopKOp op, const InShards &to) {
  ShardWork work(op, to);
  const int64_t dim = to.dim, count = shapeOf(op.getResult())[dim];
  SmallVector<int64_t> found = work.shapeWith({work.shards, count}),
                       all = work.shapeWith({work.shards * count}),
                       shape = work.shapeWith({count});
  Value parts = work.split();
  Value places =
      work.create<TopKOp>(work.inShards, found, work.i32, parts, dim + 1);
  Value values = work.create<GatherOp>(work.inShards, found, work.element,
                                       parts, places, dim + 1);
  auto flatten = [&](Value value) {
    return work.create<ReshapeOp>(work.perShard, all,
                                  ShardWork::elementOf(value), value);
  };
  Value best =
      work.create<TopKOp>(work.whole, shape, work.i32, flatten(values), dim);
  return work.create<GatherOp>(work.whole, shape, work.i32,
                               flatten(work.toGlobal(places, work.inShards)),
                               best, dim);
}

std::optional<int64_t> reduceBytes(ReduceOp op, unsigned dim, int64_t shards) {
  std::optional<int64_t> rows = countRows(op, dim, shards);
  if (!rows || op.getReduction() != Reduction::Prod ||
      !llvm::is_contained(op.getDimensions(), static_cast<int64_t>(dim)))
    return std::nullopt;
  return *rows * shards * elementBytes(op);
}

/// A product of the shards' products.
Value reduceInShards(ReduceOp op, const InShards &to) {
  ShardWork work(op, to);
  Value parts = work.create<ReduceOp>(
      work.perShard, work.shapeWith({work.shards}), work.element,
      op.getReduction(), work.split(), ArrayRef<int64_t>(to.dim + 1));
  Layout result = work.layout;
  for (int64_t reduced : llvm::reverse(op.getDimensions()))
    result.erase(result.begin() + reduced);
  return work.create<ReduceOp>(result, shapeOf(op.getResult()), work.element,
                               op.getReduction(), parts, op.getDimensions());
}

} // namespace

void pp::registerScanShardings(MLIRContext *context) {
  ReduceOp::attachInterface<
      ScanModel<ReduceOp, reduceRule, reduceBytes, reduceInShards>>(*context);
  ArgmaxOp::attachInterface<
      ScanModel<ArgmaxOp, argmaxRule, argmaxBytes, argmaxInShards>>(*context);
  TopKOp::attachInterface<ScanModel<TopKOp, topKRule, topKBytes, topKInShards>>(
      *context);
  CumsumOp::attachInterface<
      ScanModel<CumsumOp, cumsumRule, cumsumBytes, cumsumInShards>>(*context);
}
