//===- GeneratorReduction.cpp - sums and products of random programs ------===//
//
// SPDX-License-Identifier: Apache-2.0
//
// Reductions of every kind over some dimensions, but not over the examples, and
// products of two values that share a size.
//
//===----------------------------------------------------------------------===//
#include "Generator.h"

using namespace mlir;
using namespace pp;
using namespace pp::testing;

static int64_t countReduced(const Sizes &shape, const Sizes &dims) {
  int64_t count = 1;
  for (int64_t dim : dims)
    count *= shape[dim];
  return count;
}

Value Generator::reduction(Value x) {
  Sizes dims, shape;
  for (auto [dim, size] : llvm::enumerate(shapeOf(x))) {
    if (static_cast<int64_t>(dim) >= ownDim(x) && chance(50))
      dims.push_back(dim);
    else
      shape.push_back(size);
  }
  const int64_t count = countReduced(shapeOf(x), dims);
  if (isLogic(x))
    return make<ReduceOp>(like(x, shape),
                          chance(50) ? Reduction::And : Reduction::Or, x, dims);
  if (mayRound(x, magnitudeOf(x) * count))
    x = simple(small(x));
  if (chance(50) && !mayRound(x, count))
    return limit(make<ReduceOp>(like(x, shape), Reduction::Sum, x, dims),
                 magnitudeOf(x) * count);
  if (!options.isSmooth && count > 0 && chance(60))
    return keep(make<ReduceOp>(like(x, shape),
                               chance(50) ? Reduction::Max : Reduction::Min, x,
                               dims),
                x);
  return make<ReduceOp>(like(x, shape), Reduction::Prod, small(x), dims);
}

/// Contracts a dimension that two values share, sometimes with another one as
/// batch dimension.
Value Generator::contraction(Value x) {
  if (isLogic(x))
    return simple(x);
  SmallVector<Value> others(pool);
  llvm::shuffle(others.begin(), others.end(), random);
  for (Value y : others) {
    if (getElementTypeOrSelf(y) != getElementTypeOrSelf(x))
      continue;
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
    const double magnitude =
        magnitudeOf(lhs) * magnitudeOf(rhs) * a[lhsContract[0]];
    if (isTooLarge(shape) || mayRound(x, magnitude))
      continue;
    return limit(make<DotGeneralOp>(like(x, shape), lhs, rhs, lhsBatch,
                                    rhsBatch, lhsContract, rhsContract),
                 magnitude);
  }
  return simple(x);
}
