//===- KernelTable.h - the kernels of a module, each once -------*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0
//
// Kernels of all functions and fragments of a module share one name space and,
// where they are equal, one function.
//
//===----------------------------------------------------------------------===//
#ifndef PP_LIB_TRANSFORMS_LOWER_KERNELTABLE_H
#define PP_LIB_TRANSFORMS_LOWER_KERNELTABLE_H

#include "mlir/IR/SymbolTable.h"
#include "pp/IR/Model.h"
#include "llvm/ADT/StringMap.h"

namespace pp {

/// Names kernels, and keeps one of those that are equal.
class KernelTable {
public:
  explicit KernelTable(mlir::ModuleOp module) : symbols(module) {}

  /// Takes a kernel that is in no module; returns it, or its equal.
  mlir::func::FuncOp insert(mlir::func::FuncOp kernel);

private:
  mlir::SymbolTable symbols;
  llvm::StringMap<mlir::func::FuncOp>
      kernels; ///< by their text, without names and locations
  unsigned numContractions = 0, numLoops = 0, numEpilogues = 0;
};

} // namespace pp

#endif // PP_LIB_TRANSFORMS_LOWER_KERNELTABLE_H
