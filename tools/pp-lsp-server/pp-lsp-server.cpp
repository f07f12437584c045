//===- pp-lsp-server.cpp - the dialect in editors -------------------------===//
//
// SPDX-License-Identifier: Apache-2.0
//
// The language server protocol over standard input and output: errors,
// definitions, uses and types of values, for modules with pp's ops.
//
//===----------------------------------------------------------------------===//
#include "mlir/Tools/mlir-lsp-server/MlirLspServerMain.h"
#include "pp/InitAll.h"

int main(int argc, char **argv) {
  mlir::DialectRegistry registry;
  pp::registerAllDialects(registry);
  return failed(mlir::MlirLspServerMain(argc, argv, registry));
}
