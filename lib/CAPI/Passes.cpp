//===- Passes.cpp - the passes, for C -------------------------------------===//
//
// SPDX-License-Identifier: Apache-2.0
//
// A pass may be registered once in a process.
//
//===----------------------------------------------------------------------===//
#include "pp-c/Passes.h"
#include "mlir/CAPI/Pass.h"
#include "pp/InitAll.h"
#include "pp/Transforms/Passes.h"
#include <mutex>

using namespace pp;

#include "pp-c/Passes.capi.cpp.inc"

void ppRegisterAllPasses() {
  static std::once_flag once;
  std::call_once(once, [] { registerAllPasses(); });
}
