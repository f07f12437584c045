//===- KernelRunner.h - runs a function of launches -------------*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0
//
// Loops kernels run compiled, contractions as plain loops over the strides that
// matchContraction found.
//
//===----------------------------------------------------------------------===//
#ifndef PP_TEST_TARGET_KERNELRUNNER_H
#define PP_TEST_TARGET_KERNELRUNNER_H

#include "mlir/IR/BuiltinOps.h"
#include "pp/Reference/HostTensor.h"
#include "pp/Target/KernelCompiler.h"
#include <memory>

namespace pp::testing {

using Bytes = std::vector<uint8_t>;
Bytes toBytes(const reference::HostTensor &tensor);
reference::HostTensor fromBytes(mlir::RankedTensorType type,
                                const Bytes &bytes);

/// Runs pp-form-kernels on `module`; false after a diagnostic.
bool formKernels(mlir::ModuleOp module);

/// The loops kernels of a module.
llvm::SmallVector<mlir::func::FuncOp> loopsKernels(mlir::ModuleOp module);

/// Runs `@main`, all of whose ops are launches. Rows of a kernel are split in
/// two, the second half first: they must not depend on each other.
std::vector<reference::HostTensor>
runLaunches(mlir::ModuleOp module, const pp::CompiledKernels &kernels,
            llvm::ArrayRef<reference::HostTensor> inputs);

} // namespace pp::testing

#endif // PP_TEST_TARGET_KERNELRUNNER_H
