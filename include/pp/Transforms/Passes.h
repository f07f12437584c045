//===- Passes.h - every pass of the compiler --------------------*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0
//
//===----------------------------------------------------------------------===//
#ifndef PP_TRANSFORMS_PASSES_H
#define PP_TRANSFORMS_PASSES_H

#include "mlir/IR/BuiltinOps.h"
#include "mlir/Pass/Pass.h"

namespace pp {

#define GEN_PASS_DECL
#define GEN_PASS_REGISTRATION
#include "pp/Transforms/Passes.h.inc"

} // namespace pp

#endif // PP_TRANSFORMS_PASSES_H
