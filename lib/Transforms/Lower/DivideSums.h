//===- DivideSums.h - long sums as sums of sums -----------------*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0
//
// A part of pp-form-kernels, for targets that wish it.
//
//===----------------------------------------------------------------------===//
#ifndef PP_LIB_TRANSFORMS_LOWER_DIVIDESUMS_H
#define PP_LIB_TRANSFORMS_LOWER_DIVIDESUMS_H

#include "pp/IR/PP.h"
#include "pprt/Target.h"

namespace pp {

/// A sum (or the like) of all elements is one row, which one core works on. If
/// these are many, it becomes the sum of many rows' sums.
void divideSum(ReduceOp sum, const pprt::KernelTuning &tuning);

/// A sum over leading dimensions, which leaves columns, becomes the sum of sums
/// over blocks of the last of these dimensions: such a block can be added up by
/// the kernel that makes it. True if it was divided.
bool divideColumnSum(ReduceOp sum, const pprt::KernelTuning &tuning);

/// A sum, or a product, of many elements for each of few results, which would
/// keep few cores busy, becomes the sum of what parts of its outermost
/// dimensions add up to: of lhs's outermost one, for a product. What is bf16 is
/// rounded once, at the end. Left as it is where no divisor makes such parts.
bool divideFewSums(ReduceOp sum, const pprt::KernelTuning &tuning);
void divideFewProducts(DotGeneralOp dot, const pprt::KernelTuning &tuning);

/// How many rows of a dimension of `size` such a block has; 1: none is made.
int64_t getSumBlock(int64_t size, const pprt::KernelTuning &tuning);

} // namespace pp

#endif // PP_LIB_TRANSFORMS_LOWER_DIVIDESUMS_H
