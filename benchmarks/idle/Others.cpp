//===- Others.cpp - the calls whose success is all they tell --------------===//
//
// SPDX-License-Identifier: Apache-2.0
//
// All that the engine calls; what Idle.cpp has replaces them. Without CUDA's
// headers, which say what each takes.
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
