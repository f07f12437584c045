//===- Approximate.cu - instructions that are off by so much ---------------===//
//
// SPDX-License-Identifier: Apache-2.0
//
// The PTX ISA's manual and the CUDA C++ Programming Guide say by how much; what
// an instruction is off goes through what is computed of it.
//
//===----------------------------------------------------------------------===//
#include "Kernel.h"

#define OF(name, bound, low, high, expression)                                 \
  MAP1_OF(name, bound, f32, f32, in<f32>(kCount, low, high), expression)
OF(fast_sine, absolute(7.5e-7), -3.14, 3.14, __sinf(a))
OF(fast_cosine, absolute(7.5e-7), -3.14, 3.14, __cosf(a))
OF(fast_exponential, ulps(5), -1.7, 1.7, __expf(a))
OF(fast_power_of_10, ulps(5), -0.8, 0.8, __exp10f(a))
OF(fast_logarithm_near_1, absolute(3.4e-7), 0.5, 2, __logf(a))
OF(fast_logarithm, ulps(6), 3, 1e30, __logf(a))
OF(fast_log2, ulps(5), 3, 1e30, __log2f(a))
OF(fast_log10, ulps(6), 12, 1e30, __log10f(a))
OF(fast_rsqrt, ulps(2), 1e-30, 1e30, __frsqrt_rn(a))
MAP2_OF(fast_quotient, ulps(3), f32, f32, f32, in<f32>(kCount, -1e10, 1e10),
        in<f32>(kCount, 1e-5, 1e10), __fdividef(a, b))
MAP2_OF(fast_power, absolute(1e-3), f32, f32, f32, in<f32>(kCount, 0.5, 4),
        in<f32>(kCount, -4, 4), __powf(a, b))
