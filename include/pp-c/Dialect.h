//===- Dialect.h - the dialect, for C ----------------------------*- C -*-===//
//
// SPDX-License-Identifier: Apache-2.0
//
// In the manner of MLIR's C interface (mlir-c), with its types.
//
//===----------------------------------------------------------------------===//
#ifndef PP_C_DIALECT_H
#define PP_C_DIALECT_H

#include "mlir-c/IR.h"

#ifdef __cplusplus
extern "C" {
#endif

/// The dialect alone, to parse, print and verify its ops.
MLIR_DECLARE_CAPI_DIALECT_REGISTRATION(PP, pp);

/// The dialects of a model, and what passes ask of ops. A context that runs
/// pp's passes needs all of it: before mlirContextAppendDialectRegistry.
MLIR_CAPI_EXPORTED void ppRegisterAllDialects(MlirDialectRegistry registry);

#ifdef __cplusplus
}
#endif

#endif // PP_C_DIALECT_H
