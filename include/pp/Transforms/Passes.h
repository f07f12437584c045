//===- Passes.h - every pass of the compiler --------------------*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0
//
// Their options, and functions that create and register them. What each takes
// and leaves is said in Passes.td, their order in Pipelines.h.
//
//===----------------------------------------------------------------------===//
#ifndef PP_TRANSFORMS_PASSES_H
#define PP_TRANSFORMS_PASSES_H

#include "mlir/IR/BuiltinOps.h"
#include "mlir/Pass/Pass.h"
#include "pp/Schedule/Topology.h"

namespace pp {

#define GEN_PASS_DECL
#define GEN_PASS_REGISTRATION
#include "pp/Transforms/Passes.h.inc"

} // namespace pp

#endif // PP_TRANSFORMS_PASSES_H
