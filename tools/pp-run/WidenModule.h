//===- WidenModule.h - a model in f64 ---------------------------*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0
//
// For --verify of low precision, which compares with f64. In: a verified module
// of level 1, with its training step or without.
//
//===----------------------------------------------------------------------===//
#ifndef PP_RUN_WIDENMODULE_H
#define PP_RUN_WIDENMODULE_H

#include "mlir/IR/BuiltinOps.h"

namespace pp::run {

/// Makes every float of a level 1 module f64, so that nothing rounds to less.
/// Inputs and labels keep their types, and are converted where they come in.
void widenToF64(mlir::ModuleOp module);

} // namespace pp::run

#endif // PP_RUN_WIDENMODULE_H
