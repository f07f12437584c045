//===- Kernel.h - the interface of a kernel function ------------*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0
//
// A kernel is a private function of level 1 ops on one device's shapes. Its
// parameters at run time are its operands in order, its results that are not in
// place, and its workspace if it has one.
//
//===----------------------------------------------------------------------===//
#ifndef PP_IR_KERNEL_H
#define PP_IR_KERNEL_H

#include "pp/IR/Model.h"

namespace pp {

namespace attrs {
/// On a kernel: its results may be off by units in the last place. No choice
/// depends on them (KernelBody.h).
inline constexpr llvm::StringLiteral kApproximate = "pp.approximate";
} // namespace attrs

/// One run-time parameter of a kernel.
struct RunParameter {
  enum class Source { Operand, Result, Workspace } source;
  /// Index of the operand or result.
  unsigned index;
  bool reads;
  bool writes;
  int64_t bytes;
};

/// Bytes of a dense tensor; i1 takes a byte.
int64_t getTensorBytes(mlir::Type type);

/// True for ops that a kernel may hold: graph ops, and this device's
/// coordinates.
bool isKernelOp(mlir::Operation *op);

/// Checks kernel_c1 to kernel_c3 of PPDialect.td, which the functions below and
/// all compilation of kernels assume. The dialect's verifier calls it.
mlir::LogicalResult verifyKernel(mlir::func::FuncOp kernel);

/// The kind of a kernel; none if `function` is no kernel.
std::optional<KernelKind> getKernelKind(mlir::func::FuncOp function);

/// The operand that result `index` overwrites, or -1.
int64_t getInplaceOperand(mlir::func::FuncOp kernel, unsigned index);

/// Parameters in order. With `accumulate`, the first result is added to its
/// slot.
llvm::SmallVector<RunParameter> getRunParameters(mlir::func::FuncOp kernel,
                                                 bool accumulate = false);

} // namespace pp

#endif // PP_IR_KERNEL_H
