//===- StridedView.cpp - tensors as views of others -----------------------===//
//
// SPDX-License-Identifier: Apache-2.0
//
// In: view ops of the graph. Out: offsets and strides. Tensors without
// elements have no views.
//
//===----------------------------------------------------------------------===//
#include "pp/Analysis/StridedView.h"
#include "pp/IR/PP.h"
#include "pp/IR/PaddedRows.h"
#include "llvm/ADT/TypeSwitch.h"

using namespace mlir;
using namespace pp;

StridedView pp::denseView(RankedTensorType type) {
  StridedView view;
  int64_t stride = 1;
  for (int64_t size : llvm::reverse(type.getShape())) {
    view.dims.push_back({size, stride});
    stride *= size;
  }
  std::reverse(view.dims.begin(), view.dims.end());
  return view;
}

bool pp::isViewOp(Operation *op) {
  return isa_and_present<TransposeOp, ReshapeOp, SliceOp, BroadcastOp>(op);
}

/// The fewest dimensions that step through the same elements in order.
static SmallVector<StridedDim> collapse(ArrayRef<StridedDim> dims) {
  SmallVector<StridedDim> merged;
  for (StridedDim dim : dims) {
    if (dim.size == 1)
      continue;
    if (!merged.empty() && merged.back().stride == dim.stride * dim.size)
      merged.back() = {merged.back().size * dim.size, dim.stride};
    else
      merged.push_back(dim);
  }
  return merged;
}

std::optional<StridedDim> pp::mergeDims(ArrayRef<StridedDim> dims) {
  SmallVector<StridedDim> merged = collapse(dims);
  if (merged.size() > 1)
    return std::nullopt;
  return merged.empty() ? StridedDim{1, 1} : merged.front();
}

/// Fills the new shape from its minor end out of the collapsed dimensions.
static std::optional<StridedView> reshapeView(const StridedView &view,
                                              ArrayRef<int64_t> shape) {
  SmallVector<StridedDim> source = collapse(view.dims);
  StridedView result;
  result.offset = view.offset;
  result.dims.assign(shape.size(), {1, 0});
  for (size_t dim = shape.size(); dim-- > 0;) {
    if (shape[dim] == 1)
      continue;
    while (!source.empty() && source.back().size == 1)
      source.pop_back();
    if (source.empty() || shape[dim] == 0 ||
        source.back().size % shape[dim] != 0)
      return std::nullopt;
    result.dims[dim] = {shape[dim], source.back().stride};
    source.back().stride *= shape[dim];
    source.back().size /= shape[dim];
  }
  return result;
}

static StridedView transposeView(const StridedView &view,
                                 ArrayRef<int64_t> permutation) {
  StridedView result;
  result.offset = view.offset;
  for (int64_t dim : permutation)
    result.dims.push_back(view.dims[dim]);
  return result;
}

static StridedView sliceView(const StridedView &view, SliceOp slice) {
  StridedView result;
  result.offset = view.offset;
  for (auto [dim, start, step, size] :
       llvm::zip_equal(view.dims, slice.getStarts(), slice.getStrides(),
                       slice.getType().getShape())) {
    result.offset += start * dim.stride;
    result.dims.push_back({size, dim.stride * step});
  }
  return result;
}

static StridedView broadcastView(const StridedView &view,
                                 BroadcastOp broadcast) {
  StridedView result;
  result.offset = view.offset;
  for (int64_t size : broadcast.getType().getShape())
    result.dims.push_back({size, 0});
  for (auto [dim, target] :
       llvm::zip_equal(view.dims, broadcast.getDimensions()))
    result.dims[target] = dim;
  return result;
}

std::optional<StridedView> pp::viewThrough(Operation *op,
                                           const StridedView &operand) {
  return llvm::TypeSwitch<Operation *, std::optional<StridedView>>(op)
      .Case([&](TransposeOp op) {
        return transposeView(operand, op.getPermutation());
      })
      .Case([&](ReshapeOp op) {
        return reshapeView(operand, op.getType().getShape());
      })
      .Case([&](SliceOp op) { return sliceView(operand, op); })
      .Case([&](BroadcastOp op) { return broadcastView(operand, op); })
      .Default([](Operation *) { return std::nullopt; });
}

std::optional<StridedView> pp::viewBefore(Operation *op,
                                          const StridedView &result) {
  if (auto reshape = dyn_cast<ReshapeOp>(op))
    return reshapeView(
        result,
        cast<RankedTensorType>(reshape.getOperand().getType()).getShape());
  if (isRowPadding(op)) {
    StridedView operand(result);
    operand.dims.back().size =
        cast<RankedTensorType>(op->getOperand(0).getType()).getShape().back();
    return operand;
  }
  auto transpose = dyn_cast<TransposeOp>(op);
  if (!transpose)
    return std::nullopt;
  StridedView operand(result);
  for (auto [dim, source] : llvm::enumerate(transpose.getPermutation()))
    operand.dims[source] = result.dims[dim];
  return operand;
}
