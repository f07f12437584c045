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
#include <random>
#include <string>

namespace pp::testing {

using Bytes = std::vector<uint8_t>;
Bytes toBytes(const reference::HostTensor &tensor);
reference::HostTensor fromBytes(mlir::RankedTensorType type,
                                const Bytes &bytes);

/// Runs pp-form-kernels on `module` for `target`; false after a diagnostic.
bool formKernels(mlir::ModuleOp module, const std::string &target = "cpu");

/// The loops kernels of a module.
llvm::SmallVector<mlir::func::FuncOp> loopsKernels(mlir::ModuleOp module);

/// Runs a loops kernel on a buffer for each parameter; false if it cannot.
using RunLoops = llvm::function_ref<bool(
    mlir::func::FuncOp kernel, llvm::ArrayRef<std::shared_ptr<Bytes>> buffers)>;

/// Runs `@main`, all of whose ops are launches. Empty if one cannot be run.
std::vector<reference::HostTensor>
runLaunches(mlir::ModuleOp module, RunLoops runLoops,
            llvm::ArrayRef<reference::HostTensor> inputs);

/// The same with code for this machine. Rows of a kernel are split in two, the
/// second half first: they must not depend on each other.
std::vector<reference::HostTensor>
runLaunches(mlir::ModuleOp module, const pp::CompiledKernels &kernels,
            llvm::ArrayRef<reference::HostTensor> inputs);

/// What launches are told on one of the devices: a coordinate on each axis of
/// the module's mesh, and the micro-batch.
std::vector<int64_t> getLaunchScalars(mlir::ModuleOp module);
/// `@main` by the interpreter, on that device.
std::vector<reference::HostTensor>
evaluateMain(mlir::ModuleOp module,
             llvm::ArrayRef<reference::HostTensor> inputs);

/// Numbers between `low` and `high`; of integers and i1, small ones.
reference::HostTensor randomTensor(mlir::RankedTensorType type,
                                   std::mt19937 &random, double low,
                                   double high);
/// Expects `actual` to be near `expected`: to `tolerance`, relative to the
/// largest element.
void expectNear(llvm::ArrayRef<reference::HostTensor> actual,
                llvm::ArrayRef<reference::HostTensor> expected,
                double tolerance, const std::string &what);
/// Expects what `run` makes of the kernels of `text`, formed for `target`, to
/// be near what the interpreter makes of its ops.
void compareKernels(
    const std::string &text, double low, double high, double tolerance,
    const std::string &target,
    llvm::function_ref<std::vector<reference::HostTensor>(
        mlir::ModuleOp module, llvm::ArrayRef<reference::HostTensor> inputs)>
        run);

} // namespace pp::testing

#endif // PP_TEST_TARGET_KERNELRUNNER_H
