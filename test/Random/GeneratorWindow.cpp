//===- GeneratorWindow.cpp - windows that slide in random programs --------===//
//
// SPDX-License-Identifier: Apache-2.0
//
// Convolutions of two values and pooling of one, along one dimension. Examples
// are no window: what depends on them keeps them apart.
//
//===----------------------------------------------------------------------===//
#include "Generator.h"

using namespace mlir;
using namespace pp;
using namespace pp::testing;

/// A window of `taps` that finds a place, if any does.
std::optional<Window> Generator::drawWindow(int64_t size, int64_t taps) {
  Window window{size,
                taps,
                /*stride=*/1 + below(2),
                /*dilation=*/1 + below(2),
                /*low=*/below(4) - 1,
                /*high=*/below(4) - 1,
                /*baseDilation=*/1};
  if (countPositions(window) == 0)
    return std::nullopt;
  return window;
}

/// Whether every place of the window holds an element of the value.
static bool holdsElements(const Window &window) {
  return llvm::all_of(
      llvm::seq<int64_t>(countPositions(window)), [&](int64_t position) {
        const int64_t first = position * window.stride - window.low;
        return llvm::any_of(llvm::seq<int64_t>(window.taps), [&](int64_t tap) {
          const int64_t at = first + tap * window.dilation;
          return 0 <= at && at < window.size;
        });
      });
}

/// Slides one value over another, with a dimension to contract if they share
/// one, and the examples as groups if both have them.
Value Generator::convolution(Value x) {
  if (isLogic(x))
    return simple(x);
  SmallVector<Value> others(pool);
  llvm::shuffle(others.begin(), others.end(), random);
  for (Value y : others) {
    Value lhs = x, rhs = y;
    if (batched.contains(rhs) && !batched.contains(lhs))
      std::swap(lhs, rhs);
    if (!hasOwnDim(lhs) || !hasOwnDim(rhs) ||
        getElementTypeOrSelf(x) != getElementTypeOrSelf(y))
      continue;
    Sizes a = shapeOf(lhs), b = shapeOf(rhs), lhsBatch, rhsBatch, lhsContract,
          rhsContract, plain;
    if (batched.contains(rhs)) {
      lhsBatch.push_back(0);
      rhsBatch.push_back(0);
    }
    int64_t left = drawOwnDim(lhs), right = drawOwnDim(rhs);
    if (a[left] == 0 || b[right] == 0)
      continue;
    for (int64_t i = ownDim(lhs); i < rankOf(lhs) && lhsContract.empty(); ++i)
      for (int64_t j = ownDim(rhs); j < rankOf(rhs); ++j)
        if (i != left && j != right && a[i] == b[j]) {
          lhsContract.push_back(i);
          rhsContract.push_back(j);
          break;
        }
    std::optional<Window> window = drawWindow(a[left], b[right]);
    if (!window)
      continue;
    window->baseDilation = 1 + below(2);
    for (int64_t dim : lhsBatch)
      plain.push_back(a[dim]);
    for (auto [dim, size] : llvm::enumerate(a))
      if (int64_t(dim) != left && !llvm::is_contained(lhsBatch, dim) &&
          !llvm::is_contained(lhsContract, dim))
        plain.push_back(size);
    for (auto [dim, size] : llvm::enumerate(b))
      if (int64_t(dim) != right && !llvm::is_contained(rhsBatch, dim) &&
          !llvm::is_contained(rhsContract, dim))
        plain.push_back(size);
    // Examples stay in front.
    int64_t first = batched.contains(lhs) ? 1 : 0;
    int64_t at = first + below(plain.size() - first + 1);
    plain.insert(plain.begin() + at, countPositions(*window));
    if (isTooLarge(plain) || plain[at] == 0)
      continue;
    const double terms =
                     b[right] * (lhsContract.empty() ? 1 : a[lhsContract[0]]),
                 magnitude = magnitudeOf(lhs) * magnitudeOf(rhs) * terms;
    if (mayRound(x, magnitude))
      continue;
    return limit(make<ConvolutionOp>(
                     like(x, plain), lhs, rhs, lhsBatch, rhsBatch, lhsContract,
                     rhsContract, Sizes{left}, Sizes{right}, Sizes{at},
                     Sizes{window->stride}, Sizes{window->low},
                     Sizes{window->high}, Sizes{window->baseDilation},
                     Sizes{window->dilation}, chance(50)),
                 magnitude);
  }
  return simple(x);
}

Value Generator::pooling(Value x) {
  if (!hasOwnDim(x) || isLogic(x))
    return simple(x);
  Sizes shape = shapeOf(x);
  int64_t dim = drawOwnDim(x), taps = 1 + below(3);
  std::optional<Window> window = drawWindow(shape[dim], taps);
  if (!window)
    return simple(x);
  // Windows in the padding alone would hold infinities.
  bool isSum = options.isSmooth || chance(50) || !holdsElements(*window);
  shape[dim] = countPositions(*window);
  Reduction reduction = isSum        ? Reduction::Sum
                        : chance(50) ? Reduction::Max
                                     : Reduction::Min;
  return limit(make<ReduceWindowOp>(like(x, shape), reduction, x, Sizes{dim},
                                    Sizes{taps}, Sizes{window->stride},
                                    Sizes{window->dilation}, Sizes{window->low},
                                    Sizes{window->high}),
               magnitudeOf(x) * (isSum ? taps : 1));
}
