//===- Build.cpp - a digest of the sources of this build ------------------===//
//
// SPDX-License-Identifier: Apache-2.0
//
// A program and each library that it opens contain this file, with the build's
// digest of everything that they must share. Objects of the standard library
// pass between them, so they must also use the same kind of it.
//
//===----------------------------------------------------------------------===//
#include "Plugins.h"

#include <string> // identifies the standard library

#ifdef _LIBCPP_VERSION
#define PPRT_STANDARD_LIBRARY ", libc++"
#elif defined(_GLIBCXX_USE_CXX11_ABI) && _GLIBCXX_USE_CXX11_ABI
#define PPRT_STANDARD_LIBRARY ", libstdc++"
#else
#define PPRT_STANDARD_LIBRARY ", libstdc++ with strings of 2003"
#endif

const char *pprt::plugins::build() {
  return
#include "PluginSources.inc"
      PPRT_STANDARD_LIBRARY ", " __VERSION__;
}
