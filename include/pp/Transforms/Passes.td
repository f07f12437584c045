//===- Passes.td - every pass of the compiler --------------*- tablegen -*-===//
//
// SPDX-License-Identifier: Apache-2.0
//
// In the order of Pipelines.cpp.
//
//===----------------------------------------------------------------------===//
#ifndef PP_TRANSFORMS_PASSES_TD
#define PP_TRANSFORMS_PASSES_TD

include "mlir/Pass/PassBase.td"

#endif // PP_TRANSFORMS_PASSES_TD
