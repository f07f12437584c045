//===- SplitScans.cpp - scans along dimensions that are split -------------===//
//
// SPDX-License-Identifier: Apache-2.0
//
// In and out: level 1 with a sharding on every value. Running sums and searches
// (cumsum, argmax, top_k) need their dimension whole. Where it is split, each
// shard does its part first: with the dimension as shards x elements, a running
// sum starts from the sum of the shards before, and the largest of all are
// among the largest of the shards. What is gathered then is a number, or a few,
// per shard. Left alone is what does not divide into shards.
//
//===----------------------------------------------------------------------===//
#include "Factors.h"
#include "mlir/IR/Builders.h"
#include "pp/IR/Model.h"
#include "pp/IR/Values.h"
#include "pp/Transforms/Passes.h"
#include "pp/Transforms/Sources.h"

using namespace mlir;
using namespace pp;

namespace pp {
#define GEN_PASS_DEF_SPLITSCANS
#include "pp/Transforms/Passes.h.inc"
} // namespace pp

namespace {

/// One op that scans a dimension.
class ScanSplitter {
public:
  ScanSplitter(Operation *op, int64_t dim, const MeshView &mesh)
      : op(op), dim(dim), mesh(mesh), builder(op), input(op->getOperand(0)),
        layout(getLayout(input, mesh)), shards(mesh.size(layout[dim])),
        size(ranked(input).getDimSize(dim) / shards) {}

  /// Whether each of several shards has several elements, as many as the
  /// others.
  bool isSplit() const {
    return shards > 1 && size > 1 &&
           ranked(input).getDimSize(dim) == shards * size &&
           !llvm::is_contained(layout[dim], mesh.timeAxis());
  }
  bool canSplit(CumsumOp) const { return isSplit(); }
  bool canSplit(ArgmaxOp) const { return isSplit(); }
  /// Values are looked up along the last dimension only.
  bool canSplit(TopKOp top) const {
    return isSplit() && dim + 1 == ranked(input).getRank() &&
           ranked(top).getDimSize(dim) <= size;
  }

  Value split(CumsumOp cumsum);
  Value split(ArgmaxOp argmax);
  Value split(TopKOp top);

private:
  template <typename OpTy, typename... Args>
  Value create(const Layout &layout, ArrayRef<int64_t> shape, Type element,
               Args &&...args) {
    Value value = OpTy::create(builder, dropSources(op->getLoc()),
                               RankedTensorType::get(shape, element),
                               std::forward<Args>(args)...);
    Operation *created = value.getDefiningOp();
    created->setAttr(attrs::kShardings,
                     builder.getArrayAttr(mesh.toSharding(layout)));
    for (StringRef name : {attrs::kKind, attrs::kOrigin, attrs::kStages})
      if (Attribute mark = op->getAttr(name))
        created->setAttr(name, mark);
    return value;
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
  /// The input's shape, or layout, with the scanned dimension as these.
  SmallVector<int64_t> shapeWith(ArrayRef<int64_t> sizes) const;
  Layout layoutWith(ArrayRef<AxisList> axes) const;
  /// All dimensions of `rank` but one.
  SmallVector<int64_t> allBut(int64_t rank, int64_t left) const;

  Operation *op;
  int64_t dim;
  const MeshView &mesh;
  OpBuilder builder;
  Value input;
  Layout layout;
  int64_t shards, size;
};

SmallVector<int64_t> ScanSplitter::shapeWith(ArrayRef<int64_t> sizes) const {
  SmallVector<int64_t> shape(ranked(input).getShape());
  shape.erase(shape.begin() + dim);
  shape.insert(shape.begin() + dim, sizes.begin(), sizes.end());
  return shape;
}

Layout ScanSplitter::layoutWith(ArrayRef<AxisList> axes) const {
  Layout result = layout;
  result.erase(result.begin() + dim);
  result.insert(result.begin() + dim, axes.begin(), axes.end());
  return result;
}

SmallVector<int64_t> ScanSplitter::allBut(int64_t rank, int64_t left) const {
  SmallVector<int64_t> dims = llvm::to_vector(llvm::seq<int64_t>(rank));
  dims.erase(dims.begin() + left);
  return dims;
}

Value ScanSplitter::splat(const Layout &layout, ArrayRef<int64_t> shape,
                          TypedAttr value) {
  auto type = RankedTensorType::get(shape, value.getType());
  return create<ConstantOp>(layout, shape, value.getType(),
                            DenseElementsAttr::get(type, Attribute(value)));
}

Value ScanSplitter::toGlobal(Value places, const Layout &layout) {
  ArrayRef<int64_t> shape = ranked(places).getShape();
  Type i32 = builder.getI32Type();
  Value first =
      create<MulOp>(layout, shape, i32, create<IotaOp>(layout, shape, i32, dim),
                    splat(layout, shape, builder.getI32IntegerAttr(size)));
  return create<AddOp>(layout, shape, i32, first, places);
}

Value ScanSplitter::shift(Value totals, bool isReverse) {
  Type element = ranked(totals).getElementType();
  Layout whole = layoutWith({AxisList()});
  SmallVector<int64_t> shape(ranked(totals).getShape()),
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

/// The running sum of a shard, plus what the shards before it sum up to.
Value ScanSplitter::split(CumsumOp cumsum) {
  Type element = ranked(input).getElementType();
  const AxisList &axes = layout[dim];
  Layout inShards = layoutWith({axes, {}}), perShard = layoutWith({axes}),
         whole = layoutWith({AxisList()});
  SmallVector<int64_t> shape = shapeWith({shards, size}),
                       numbers = shapeWith({shards});
  Value parts = create<ReshapeOp>(inShards, shape, element, input);
  Value sums = create<CumsumOp>(inShards, shape, element, parts, dim + 1,
                                cumsum.getReverse());
  Value totals = create<ReduceOp>(perShard, numbers, element, Reduction::Sum,
                                  parts, ArrayRef<int64_t>(dim + 1));
  Value before = create<CumsumOp>(whole, numbers, element,
                                  shift(totals, cumsum.getReverse()), dim,
                                  cumsum.getReverse());
  Value start = create<BroadcastOp>(inShards, shape, element, before,
                                    allBut(shape.size(), dim + 1));
  Value sum = create<AddOp>(inShards, shape, element, sums, start);
  return create<ReshapeOp>(layout, ranked(input).getShape(), element, sum);
}

/// A sum of one element and zeros.
Value ScanSplitter::lookUp(Value values, const Layout &layout, Value places,
                           const Layout &result, int64_t along) {
  ArrayRef<int64_t> all = ranked(values).getShape();
  Type element = ranked(values).getElementType(), i32 = builder.getI32Type();
  Value wanted =
      create<BroadcastOp>(layout, all, i32, places, allBut(all.size(), along));
  Value isThere =
      create<CompareOp>(layout, all, builder.getI1Type(), Direction::EQ, wanted,
                        create<IotaOp>(layout, all, i32, along));
  Value chosen =
      create<SelectOp>(layout, all, element, isThere, values,
                       splat(layout, all, builder.getZeroAttr(element)));
  return create<ReduceOp>(result, ranked(places).getShape(), element,
                          Reduction::Sum, chosen, ArrayRef<int64_t>(along));
}

/// The largest of each shard, then the shard with the largest of these.
Value ScanSplitter::split(ArgmaxOp) {
  Type element = ranked(input).getElementType(), i32 = builder.getI32Type();
  const AxisList &axes = layout[dim];
  Layout inShards = layoutWith({axes, {}}), perShard = layoutWith({axes}),
         result = layoutWith({});
  SmallVector<int64_t> numbers = shapeWith({shards}), shape = shapeWith({});
  Value parts =
      create<ReshapeOp>(inShards, shapeWith({shards, size}), element, input);
  Value places = create<ArgmaxOp>(perShard, numbers, i32, parts, dim + 1);
  // A maximum over a row may pass over NaN, an argmax does not.
  Value largest = lookUp(parts, inShards, places, perShard, dim + 1);
  Value winner = create<ArgmaxOp>(result, shape, i32, largest, dim);
  return lookUp(toGlobal(places, perShard), perShard, winner, result, dim);
}

/// The largest of each shard, then the largest of all of these. Of equal ones
/// the first comes first in both.
Value ScanSplitter::split(TopKOp top) {
  Type element = ranked(input).getElementType(), i32 = builder.getI32Type();
  const AxisList &axes = layout[dim];
  int64_t count = ranked(top).getDimSize(dim);
  Layout inShards = layoutWith({axes, {}}), candidates = layoutWith({axes}),
         result = layoutWith({AxisList()});
  SmallVector<int64_t> found = shapeWith({shards, count}),
                       all = shapeWith({shards * count}),
                       shape = shapeWith({count});
  Value parts =
      create<ReshapeOp>(inShards, shapeWith({shards, size}), element, input);
  Value places = create<TopKOp>(inShards, found, i32, parts, dim + 1);
  Value values =
      create<GatherOp>(inShards, found, element, parts, places, dim + 1);
  auto flatten = [&](Value value, Type of) {
    return create<ReshapeOp>(candidates, all, of, value);
  };
  Value best =
      create<TopKOp>(result, shape, i32, flatten(values, element), dim);
  return create<GatherOp>(result, shape, i32,
                          flatten(toGlobal(places, inShards), i32), best, dim);
}

template <typename OpTy> void splitIfSharded(OpTy op, const MeshView &mesh) {
  ScanSplitter splitter(op, op.getDimension(), mesh);
  if (!splitter.canSplit(op))
    return;
  Value split = splitter.split(op);
  inheritSources(split, op);
  op.replaceAllUsesWith(split);
  op.erase();
}

struct SplitScansPass : pp::impl::SplitScansBase<SplitScansPass> {
  void runOnOperation() override {
    FailureOr<ShardedMain> sharded = ShardedMain::of(getOperation());
    if (failed(sharded))
      return signalPassFailure();
    const MeshView &mesh = sharded->mesh;
    Block &body = sharded->main.getBody().front();
    for (Operation &op : llvm::make_early_inc_range(body)) {
      if (auto cumsum = dyn_cast<CumsumOp>(op))
        splitIfSharded(cumsum, mesh);
      else if (auto argmax = dyn_cast<ArgmaxOp>(op))
        splitIfSharded(argmax, mesh);
      else if (auto top = dyn_cast<TopKOp>(op))
        splitIfSharded(top, mesh);
    }
  }
};

} // namespace
