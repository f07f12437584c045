//===- Host.cpp - what a library above the driver asks of it --------------===//
//
// SPDX-License-Identifier: Apache-2.0
//
// A part of each such library, whose name is PP_EMULATOR.
//
//===----------------------------------------------------------------------===//
#include "Guest.h"

#include <cstdio>
#include <cstdlib>
#include <dlfcn.h>

using namespace emulated;

const Host *emulated::host() {
  void *handle = dlopen("libcuda.so.1", RTLD_NOW | RTLD_NOLOAD);
  return handle ? static_cast<const Host *>(dlsym(handle, "ppEmulatorHost"))
                : nullptr;
}

void emulated::fault(const std::string &what) {
  if (const Host *its = host())
    return its->fault(what.c_str());
  std::fprintf(stderr, PP_EMULATOR " emulated library: fault: %s\n",
               what.c_str());
  std::abort();
}

void emulated::notModelled(const std::string &what) {
  std::fprintf(stderr, PP_EMULATOR " emulated library: not modelled: %s\n",
               what.c_str());
  std::abort();
}
