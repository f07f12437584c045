//===- UnfoldWindows.h - convolutions become dots ---------------*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0
//
// In: a convolution. Out: the dot_general of the same result whose lhs holds
// what each position and tap of the windows meets, one copy of an element for
// each ("im2col": Chellapilla et al., 2006). For a target whose library
// multiplies matrices and knows no windows.
//
// The copies are a gather of rows, so that neighbours behind the windows, as
// the channels of NHWC, are copied together; what pads and dilates lhs is
// computed by whoever copies. Of a convolution by kernel x kernel taps they are
// kernel^2 / stride^2 times as large as lhs, for as long as the dot takes.
//
//===----------------------------------------------------------------------===//
#ifndef PP_LIB_TRANSFORMS_LOWER_UNFOLDWINDOWS_H
#define PP_LIB_TRANSFORMS_LOWER_UNFOLDWINDOWS_H

#include "pp/IR/PP.h"
#include "pprt/Target.h"

namespace pp {

/// Replaces the convolution, and returns the dot; null, with nothing changed,
/// if the target does not wish so, the windows are not neighbours in lhs, these
/// are no floats, or a tensor has no elements.
DotGeneralOp unfoldWindows(ConvolutionOp convolution,
                           const pprt::KernelTuning &tuning);

} // namespace pp

#endif // PP_LIB_TRANSFORMS_LOWER_UNFOLDWINDOWS_H
