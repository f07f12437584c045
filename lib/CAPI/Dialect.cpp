//===- Dialect.cpp - the dialect, for C -----------------------------------===//
//
// SPDX-License-Identifier: Apache-2.0
//
// Takes and gives what mlir-c's functions do.
//
//===----------------------------------------------------------------------===//
#include "pp-c/Dialect.h"
#include "mlir/CAPI/Registration.h"
#include "pp/InitAll.h"

MLIR_DEFINE_CAPI_DIALECT_REGISTRATION(PP, pp, pp::PPDialect)

void ppRegisterAllDialects(MlirDialectRegistry registry) {
  pp::registerAllDialects(*unwrap(registry));
}
