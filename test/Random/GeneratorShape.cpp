//===- GeneratorShape.cpp - random programs move and cut tensors ----------===//
//
// SPDX-License-Identifier: Apache-2.0
//
// Values stay what they are; only their places change.
//
//===----------------------------------------------------------------------===//
#include "Generator.h"

using namespace mlir;
using namespace pp;
using namespace pp::testing;

Value Generator::move(Value x) {
  if (!hasOwnDim(x))
    return simple(x);
  if (!isLogic(x) && chance(30)) {
    int64_t dim = drawOwnDim(x);
    const double magnitude = magnitudeOf(x) * typeOf(x).getDimSize(dim);
    if (mayRound(x, magnitude))
      return simple(x);
    return limit(make<CumsumOp>(typeOf(x), x, dim, chance(50)), magnitude);
  }
  if (chance(25))
    return keep(make<ReverseOp>(typeOf(x), x, Sizes{drawOwnDim(x)}), x);
  Sizes permutation = range(0, rankOf(x)), shape;
  llvm::shuffle(permutation.begin() + ownDim(x), permutation.end(), random);
  for (int64_t dim : permutation)
    shape.push_back(shapeOf(x)[dim]);
  return keep(make<TransposeOp>(like(x, shape), x, permutation), x);
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
  return keep(make<BroadcastOp>(like(x, shape), x, dims), x);
}

/// Two dimensions become one, or one two, or several get any other sizes of the
/// same product, nested in the old ones or not.
Value Generator::regroup(Value x) {
  Sizes shape = shapeOf(x);
  if (!hasOwnDim(x))
    return simple(x);
  if (product(shape) == 0) { // any shape with a zero
    shape.resize(ownDim(x) + below(4 - ownDim(x)));
    for (int64_t &size : MutableArrayRef(shape).drop_front(ownDim(x)))
      size = drawSize();
    shape.insert(
        shape.begin() + ownDim(x) + below(shape.size() - ownDim(x) + 1), 0);
    return keep(make<ReshapeOp>(like(x, shape), x), x);
  }
  int64_t dim = drawOwnDim(x);
  if (dim + 1 < rankOf(x) && chance(40)) {
    int64_t end = dim + 2 + below(rankOf(x) - dim - 1);
    int64_t rest = product(ArrayRef<int64_t>(shape).slice(dim, end - dim));
    for (; dim + 1 < end; ++dim) {
      Sizes divisors;
      for (int64_t size = 1; size <= rest; ++size)
        if (rest % size == 0)
          divisors.push_back(size);
      shape[dim] = divisors[below(divisors.size())];
      rest /= shape[dim];
    }
    shape[dim] = rest;
    return keep(make<ReshapeOp>(like(x, shape), x), x);
  }
  if (dim + 1 < rankOf(x) && chance(50)) {
    shape[dim] *= shape[dim + 1];
    shape.erase(shape.begin() + dim + 1);
  } else if (shape[dim] % 2 == 0 && rankOf(x) < 4) {
    int64_t major = chance(50) ? 2 : shape[dim] / 2;
    shape.insert(shape.begin() + dim + 1, shape[dim] / major);
    shape[dim] = major;
  }
  return keep(make<ReshapeOp>(like(x, shape), x), x);
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
    return limit(make<ConcatenateOp>(like(x, shape), ValueRange{x, y}, dim),
                 std::max(magnitudeOf(x), magnitudeOf(y)));
  }
  Sizes starts(rankOf(x), 0), limits(shape), strides(rankOf(x), 1);
  starts[dim] = below(shape[dim] + options.mixesTypes);
  strides[dim] = 1 + below(2);
  shape[dim] = llvm::divideCeil(shape[dim] - starts[dim], strides[dim]);
  return keep(make<SliceOp>(like(x, shape), x, starts, limits, strides), x);
}

/// A box at a computed place, read or written over.
Value Generator::box(Value x) {
  if (!hasOwnDim(x))
    return simple(x);
  Sizes shape = shapeOf(x);
  int64_t dim = drawOwnDim(x);
  if (shape[dim] > 0)
    shape[dim] = 1 + below(shape[dim]);
  SmallVector<Value> starts;
  Type index = options.mixesTypes && chance(50) ? builder.getI64Type()
                                                : builder.getI32Type();
  for (int64_t d = 0; d < rankOf(x); ++d)
    starts.push_back(scalar(index, d < ownDim(x) ? 0 : below(4)));
  Value part = keep(make<DynamicSliceOp>(like(x, shape), x, starts), x);
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
  shape[dim] += low[dim] + high[dim] +
                std::max<int64_t>(shape[dim] - 1, 0) * interior[dim];
  if (isTooLarge(shape))
    return simple(x);
  Value value = scalar(typeOf(x).getElementType(), below(2));
  return limit(make<PadOp>(like(x, shape), x, value, low, high, interior),
               std::max(magnitudeOf(x), 1.0));
}
