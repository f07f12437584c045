//===- Build.cpp - which sources this was built from ----------------------===//
//
// SPDX-License-Identifier: Apache-2.0
//
// A program and each library that it opens have this file, and the digest with
// it, which the build makes of what they must have alike. Objects of the
// standard library pass between them, so it is of one kind, too.
//
//===----------------------------------------------------------------------===//
#include "Plugins.h"

#include <string> // tells which library it is

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
