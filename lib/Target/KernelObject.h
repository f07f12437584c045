//===- KernelObject.h - from the LLVM dialect to machine code ---*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0
//
// In: a module of the LLVM dialect with one function. Out: a relocatable object
// for the processors of a level; without one, for the processor at hand. The
// text of describeTarget() has to tell apart whatever makes other code of the
// same module.
//
//===----------------------------------------------------------------------===//
#ifndef PP_LIB_TARGET_KERNELOBJECT_H
#define PP_LIB_TARGET_KERNELOBJECT_H

#include "mlir/IR/BuiltinOps.h"
#include "llvm/ADT/SmallVector.h"
#include <string>

namespace pp {

using ObjectCode = llvm::SmallVector<char, 0>;

/// Everything but the kernel that machine code depends on: the versions of
/// LLVM and of this pipeline, the processor and its level.
std::string describeTarget(llvm::StringRef level);

/// Compiles a module whose function `name`.rows takes bare pointers, scalars,
/// begin and end, and adds the entry `name` of CompiledKernel's ABI.
mlir::FailureOr<ObjectCode> compileObject(mlir::ModuleOp module,
                                          llvm::StringRef name,
                                          llvm::StringRef level);

} // namespace pp

#endif // PP_LIB_TARGET_KERNELOBJECT_H
