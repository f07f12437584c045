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

F1(expf, 2 + EX2, -100, 88)
F1(exp2f, 2 + EX2, -140, 127)
F1(exp10f, 2 + EX2, -40, 38)
F1(expm1f, 1, -20, 80)
F1(logf, 1, 1e-30, 1e30)
F1(log2f, 1, 1e-30, 1e30)
F1(log10f, 2, 1e-30, 1e30)
F1(log1pf, 1, -0.99, 100)
F1(sinf, 2, -100, 100)
F1(cosf, 2, -100, 100)
F1(tanf, 4, -100, 100)
F1(sinpif, 1, -10, 10)
F1(cospif, 1, -10, 10)
F1(asinf, 2, -1, 1)
F1(acosf, 2, -1, 1)
F1(atanf, 2, -50, 50)
F1(sinhf, 3 + EX2, -50, 50)
F1(coshf, 2 + EX2, -50, 50)
F1(tanhf, 2, -10, 10)
F1(asinhf, 3, -1e5, 1e5)
F1(acoshf, 4, 1, 1e5)
F1(atanhf, 3, -0.999, 0.999)
F1(cbrtf, 1, -1e6, 1e6)
F1(rcbrtf, 1, 0.001, 1e6)
F1(rsqrtf, 2, 1e-20, 1e20)
F1(erff, 2, -5, 5)
F1(erfcf, 4 + EX2, -3, 9)
F1(normcdff, 5, -5, 5)
F1(tgammaf, 5, 0.1, 30)
F1(lgammaf, 6, 4, 1000)
F2(powf, 4, 0.01, 100, -8, 8)
F2(atan2f, 3, -50, 50, -50, 50)
F2(hypotf, 3, -1e10, 1e10, -1e10, 1e10)

D1(exp, 1, -700, 700)
D1(exp2, 1, -1000, 1000)
D1(exp10, 1, -300, 300)
D1(expm1, 1, -20, 100)
D1(log, 1, 1e-300, 1e300)
D1(log2, 1, 1e-300, 1e300)
D1(log10, 1, 1e-300, 1e300)
D1(log1p, 1, -0.99, 100)
D1(sin, 2, -1000, 1000)
D1(cos, 2, -1000, 1000)
D1(tan, 2, -1000, 1000)
D1(sinpi, 2, -10, 10)
D1(cospi, 2, -10, 10)
D1(asin, 2, -1, 1)
D1(acos, 2, -1, 1)
D1(atan, 2, -50, 50)
D1(sinh, 2, -500, 500)
D1(cosh, 1, -500, 500)
D1(tanh, 1, -20, 20)
D1(asinh, 3, -1e5, 1e5)
D1(acosh, 3, 1, 1e5)
D1(atanh, 2, -0.999, 0.999)
D1(cbrt, 1, -1e6, 1e6)
D1(rcbrt, 1, 0.001, 1e6)
D1(rsqrt, 1, 1e-200, 1e200)
D1(erf, 2, -6, 6)
D1(erfc, 5, -6, 26)
D1(tgamma, 10, 0.1, 100)
D1(lgamma, 4, 4, 1000)
D2(pow, 2, 0.001, 1000, -50, 50)
D2(atan2, 2, -50, 50, -50, 50)
D2(hypot, 2, -1e100, 1e100, -1e100, 1e100)

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
