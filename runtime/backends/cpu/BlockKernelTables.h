//===- BlockKernelTables.h - the kernels of every instruction set -*- C++ -*-=//
//
// SPDX-License-Identifier: Apache-2.0
//
//===----------------------------------------------------------------------===//
#ifndef PPRT_BACKENDS_CPU_BLOCKKERNELTABLES_H
#define PPRT_BACKENDS_CPU_BLOCKKERNELTABLES_H

#include "BlockKernels.h"

namespace pprt::cpu {

/// Any processor: vectors of 16 bytes.
namespace generic {
extern const BlockKernels<float> floatKernels;
extern const BlockKernels<double> doubleKernels;
} // namespace generic

#if defined(__x86_64__)
namespace avx2 {
extern const BlockKernels<float> floatKernels;
extern const BlockKernels<double> doubleKernels;
} // namespace avx2
namespace avx512 {
extern const BlockKernels<float> floatKernels;
extern const BlockKernels<double> doubleKernels;
} // namespace avx512
#endif

} // namespace pprt::cpu

#endif // PPRT_BACKENDS_CPU_BLOCKKERNELTABLES_H
