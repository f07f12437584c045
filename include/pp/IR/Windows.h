//===- Windows.h - windows of convolutions and pooling ----------*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0
//
// Convolutions and pooling in one form. The reference interpreter has its own.
//
//===----------------------------------------------------------------------===//
#ifndef PP_IR_WINDOWS_H
#define PP_IR_WINDOWS_H

#include "pp/IR/PP.h"

namespace pp {

/// Position p and tap t meet at element p * stride + t * dilation - low of the
/// operand, whose elements are `baseDilation` apart.
struct Window {
  int64_t size; ///< of the operand
  int64_t taps; ///< of the window
  int64_t stride, dilation, low, high, baseDilation = 1;
};

/// The number of positions; 0 if the window does not fit.
int64_t countPositions(const Window &window);

/// An upper bound on the distance from the operand's start, on either side, of
/// any place that a position and a tap name, inside the operand or not.
uint64_t getReach(const Window &window);

Window getWindow(ConvolutionOp op, unsigned index);
Window getWindow(ReduceWindowOp op, unsigned index);
Window getWindow(SelectAndScatterOp op, unsigned index);

/// All windows of an op; empty for other ops.
llvm::SmallVector<Window> getWindows(mlir::Operation *op);

} // namespace pp

#endif // PP_IR_WINDOWS_H
