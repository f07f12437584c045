//===- StridedView.h - tensors as views of others ---------------*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0
//
// Transposes, slices, broadcasts and many reshapes move no data: their result
// is the operand read with other strides. These functions compute the strides.
//
//===----------------------------------------------------------------------===//
#ifndef PP_ANALYSIS_STRIDEDVIEW_H
#define PP_ANALYSIS_STRIDEDVIEW_H

#include "mlir/IR/BuiltinTypes.h"
#include "mlir/IR/Operation.h"
#include "llvm/ADT/SmallVector.h"
#include <optional>

namespace pp {

/// Strides count elements; 0 repeats.
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

/// True for ops that viewThrough() may know how to follow.
bool isViewOp(mlir::Operation *op);

/// The result of `op` as a view of what its operand is a view of; nothing if
/// the op moves data.
std::optional<StridedView> viewThrough(mlir::Operation *op,
                                       const StridedView &operand);

/// The operand of `op`, a transpose, a reshape or padding of rows, as a view of
/// what its result is a view of: where a producer writes so that the op need not be done.
std::optional<StridedView> viewBefore(mlir::Operation *op,
                                      const StridedView &result);

/// Some dimensions, major to minor, as one; nothing if no single stride steps
/// through them. One element has stride 1.
std::optional<StridedDim> mergeDims(llvm::ArrayRef<StridedDim> dims);

} // namespace pp

#endif // PP_ANALYSIS_STRIDEDVIEW_H
