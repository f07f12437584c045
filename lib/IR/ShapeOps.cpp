//===- ShapeOps.cpp - verifiers of ops that move elements -----------------===//
//
// SPDX-License-Identifier: Apache-2.0
//
// GraphOps.td has the labels of constraints. ODS has checked that operands are
// tensors of static shape.
//
//===----------------------------------------------------------------------===//
#include "OpVerifiers.h"
#include "mlir/IR/Builders.h"
#include "pp/IR/Values.h"

using namespace mlir;
using namespace pp;

LogicalResult BroadcastOp::verify() {
  auto from = ranked(getOperand());
  ArrayRef<int64_t> dims = getDimensions();
  int64_t last = -1;
  bool increasing = static_cast<int64_t>(dims.size()) == from.getRank();
  for (int64_t dim : dims) {
    increasing &= dim > last && dim < getType().getRank();
    last = dim;
  }
  if (!increasing)
    return emitOpError() << "expects " << from.getRank()
                         << " strictly increasing dimensions below "
                         << getType().getRank() << ", got [" << dims
                         << "] (broadcast_c1)";
  for (auto [index, dim] : llvm::enumerate(dims))
    if (from.getDimSize(index) != getType().getDimSize(dim))
      return emitOpError() << "expects result dimension " << dim
                           << " to have size " << from.getDimSize(index)
                           << ", got " << getType().getDimSize(dim)
                           << " (broadcast_c2)";
  return success();
}

LogicalResult ReshapeOp::verify() {
  if (ranked(getOperand()).getNumElements() == getType().getNumElements())
    return success();
  return emitOpError() << "expects " << ranked(getOperand()).getNumElements()
                       << " elements, got " << getType().getNumElements()
                       << " (reshape_c1)";
}

LogicalResult ReverseOp::verify() {
  return expectIncreasing(*this, getDimensions(), getType().getRank(),
                          "reverse_c1");
}

LogicalResult TransposeOp::verify() {
  auto from = ranked(getOperand());
  SmallVector<int64_t> sorted(getPermutation());
  llvm::sort(sorted);
  if (sorted != llvm::to_vector(llvm::seq<int64_t>(from.getRank())))
    return emitOpError() << "expects a permutation of " << from.getRank()
                         << " dimensions, got [" << getPermutation()
                         << "] (transpose_c1)";
  SmallVector<int64_t> shape;
  for (int64_t dim : getPermutation())
    shape.push_back(from.getDimSize(dim));
  if (getType().getShape() != ArrayRef<int64_t>(shape))
    return emitOpError() << "expects type "
                         << RankedTensorType::get(shape, from.getElementType())
                         << ", got " << getType() << " (transpose_c2)";
  return success();
}

LogicalResult SliceOp::verify() {
  auto from = ranked(getOperand());
  size_t rank = from.getRank();
  if (getStarts().size() != rank || getLimits().size() != rank ||
      getStrides().size() != rank)
    return emitOpError() << "expects " << rank
                         << " starts, limits and strides, got [" << getStarts()
                         << "], [" << getLimits() << "], [" << getStrides()
                         << "] (slice_c1)";
  SmallVector<int64_t> shape;
  for (size_t dim = 0; dim < rank; ++dim) {
    int64_t start = getStarts()[dim], limit = getLimits()[dim],
            stride = getStrides()[dim];
    if (start < 0 || start > limit || limit > from.getDimSize(dim) ||
        stride < 1)
      return emitOpError() << "expects 0 <= start <= limit <= "
                           << from.getDimSize(dim)
                           << " and a stride of at least 1 in dimension " << dim
                           << ", got " << start << ", " << limit << ", "
                           << stride << " (slice_c2)";
    shape.push_back((limit - start + stride - 1) / stride);
  }
  if (getType().getShape() != ArrayRef<int64_t>(shape))
    return emitOpError() << "expects type "
                         << RankedTensorType::get(shape, from.getElementType())
                         << ", got " << getType() << " (slice_c3)";
  return success();
}

LogicalResult PadOp::verify() {
  auto from = ranked(getOperand());
  size_t rank = from.getRank();
  auto negative = [](ArrayRef<int64_t> values) {
    return llvm::any_of(values, [](int64_t value) { return value < 0; });
  };
  if (getLow().size() != rank || getHigh().size() != rank ||
      getInterior().size() != rank || negative(getLow()) ||
      negative(getHigh()) || negative(getInterior()) ||
      ranked(getValue()).getRank() != 0)
    return emitOpError() << "expects " << rank
                         << " low, high and interior amounts of at least 0 and "
                            "a scalar, got ["
                         << getLow() << "], [" << getHigh() << "], ["
                         << getInterior() << "] and " << getValue().getType()
                         << " (pad_c1)";
  SmallVector<int64_t> shape;
  for (size_t dim = 0; dim < rank; ++dim) {
    const int64_t size = from.getDimSize(dim);
    int64_t padded = 0;
    if (llvm::MulOverflow(std::max<int64_t>(size - 1, 0), getInterior()[dim],
                          padded) ||
        llvm::AddOverflow(padded, size, padded) ||
        llvm::AddOverflow(padded, getLow()[dim], padded) ||
        llvm::AddOverflow(padded, getHigh()[dim], padded))
      return emitOpError() << "expects a dimension of less than 2^63 elements, "
                              "got more in dimension "
                           << dim << " (pad_c2)";
    shape.push_back(padded);
  }
  if (getType().getShape() != ArrayRef<int64_t>(shape))
    return emitOpError() << "expects type "
                         << RankedTensorType::get(shape, from.getElementType())
                         << ", got " << getType() << " (pad_c2)";
  return success();
}

LogicalResult ConcatenateOp::verify() {
  int64_t dimension = getDimension(), rank = getType().getRank();
  if (getOperands().empty() || dimension < 0 || dimension >= rank ||
      llvm::any_of(
          getOperands(), [&](Value v) { return ranked(v).getRank() != rank; }))
    return emitOpError() << "expects operands of rank " << rank
                         << " and a dimension below it, got "
                         << getOperandTypes() << " and " << dimension
                         << " (concatenate_c1)";
  SmallVector<int64_t> shape(ranked(getOperands().front()).getShape());
  shape[dimension] = 0;
  for (Value operand : getOperands()) {
    SmallVector<int64_t> other(ranked(operand).getShape());
    std::swap(shape[dimension], other[dimension]);
    int64_t size = shape[dimension];
    shape[dimension] = other[dimension];
    if (shape != other)
      return emitOpError() << "expects sizes that agree but in dimension "
                           << dimension << ", got " << operand.getType()
                           << " (concatenate_c2)";
    shape[dimension] += size;
  }
  if (getType().getShape() != ArrayRef<int64_t>(shape))
    return emitOpError() << "expects type "
                         << RankedTensorType::get(shape,
                                                  getType().getElementType())
                         << ", got " << getType() << " (concatenate_c2)";
  return success();
}

/// `part` fits into `whole` and there is a start per dimension.
static bool fits(RankedTensorType part, RankedTensorType whole, size_t starts) {
  return part.getRank() == whole.getRank() &&
         part.getElementType() == whole.getElementType() &&
         starts == static_cast<size_t>(whole.getRank()) &&
         llvm::all_of(
             llvm::zip_equal(part.getShape(), whole.getShape()),
             [](auto pair) { return std::get<0>(pair) <= std::get<1>(pair); });
}

LogicalResult DynamicSliceOp::verify() {
  if (fits(getType(), ranked(getOperand()), getStarts().size()))
    return success();
  return emitOpError() << "expects a part of " << getOperand().getType()
                       << " and a start per dimension, got " << getType()
                       << " and " << getStarts().size()
                       << " starts (dynamic_slice_c1)";
}

LogicalResult DynamicUpdateSliceOp::verify() {
  if (fits(ranked(getUpdate()), ranked(getOperand()), getStarts().size()))
    return success();
  return emitOpError() << "expects a part of " << getOperand().getType()
                       << " and a start per dimension, got "
                       << getUpdate().getType() << " and " << getStarts().size()
                       << " starts (dynamic_update_slice_c1)";
}
