//===- OtherPlugin.cpp - a library for MPI of another build ---------------===//
//
// SPDX-License-Identifier: Apache-2.0
//
// Has the functions that are looked up, and must not be called.
//
//===----------------------------------------------------------------------===//
#include <cstdlib>

extern "C" const char *pprtMpiBuild() { return "another"; }
extern "C" void pprtOpenMpi(const void *, void *) { std::abort(); }
