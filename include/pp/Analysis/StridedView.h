//===- StridedView.h - tensors as views of others ---------------*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0
//
// Transposes, slices, broadcasts and many reshapes move no data: their result
// is the operand with other strides. These functions compute the strides.
//
//===----------------------------------------------------------------------===//
#ifndef PP_ANALYSIS_STRIDEDVIEW_H
#define PP_ANALYSIS_STRIDEDVIEW_H

#include "mlir/IR/BuiltinTypes.h"
#include "mlir/IR/Operation.h"
#include "llvm/ADT/SmallVector.h"
#include <optional>

namespace pp {

/// Strides count elements; 0 repeats one element.
struct StridedDim {
  int64_t size, stride;
};

/// Element (i, j, ...) is element `offset + i * stride_i + j * stride_j + ...`
/// of a dense row-major tensor.
struct StridedView {
  int64_t offset = 0;
  llvm::SmallVector<StridedDim> dims;
};

/// A dense tensor as a view of itself.
StridedView denseView(mlir::RankedTensorType type);

/// True for ops that viewThrough() may follow.
bool isViewOp(mlir::Operation *op);

/// The result of `op` as a view of the same tensor as its operand; nothing if
/// the op moves data.
std::optional<StridedView> viewThrough(mlir::Operation *op,
                                       const StridedView &operand);

/// The operand of `op` (a transpose, a reshape or padding of rows) as a view of
/// the same tensor as its result: a producer that writes so makes the op
/// unnecessary.
std::optional<StridedView> viewBefore(mlir::Operation *op,
                                      const StridedView &result);

/// Several dimensions, major to minor, as one; nothing if no single stride
/// covers them. One element has stride 1.
std::optional<StridedDim> mergeDims(llvm::ArrayRef<StridedDim> dims);

} // namespace pp

#endif // PP_ANALYSIS_STRIDEDVIEW_H
