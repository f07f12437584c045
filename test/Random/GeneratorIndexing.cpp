//===- GeneratorIndexing.cpp - random programs look up and add rows -------===//
//
// SPDX-License-Identifier: Apache-2.0
//
// Gathers and scattered additions in the forms that models have them in, and in
// some that they hardly ever have.
//
//===----------------------------------------------------------------------===//
#include "Generator.h"

using namespace mlir;
using namespace pp;
using namespace pp::testing;

/// A lookup in a table per example, or in one for all of them; or an addition
/// to one.
Value Generator::indexing(Value x) {
  if (!hasOwnDim(x) || shapeOf(x)[ownDim(x)] == 0)
    return simple(x);
  if (chance(ownDim(x) ? 50 : 30))
    return mergedIndexing(x);
  if (chance(30))
    return oddIndexing(x);
  int64_t batchDims = ownDim(x);
  Sizes shape = shapeOf(indices);
  llvm::append_range(shape,
                     ArrayRef<int64_t>(shapeOf(x)).drop_front(batchDims + 1));
  if (isTooLarge(shape))
    return simple(x);
  bool isOneForAll = batched.contains(indices) && batchDims == 0;
  if (isLogic(x) || isOneForAll || chance(50))
    return keep(make<GatherOp>(like(x, shape), x, indices, batchDims), x);
  Value rows = make<GatherOp>(like(x, shape), x, indices, batchDims);
  return limit(
      make<ScatterAddOp>(typeOf(x), x, indices, small(rows), batchDims),
      magnitudeOf(x) + shapeOf(indices).back());
}

/// The same by indices of which two dimensions were merged, as many models have
/// batch and sequence; or of each example, two others.
Value Generator::mergedIndexing(Value x) {
  const int64_t batchDims = ownDim(x);
  const bool mergesBatch = batched.contains(indices) && batchDims == 0;
  Value places = indices;
  if (!mergesBatch) {
    Sizes shape = shapeOf(indices), dims = range(0, shape.size());
    // Few for each of a batch's tables, so that some have more rows than that.
    shape.insert(shape.begin() + batchDims,
                 batchDims ? 2 + below(2) : drawSize());
    ++dims.back();
    places = make<BroadcastOp>(i32(shape), indices, dims);
  }
  Sizes split = shapeOf(places),
        rest(ArrayRef<int64_t>(shapeOf(x)).drop_front(batchDims + 1));
  Sizes merged(ArrayRef<int64_t>(split).take_front(batchDims));
  merged.push_back(product(ArrayRef<int64_t>(split).drop_front(batchDims)));
  Value flat = make<ReshapeOp>(i32(merged), places);
  const int64_t numRows = merged.back();
  llvm::append_range(merged, rest);
  llvm::append_range(split, rest);
  if (isTooLarge(split))
    return simple(x);
  Value rows = keep(make<GatherOp>(like(x, merged), x, flat, batchDims), x);
  if (isLogic(x) || mergesBatch || mayRound(x, magnitudeOf(x) + numRows) ||
      chance(batchDims ? 20 : 50))
    return keep(make<ReshapeOp>(like(x, split), rows), x);
  return limit(make<ScatterAddOp>(typeOf(x), x, flat, small(rows), batchDims),
               magnitudeOf(x) + numRows);
}

Value Generator::cutRows(Value x, int64_t dim, int64_t size) {
  Sizes starts(rankOf(x), 0), limits = shapeOf(x), strides(rankOf(x), 1);
  limits[dim] = size;
  auto type = RankedTensorType::get(limits, typeOf(x).getElementType());
  return make<SliceOp>(type, x, starts, limits, strides);
}

/// Tables of one row or none, and indices of which there are none.
Value Generator::oddIndexing(Value x) {
  int64_t table = ownDim(x);
  Sizes shape = shapeOf(indices), rest = shapeOf(x);
  llvm::append_range(shape, ArrayRef<int64_t>(rest).drop_front(table + 1));
  if (isTooLarge(shape))
    return simple(x);
  bool isOneForAll = batched.contains(indices) && table == 0;
  if (isLogic(x) || isOneForAll || chance(40)) {
    Value one = keep(cutRows(x, table, 1), x);
    return keep(make<GatherOp>(like(x, shape), one, indices, table), x);
  }
  if (chance(50)) {
    Value none = cutRows(indices, table, 0);
    shape[table] = 0;
    Value rows = make<GatherOp>(like(x, shape), x, none, table);
    return keep(make<ScatterAddOp>(typeOf(x), x, none, rows, table), x);
  }
  // Every update falls outside.
  Value rows = make<GatherOp>(like(x, shape), x, indices, table);
  Value empty = cutRows(x, table, 0);
  Value same = make<ScatterAddOp>(typeOf(empty), empty, indices, rows, table);
  rest.erase(rest.begin() + table);
  return make<ReduceOp>(like(x, rest), Reduction::Sum, same,
                        range(table, table + 1));
}
