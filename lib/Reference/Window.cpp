//===- Window.cpp - reference meaning of convolutions and pooling ---------===//
//
// SPDX-License-Identifier: Apache-2.0
//
// Every element of the result, every tap of its window: whether the operand has
// an element there is asked each time.
//
//===----------------------------------------------------------------------===//
#include "Evaluators.h"
#include "Strides.h"
#include "llvm/ADT/TypeSwitch.h"
#include <cmath>

using namespace mlir;
using namespace pp;
using namespace pp::reference;

namespace {

/// Counts through a box, row-major; false after the last index.
bool advance(Index &index, ArrayRef<int64_t> sizes) {
  for (size_t dim = sizes.size(); dim-- > 0;) {
    if (++index[dim] < sizes[dim])
      return true;
    index[dim] = 0;
  }
  return false;
}

/// Calls `visit(index)` for every index of `sizes` in row-major order.
template <typename Visit> void forEach(ArrayRef<int64_t> sizes, Visit visit) {
  if (product(sizes) == 0)
    return;
  Index index(sizes.size(), 0);
  do
    visit(index);
  while (advance(index, sizes));
}

int64_t flatten(const Index &index, const Index &strides) {
  int64_t offset = 0;
  for (auto [i, stride] : llvm::zip_equal(index, strides))
    offset += i * stride;
  return offset;
}

HostTensor convolution(ConvolutionOp op, const HostTensor &lhs,
                       const HostTensor &rhs) {
  HostTensor result(cast<RankedTensorType>(op.getType()));
  const Index lhsStrides = rowMajorStrides(lhs.shape()),
              rhsStrides = rowMajorStrides(rhs.shape()),
              strides = rowMajorStrides(result.shape());
  SmallVector<int64_t> lhsFree = op.getLhsFree(), rhsFree = op.getRhsFree(),
                       plain = op.getResultPlain();
  Index contracted, taps;
  for (int64_t dim : op.getLhsContract())
    contracted.push_back(lhs.shape()[dim]);
  // The contracted elements at every place: steps from its first one.
  SmallVector<std::pair<int64_t, int64_t>> steps;
  forEach(contracted, [&](const Index &step) {
    int64_t left = 0, right = 0;
    for (size_t c = 0; c < contracted.size(); ++c) {
      left += step[c] * lhsStrides[op.getLhsContract()[c]];
      right += step[c] * rhsStrides[op.getRhsContract()[c]];
    }
    steps.emplace_back(left, right);
  });
  for (int64_t dim : op.getRhsWindow())
    taps.push_back(rhs.shape()[dim]);
  forEach(result.shape(), [&](const Index &at) {
    Index left(lhs.rank(), 0), right(rhs.rank(), 0);
    size_t next = 0;
    for (auto [a, b] : llvm::zip_equal(op.getLhsBatch(), op.getRhsBatch()))
      left[a] = right[b] = at[plain[next++]];
    for (int64_t dim : lhsFree)
      left[dim] = at[plain[next++]];
    for (int64_t dim : rhsFree)
      right[dim] = at[plain[next++]];
    double sum = 0.0;
    forEach(taps, [&](const Index &tap) {
      for (size_t w = 0; w < taps.size(); ++w) {
        const int64_t dim = op.getLhsWindow()[w],
                      dilation = op.getLhsDilation()[w];
        const int64_t place = at[op.getResultWindow()[w]] * op.getStrides()[w] +
                              tap[w] * op.getRhsDilation()[w] - op.getLow()[w];
        if (place < 0 || place % dilation != 0 ||
            place / dilation >= lhs.shape()[dim])
          return;
        left[dim] = place / dilation;
        right[op.getRhsWindow()[w]] =
            op.getReverse() ? taps[w] - 1 - tap[w] : tap[w];
      }
      const int64_t l = flatten(left, lhsStrides),
                    r = flatten(right, rhsStrides);
      for (auto [a, b] : steps)
        sum += lhs.values[l + a] * rhs.values[r + b];
    });
    result.values[flatten(at, strides)] = sum;
  });
  if (isa<IntegerType>(result.elementType()))
    result.roundToElement();
  return result;
}

/// Calls `visit(offset)` for the elements of the window at `at`, in order.
template <typename OpTy, typename Visit>
void forEachInWindow(OpTy op, const HostTensor &from, const Index &at,
                     Visit visit) {
  const Index strides = rowMajorStrides(from.shape());
  forEach(op.getSizes(), [&](const Index &tap) {
    Index place(at);
    for (auto [w, dim] : llvm::enumerate(op.getDimensions())) {
      place[dim] = at[dim] * op.getStrides()[w] +
                   tap[w] * op.getDilations()[w] - op.getLow()[w];
      if (place[dim] < 0 || place[dim] >= from.shape()[dim])
        return;
    }
    visit(flatten(place, strides));
  });
}

HostTensor reduceWindow(ReduceWindowOp op, const HostTensor &from) {
  HostTensor result(cast<RankedTensorType>(op.getType()),
                    identityOf(op.getReduction(), from.elementType()));
  int64_t next = 0;
  const bool isFloatSum =
      op.getReduction() == Reduction::Sum && isa<FloatType>(from.elementType());
  forEach(result.shape(), [&](const Index &at) {
    double &slot = result.values[next++];
    forEachInWindow(op, from, at, [&](int64_t offset) {
      slot = isFloatSum ? slot + from.values[offset]
                        : combine(op.getReduction(), from.elementType(), slot,
                                  from.values[offset]);
    });
  });
  return result;
}

HostTensor selectAndScatter(SelectAndScatterOp op, const HostTensor &from,
                            const HostTensor &updates) {
  HostTensor result(from.type);
  int64_t next = 0;
  forEach(updates.shape(), [&](const Index &at) {
    const double update = updates.values[next++];
    int64_t best = -1;
    forEachInWindow(op, from, at, [&](int64_t offset) {
      const double value = from.values[offset];
      if (best < 0 || value > from.values[best] ||
          (std::isnan(value) && !std::isnan(from.values[best])))
        best = offset;
    });
    if (best >= 0)
      result.values[best] += update;
  });
  return result;
}

} // namespace

std::optional<HostTensor> pp::reference::evaluateWindow(Operation *op,
                                                        Operands in) {
  return llvm::TypeSwitch<Operation *, std::optional<HostTensor>>(op)
      .Case([&](ConvolutionOp op) { return convolution(op, *in[0], *in[1]); })
      .Case([&](ReduceWindowOp op) { return reduceWindow(op, *in[0]); })
      .Case([&](SelectAndScatterOp op) {
        return selectAndScatter(op, *in[0], *in[1]);
      })
      .Default([](Operation *) { return std::nullopt; });
}
