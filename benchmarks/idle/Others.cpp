//===- Others.cpp - calls that only return success ------------------------===//
//
// SPDX-License-Identifier: Apache-2.0
//
// All other calls of the engine; those in Idle.cpp replace them. Without CUDA's
// headers, which declare their parameters.
//
//===----------------------------------------------------------------------===//

#define PP_CALL(name)                                                          \
  extern "C" [[gnu::weak]] int name();                                         \
  int name() { return 0; }
#define PP_CALL_AS(name, type) PP_CALL(name)
#include "backends/cuda/DriverCalls.def"
#define PP_CALL(name)                                                          \
  extern "C" [[gnu::weak]] int name();                                         \
  int name() { return 0; }
#include "backends/cuda/BlasCalls.def"
