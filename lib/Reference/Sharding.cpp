//===- Sharding.cpp - dividing and joining host tensors -------------------===//
//
// SPDX-License-Identifier: Apache-2.0
//
// The meaning of #pp.sharding, spelled out over device coordinates.
//
//===----------------------------------------------------------------------===//
#include "Boxes.h"
#include "Evaluators.h"
#include "pp/Reference/Spmd.h"
#include <cmath>

using namespace mlir;
using namespace pp;
using namespace pp::reference;

SmallVector<int64_t> pp::reference::deviceCoordinates(MeshAttr mesh,
                                                      int64_t device) {
  SmallVector<int64_t> coordinates(mesh.getAxes().size(), 0);
  for (int64_t axis = mesh.getAxes().size() - 1; axis >= 0; --axis) {
    MeshAxisAttr attr = mesh.getAxes()[axis];
    if (attr.getKind() == AxisKind::Time)
      continue;
    coordinates[axis] = device % attr.getSize();
    device /= attr.getSize();
  }
  return coordinates;
}

/// Index along `axes`, major to minor.
static int64_t indexAlong(ArrayRef<StringAttr> axes, MeshAttr mesh,
                          ArrayRef<int64_t> coordinates) {
  int64_t index = 0;
  for (StringAttr axis : axes)
    index = index * mesh.sizeOf(axis.getValue()) +
            coordinates[mesh.indexOf(axis.getValue())];
  return index;
}

static LogicalResult checkSharding(int64_t rank, ShardingAttr sharding,
                                   MeshAttr mesh, EmitError emitError) {
  if (sharding.getRank() != rank)
    return emitError() << "expects a sharding of rank " << rank << ", got "
                       << sharding;
  auto exists = [&](StringAttr axis) -> LogicalResult {
    if (mesh.lookup(axis.getValue()))
      return success();
    return emitError() << "expects an axis of " << mesh << ", got " << axis;
  };
  for (DimShardingAttr dim : sharding.getDims())
    for (StringAttr axis : dim.getAxes())
      if (failed(exists(axis)))
        return failure();
  for (PartialAxisAttr partial : sharding.getPartial())
    if (failed(exists(partial.getAxis())))
      return failure();
  return success();
}

FailureOr<HostTensor> pp::reference::shardTensor(const HostTensor &global,
                                                 ShardingAttr sharding,
                                                 MeshAttr mesh,
                                                 ArrayRef<int64_t> coordinates,
                                                 EmitError emitError) {
  if (failed(checkSharding(global.rank(), sharding, mesh, emitError)))
    return failure();
  HostTensor shard = global;
  for (auto [dim, split] : llvm::enumerate(sharding.getDims())) {
    int64_t count = mesh.sizeOf(split.getAxes());
    if (global.shape()[dim] % count)
      return emitError() << "expects dimension " << dim << " of " << global.type
                         << " to divide by " << count;
    if (count > 1)
      shard = partOf(shard, dim, indexAlong(split.getAxes(), mesh, coordinates),
                     count);
  }
  for (PartialAxisAttr partial : sharding.getPartial()) {
    double identity = identityOf(partial.getReduction(), global.elementType());
    if (coordinates[mesh.indexOf(partial.getAxis().getValue())] != 0)
      llvm::fill(shard.values, identity);
  }
  return shard;
}

static bool areEqual(const HostTensor &a, const HostTensor &b) {
  return a.type == b.type &&
         llvm::all_of(llvm::zip_equal(a.values, b.values), [](auto pair) {
           auto [x, y] = pair;
           return x == y || (std::isnan(x) && std::isnan(y));
         });
}

FailureOr<HostTensor> pp::reference::unshardTensor(
    function_ref<const HostTensor &(ArrayRef<int64_t>)> shardAt,
    ShardingAttr sharding, MeshAttr mesh, EmitError emitError) {
  size_t numAxes = mesh.getAxes().size();
  SmallVector<int64_t> coordinates(numAxes, 0);
  RankedTensorType local = shardAt(coordinates).type;
  if (failed(checkSharding(local.getRank(), sharding, mesh, emitError)))
    return failure();
  SmallVector<int64_t> shape(local.getShape());
  for (auto [size, dim] : llvm::zip_equal(shape, sharding.getDims()))
    size *= mesh.sizeOf(dim.getAxes());
  std::optional<Reduction> reduction;
  for (PartialAxisAttr partial : sharding.getPartial()) {
    if (reduction && *reduction != partial.getReduction())
      return emitError() << "expects one kind of reduction, got " << sharding;
    reduction = partial.getReduction();
  }
  llvm::SmallBitVector meaningful(numAxes);
  for (DimShardingAttr dim : sharding.getDims())
    for (StringAttr axis : dim.getAxes())
      meaningful.set(mesh.indexOf(axis.getValue()));
  for (PartialAxisAttr partial : sharding.getPartial())
    meaningful.set(mesh.indexOf(partial.getAxis().getValue()));

  Type element = local.getElementType();
  HostTensor global(RankedTensorType::get(shape, element),
                    reduction ? identityOf(*reduction, element) : 0.0);
  Index strides = rowMajorStrides(shape);
  int64_t points = 1;
  for (MeshAxisAttr axis : mesh.getAxes())
    points *= axis.getSize();
  for (int64_t point = 0; point < points; ++point) {
    SmallVector<int64_t> first(numAxes, 0);
    for (int64_t axis = numAxes - 1, rest = point; axis >= 0; --axis) {
      coordinates[axis] = rest % mesh.getAxes()[axis].getSize();
      rest /= mesh.getAxes()[axis].getSize();
      if (meaningful.test(axis))
        first[axis] = coordinates[axis];
    }
    const HostTensor &shard = shardAt(coordinates);
    if (first != coordinates) {
      if (!areEqual(shard, shardAt(first)))
        return emitError() << "expects equal copies under " << sharding
                           << ", got different ones at [" << first << "] and ["
                           << coordinates << "]";
      continue;
    }
    View view{0, strides};
    for (auto [dim, split] : llvm::enumerate(sharding.getDims()))
      view.base += indexAlong(split.getAxes(), mesh, coordinates) *
                   local.getDimSize(dim) * strides[dim];
    walk(local.getShape(), view, [&](int64_t linear, int64_t offset) {
      double value = shard.values[linear];
      double &slot = global.values[offset];
      slot = reduction ? combine(*reduction, element, slot, value) : value;
    });
  }
  return global;
}
