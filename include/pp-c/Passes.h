//===- Passes.h - the passes, for C ------------------------------*- C -*-===//
//
// SPDX-License-Identifier: Apache-2.0
//
// Registered passes and pipelines are added by their text:
// mlirOpPassManagerAddPipeline(manager, "pp-parallelize{dp=2 tp=2}", ...).
// mlirCreatePP<Name>() makes one pass with the defaults of its options.
//
//===----------------------------------------------------------------------===//
#ifndef PP_C_PASSES_H
#define PP_C_PASSES_H

#include "mlir-c/Pass.h"
#include "pp-c/Passes.capi.h.inc"

#ifdef __cplusplus
extern "C" {
#endif

/// Registers all passes and pp-parallelize; may be called again.
MLIR_CAPI_EXPORTED void ppRegisterAllPasses(void);

#ifdef __cplusplus
}
#endif

#endif // PP_C_PASSES_H
