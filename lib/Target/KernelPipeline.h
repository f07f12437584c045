//===- KernelPipeline.h - a kernel to machine code in steps -----*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0
//
// 1. buildRowLoop(): a loops kernel of level 4 becomes a function with one loop
//    over rows. Rows are independent, so that any ranges may run in parallel.
// 2. lowerToLLVM(): that function in the LLVM dialect.
// 3. compileObject(): a relocatable object for processors.
//
//===----------------------------------------------------------------------===//
#ifndef PP_LIB_TARGET_KERNELPIPELINE_H
#define PP_LIB_TARGET_KERNELPIPELINE_H

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/IR/Builders.h"
#include "mlir/IR/DialectRegistry.h"
#include "pp/Analysis/RowLayout.h"
#include "llvm/ADT/SmallVector.h"

#include <string>

namespace pp {

/// Builds in `builder`'s place a function called `name` that computes rows
/// [begin, end) of a loops kernel. Its arguments are a memref per kernel
/// parameter (KernelCompiler.h), one of bytes for scratch if it has a workspace
/// (its index is `pp.workspace`), the launch's scalars, begin and end; its body
/// is one loop of linalg ops on the parts that a row sees.
mlir::FailureOr<mlir::func::FuncOp> buildRowLoop(mlir::OpBuilder &builder,
                                                 mlir::func::FuncOp kernel,
                                                 llvm::StringRef name);

/// The parts of a kernel's values that rows see.
struct RowParts {
  int64_t rows = 1;
  llvm::SmallVector<RowLayout> results;
  /// The parts of each value that a row needs.
  llvm::DenseMap<mlir::Value, llvm::SmallVector<RowLayout>> layouts;
};

/// Reports a `pp.rows` that does not fit the kernel.
mlir::FailureOr<RowParts> findRowParts(mlir::func::FuncOp kernel);

/// The first element of a dimension that the current row sees, as an index.
using DigitStart = llvm::function_ref<mlir::Value(RowDigit)>;

/// Builds the part of `op` that one row computes: its result seen as `result`,
/// from the parts `parts` of its operands, seen as `operands`. The layouts
/// agree, as RowLayout makes them.
mlir::Value buildLocalOp(mlir::OpBuilder &builder, mlir::Operation *op,
                         const RowLayout &result,
                         llvm::ArrayRef<RowLayout> operands,
                         mlir::ValueRange parts, DigitStart startOf);

/// Registers the dialects and models that lowering a kernel needs.
void registerKernelDialects(mlir::DialectRegistry &registry);

/// Lowers a module that holds one function of buildRowLoop() to the LLVM
/// dialect. Scratch memory is on the stack, or in the function's workspace if
/// pp-reserve-scratch gave the kernel one.
mlir::LogicalResult lowerToLLVM(mlir::ModuleOp module);

/// Bytes of workspace that a loops kernel needs for each range of rows that
/// runs at a time; 0 if its scratch fits on the stack.
mlir::FailureOr<int64_t> measureScratch(mlir::func::FuncOp kernel);

using ObjectCode = llvm::SmallVector<char, 0>;

/// Everything but the kernel that machine code depends on: the versions of LLVM
/// and of this pipeline, the processor and its level.
std::string describeTarget(llvm::StringRef level);

/// Compiles a module of the LLVM dialect whose one function `name`.rows takes
/// bare pointers, scalars, begin and end, and adds the entry `name` of
/// CompiledKernel's ABI. For the processors of `level`; empty: for this one.
mlir::FailureOr<ObjectCode> compileObject(mlir::ModuleOp module,
                                          llvm::StringRef name,
                                          llvm::StringRef level);

} // namespace pp

#endif // PP_LIB_TARGET_KERNELPIPELINE_H
