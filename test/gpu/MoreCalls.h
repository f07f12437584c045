//===- MoreCalls.h - calls of the driver that only tests make ---*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0
//
// The engine looks up what it calls, and no more.
//
//===----------------------------------------------------------------------===//
#ifndef PP_TEST_GPU_MORECALLS_H
#define PP_TEST_GPU_MORECALLS_H

#include "backends/cuda/Library.h"

#include <dlfcn.h>

namespace pprt::cuda {

#define PP_MORE_CALLS(call)                                                    \
  call(cuDeviceTotalMem_v2) call(cuEventSynchronize) call(cuFuncGetAttribute)  \
      call(cuFuncSetAttribute) call(cuMemsetD8Async) call(cuStreamIsCapturing) \
          call(cuStreamQuery)

struct MoreCalls : Driver {
#define PP_MEMBER(name) decltype(&::name) name = nullptr;
  PP_MORE_CALLS(PP_MEMBER)
#undef PP_MEMBER
};

inline Expected<MoreCalls> openMoreCalls() {
  Expected<Driver> driver = openDriver();
  if (!driver)
    return driver.status();
  MoreCalls calls;
  static_cast<Driver &>(calls) = *driver;
  void *library = dlopen(calls.file.c_str(), RTLD_NOW | RTLD_NOLOAD);
#define PP_FIND(name)                                                          \
  calls.name = reinterpret_cast<decltype(calls.name)>(dlsym(library, #name));
  PP_MORE_CALLS(PP_FIND)
#undef PP_FIND
  return calls;
}

} // namespace pprt::cuda

#endif // PP_TEST_GPU_MORECALLS_H
