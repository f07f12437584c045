//===- Versions.cpp - which version a library says it is ------------------===//
//
// SPDX-License-Identifier: Apache-2.0
//
// Of libraries that only have names: what is asked of them when they are
// opened. With PP_OLD, one from before the calls that are needed.
//
//===----------------------------------------------------------------------===//
#include <cstddef>

#ifdef PP_OLD
static constexpr int kDriver = 11080, kBlas = 110600, kNccl = 21805;
#else
static constexpr int kDriver = 12020, kBlas = 130100, kNccl = 22809;
#endif

#define PP_EXPORT extern "C" __attribute__((visibility("default")))

PP_EXPORT int cuDriverGetVersion(int *version) {
  *version = kDriver;
  return 0;
}
PP_EXPORT size_t cublasLtGetVersion() { return kBlas; }
PP_EXPORT int ncclGetVersion(int *version) {
  *version = kNccl;
  return 0;
}
