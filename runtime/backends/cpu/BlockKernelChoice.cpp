//===- BlockKernelChoice.cpp - which kernels this processor runs ----------===//
//
// SPDX-License-Identifier: Apache-2.0
//
//===----------------------------------------------------------------------===//
#include "BlockKernelTables.h"

using namespace pprt::cpu;

namespace {
enum class Isa { generic, avx2, avx512 };
} // namespace

static Isa best() {
#if defined(__x86_64__)
  if (__builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512dq") &&
      __builtin_cpu_supports("avx512bw") && __builtin_cpu_supports("avx512vl"))
    return Isa::avx512;
  if (__builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma"))
    return Isa::avx2;
#endif
  return Isa::generic;
}

template <> const BlockKernels<float> &pprt::cpu::blockKernels<float>() {
  switch (best()) {
#if defined(__x86_64__)
  case Isa::avx512:
    return avx512::floatKernels;
  case Isa::avx2:
    return avx2::floatKernels;
#endif
  default:
    return generic::floatKernels;
  }
}

template <> const BlockKernels<double> &pprt::cpu::blockKernels<double>() {
  switch (best()) {
#if defined(__x86_64__)
  case Isa::avx512:
    return avx512::doubleKernels;
  case Isa::avx2:
    return avx2::doubleKernels;
#endif
  default:
    return generic::doubleKernels;
  }
}
