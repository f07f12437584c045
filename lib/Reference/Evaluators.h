//===- Evaluators.h - the interpreter's op groups ---------------*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0
//
// One function per group of ops. Each returns the op's result, or nothing when
// the op belongs to another group. Operands have the op's operand types.
//
//===----------------------------------------------------------------------===//
#ifndef PP_LIB_REFERENCE_EVALUATORS_H
#define PP_LIB_REFERENCE_EVALUATORS_H

#include "pp/IR/PP.h"
#include "pp/Reference/HostTensor.h"
#include <optional>

namespace pp::reference {

using Operands = llvm::ArrayRef<const HostTensor *>;

/// neg to or, compare, select, convert.
std::optional<HostTensor> evaluateElementwise(mlir::Operation *op,
                                              Operands operands);
/// iota, random_bits, broadcast to dynamic_update_slice.
std::optional<HostTensor> evaluateShape(mlir::Operation *op, Operands operands);
/// reduce, argmax, cumsum, dot_general, gather, scatter_add.
std::optional<HostTensor> evaluateContraction(mlir::Operation *op,
                                              Operands operands);

/// convolution, reduce_window, select_and_scatter.
std::optional<HostTensor> evaluateWindow(mlir::Operation *op,
                                         Operands operands);

/// Result element `index` (row-major) of random_bits.
int32_t randomBits(uint64_t seed, uint64_t step, uint64_t stream,
                   uint64_t index);

/// `a` and `b` combined by a reduction over elements of type `element`.
double combine(Reduction reduction, mlir::Type element, double a, double b);
/// The identity element of `combine`.
double identityOf(Reduction reduction, mlir::Type element);

} // namespace pp::reference

#endif // PP_LIB_REFERENCE_EVALUATORS_H
