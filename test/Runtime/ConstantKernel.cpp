//===- ConstantKernel.cpp - a kernel that writes PP_VALUE -----------------===//
//
// SPDX-License-Identifier: Apache-2.0
//
// Compiled twice, with different values: the value shows whose kernels a
// session runs.
//
//===----------------------------------------------------------------------===//
#include <cstdint>

extern "C" void kernel(void *const *arguments, const int64_t *, int64_t,
                       int64_t) {
  *static_cast<int *>(arguments[0]) = PP_VALUE;
}
