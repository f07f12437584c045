//===- Functions.cu - libdevice, within the errors that are documented ----===//
//
// SPDX-License-Identifier: Apache-2.0
//
// The bounds are those of the CUDA C++ Programming Guide's tables, in units in
// the last place, and one more for the host's library.
//
//===----------------------------------------------------------------------===//
#include "Kernel.h"

/// ex2.approx may be off by 2^-22, which is up to four units.
#define EX2 2

#define F1(name, error, low, high)                                             \
  MAP1_OF(of_##name, ulps(error + 1), f32, f32, in<f32>(kCount, low, high), ::name(a))
#define D1(name, error, low, high)                                             \
  MAP1_OF(of_##name##_f64, ulps(error + 1), f64, f64, in<f64>(kCount, low, high), ::name(a))
#define F2(name, error, low, high, from, to)                                   \
  MAP2_OF(of_##name, ulps(error + 1), f32, f32, f32, in<f32>(kCount, low, high),    \
          in<f32>(kCount, from, to), ::name(a, b))
#define D2(name, error, low, high, from, to)                                   \
  MAP2_OF(of_##name##_f64, ulps(error + 1), f64, f64, f64, in<f64>(kCount, low, high), \
          in<f64>(kCount, from, to), ::name(a, b))

// One row for a function in both types: errors and ranges of f32, then of f64.
#define BOTH1(name, error, low, high, error64, low64, high64)                  \
  F1(name##f, error, low, high)                                                \
  D1(name, error64, low64, high64)
#define BOTH2(name, error, low, high, from, to, error64, low64, high64,        \
              from64, to64)                                                    \
  F2(name##f, error, low, high, from, to)                                      \
  D2(name, error64, low64, high64, from64, to64)

BOTH1(exp, 2 + EX2, -100, 88, 1, -700, 700)
BOTH1(exp2, 2 + EX2, -140, 127, 1, -1000, 1000)
BOTH1(exp10, 2 + EX2, -40, 38, 1, -300, 300)
BOTH1(expm1, 1, -20, 80, 1, -20, 100)
BOTH1(log, 1, 1e-30, 1e30, 1, 1e-300, 1e300)
BOTH1(log2, 1, 1e-30, 1e30, 1, 1e-300, 1e300)
BOTH1(log10, 2, 1e-30, 1e30, 1, 1e-300, 1e300)
BOTH1(log1p, 1, -0.99, 100, 1, -0.99, 100)
BOTH1(sin, 2, -100, 100, 2, -1000, 1000)
BOTH1(cos, 2, -100, 100, 2, -1000, 1000)
BOTH1(tan, 4, -100, 100, 2, -1000, 1000)
BOTH1(sinpi, 1, -10, 10, 2, -10, 10)
BOTH1(cospi, 1, -10, 10, 2, -10, 10)
BOTH1(asin, 2, -1, 1, 2, -1, 1)
BOTH1(acos, 2, -1, 1, 2, -1, 1)
BOTH1(atan, 2, -50, 50, 2, -50, 50)
BOTH1(sinh, 3 + EX2, -50, 50, 2, -500, 500)
BOTH1(cosh, 2 + EX2, -50, 50, 1, -500, 500)
BOTH1(tanh, 2, -10, 10, 1, -20, 20)
BOTH1(asinh, 3, -1e5, 1e5, 3, -1e5, 1e5)
BOTH1(acosh, 4, 1, 1e5, 3, 1, 1e5)
BOTH1(atanh, 3, -0.999, 0.999, 2, -0.999, 0.999)
BOTH1(cbrt, 1, -1e6, 1e6, 1, -1e6, 1e6)
BOTH1(rcbrt, 1, 0.001, 1e6, 1, 0.001, 1e6)
BOTH1(rsqrt, 2, 1e-20, 1e20, 1, 1e-200, 1e200)
BOTH1(erf, 2, -5, 5, 2, -6, 6)
BOTH1(erfc, 4 + EX2, -3, 9, 5, -6, 26)
BOTH1(tgamma, 5, 0.1, 30, 10, 0.1, 100)
BOTH1(lgamma, 6, 4, 1000, 4, 4, 1000)
BOTH2(pow, 4, 0.01, 100, -8, 8, 2, 0.001, 1000, -50, 50)
BOTH2(atan2, 3, -50, 50, -50, 50, 2, -50, 50, -50, 50)
BOTH2(hypot, 3, -1e10, 1e10, -1e10, 1e10, 2, -1e100, 1e100, -1e100, 1e100)
F1(normcdff, 5, -5, 5)

// Arguments that take the long way around the circle.
MAP1_OF(sinf_of_many_turns, ulps(3), f32, f32, in<f32>(kCount, -1e9, 1e9), sinf(a))
MAP1_OF(cos_of_many_turns, ulps(3), f64, f64, in<f64>(kCount, -1e15, 1e15), cos(a))

KERNEL_WITHIN(sincosf_both, flat(), ulps(3),
              (out<f32>(kCount), out<f32>(kCount), in<f32>(kCount, -100, 100)),
              (f32 * sines, f32 *cosines, const f32 *as)) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  f32 sine, cosine;
  sincosf(as[i], &sine, &cosine);
  sines[i] = sine;
  cosines[i] = cosine;
}
// Of what is special, what C says.
#define SPECIAL(name) MAP1_OF(special_##name, ulps(4), f32, f32, in<f32>(kCount), \
                              isfinite(a) && fabsf(a) > 0.0f && fabsf(a) < 1e-30f ? 0.0f : ::name(a))
SPECIAL(expf)
SPECIAL(logf)
SPECIAL(tanhf)
SPECIAL(atanf)
SPECIAL(cbrtf)
SPECIAL(expm1f)
SPECIAL(log1pf)
