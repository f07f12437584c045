//===- Shrink.h - a small module with the same fault ------------*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0
//
// A random program in which something went wrong has dozens of ops, of which
// two or three matter. This takes ops, results and wishes from it as long as it
// goes wrong.
//
//===----------------------------------------------------------------------===//
#ifndef PP_TEST_RANDOM_SHRINK_H
#define PP_TEST_RANDOM_SHRINK_H

#include "mlir/IR/BuiltinOps.h"
#include "mlir/IR/OwningOpRef.h"

namespace pp::testing {

/// A module of level 1 made of `module` by leaving things out, for which
/// `isWrong` still holds: results, ops whose place an operand or argument of
/// their type can take, shardings, and seeds. `isWrong` may change its copy.
mlir::OwningOpRef<mlir::ModuleOp>
shrink(mlir::ModuleOp module, llvm::function_ref<bool(mlir::ModuleOp)> isWrong);

} // namespace pp::testing

#endif // PP_TEST_RANDOM_SHRINK_H
