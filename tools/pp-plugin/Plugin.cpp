//===- Plugin.cpp - the dialect and the passes for mlir-opt ---------------===//
//
// SPDX-License-Identifier: Apache-2.0
//
// The host has MLIR as a shared library of the same version. It looks up both
// functions by name: --load-dialect-plugin calls one, --load-pass-plugin the
// other.
//
//===----------------------------------------------------------------------===//
#include "mlir/Tools/Plugins/DialectPlugin.h"
#include "mlir/Tools/Plugins/PassPlugin.h"
#include "pp/InitAll.h"

extern "C" LLVM_ATTRIBUTE_WEAK mlir::DialectPluginLibraryInfo
mlirGetDialectPluginInfo() {
  return {MLIR_PLUGIN_API_VERSION, "PP", PP_VERSION,
          [](mlir::DialectRegistry *registry) {
            pp::registerAllDialects(*registry);
          }};
}

extern "C" LLVM_ATTRIBUTE_WEAK mlir::PassPluginLibraryInfo
mlirGetPassPluginInfo() {
  return {MLIR_PLUGIN_API_VERSION, "PP", PP_VERSION,
          [] { pp::registerAllPasses(); }};
}
