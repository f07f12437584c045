//===- Control.cu - threads that part and come together again -------------===//
//
// SPDX-License-Identifier: Apache-2.0
//
//===----------------------------------------------------------------------===//
#include "Kernel.h"

/// Statements as an expression of what a thread has.
#define CONTROL(name, R, A, ...)                                               \
  KERNEL(name, flat(), (out<R>(kCount), in<A>(kCount)),                        \
         (R * results, const A *as)) {                                         \
    const int i = blockIdx.x * blockDim.x + threadIdx.x;                       \
    const A a = as[i];                                                         \
    R result = 0;                                                              \
    __VA_ARGS__                                                                \
    results[i] = result;                                                       \
  }

CONTROL(branch, s32, s32, if (a > 10) result = a * 3; else result = a - 7;)
CONTROL(branch_in_branch, s32, s32, {
  if (a & 1) {
    if (a & 2)
      result = i;
    else if (a & 4)
      result = -i;
    if (a & 8)
      result += 1000;
  } else {
    result = a & 16 ? 5 : i * i;
  }
})
CONTROL(switch_dense, s32, u8, {
  switch (a % 11) {
  case 0: result = 7; break;
  case 1: result = i * 3; // falls through
  case 2: result += 11; break;
  case 3: result = a * a; break;
  case 4: result = ~i; break;
  case 5: result = i % 7; break;
  case 6: result = i << 3; break;
  case 7: result = 1 - a; break;
  case 8: result = a / 3; break;
  default: result = -1;
  }
})
CONTROL(switch_sparse, s32, s32, {
  switch (a) {
  case 0: result = 1; break;
  case -1: result = 20; break;
  case 31: result = i; break;
  case 1 << 30: result = 3; break;
  case -2147483647 - 1: result = 4; break;
  default: result = 5;
  }
})
CONTROL(loop_of_own_length, u32, u8, {
  for (int k = 0; k < a; ++k)
    result = result * 5 + k;
})
CONTROL(loop_with_break_and_continue, u32, u32, {
  for (u32 k = 0; k < 40; ++k) {
    if ((a >> (k % 32)) & 1)
      continue;
    result += k;
    if (result > 200)
      break;
    result ^= a & 3;
  }
})
CONTROL(collatz, u32, u16, {
  u32 number = a + 1u;
  while (number != 1) {
    number = number % 2 ? 3 * number + 1 : number / 2;
    ++result;
  }
})
CONTROL(loops_in_loops, u32, u8, {
  for (int x = 0; x < a % 7; ++x)
    for (int y = x; y < a % 5 + 2; ++y) {
      if ((x ^ y) == 3)
        break;
      for (int z = y; z > 0; z /= 2)
        result += x * 100 + y * 10 + z;
    }
})
CONTROL(greatest_common_divisor, u32, u32, {
  u32 x = a % 10007;
  u32 y = u32(i) * 6;
  while (y != 0) {
    const u32 rest = x % y;
    x = y;
    y = rest;
  }
  result = x;
})
CONTROL(early_ends, s32, s32, {
  results[i] = 12;
  if (a < 0)
    return;
  if (a % 3 == 0) {
    results[i] = 99;
    return;
  }
  for (int k = 0; k < 10; ++k) {
    result = s32(u32(result) + u32(k) * u32(a));
    if (result % 17 == 3)
      return;
  }
})
CONTROL(do_while, s32, s32, {
  u32 left = a;
  do {
    result += left & 7;
    left >>= 3;
  } while (left > 5);
})
CONTROL(jumps, s32, u8, {
  int k = a;
again:
  if (k > 100) {
    k /= 2;
    result += 1;
    goto again;
  }
  if (k % 5 == 0)
    goto end;
  result += k;
  if (++k % 7)
    goto again;
end:
  result *= 2;
})
CONTROL(short_circuits, s32, s32, {
  int calls = 0;
  auto is = [&](bool what) { ++calls; return what; };
  if ((is(a > 0) && is(a & 1)) || (is(a < -5) && (is(a & 4) || is(a & 8))))
    result = 50;
  result += calls;
})
CONTROL(ternaries, s32, s32,
        result = a > 0 ? a > 100 ? a > 10000 ? 1 : 2 : a & 1 ? 3 : 4 : a == 0 ? 5 : -a & 2 ? 6 : 7;)
CONTROL(predicates, s32, s32, {
  const bool p = a > 3;
  const bool q = (a & 2) != 0;
  const bool r = i % 3 == 0;
  result = (p && q) + 2 * (p || r) + 4 * (p != q) + 8 * !(q && !r) + 16 * (p == (q || r));
})
CONTROL(newton, f32, f32, {
  const f32 wanted = fabsf(a) < 1e30f ? fabsf(a) : 1.0f;
  result = 1;
  for (int k = 0; k < 60 && fabsf(result * result - wanted) > 1e-3f * wanted; ++k)
    result = 0.5f * (result + wanted / result);
})
CONTROL(mandelbrot, s32, u16, {
  const f64 x = (a % 64) / 25.0 - 1.8;
  const f64 y = (a / 64 % 64) / 25.0 - 1.2;
  f64 u = 0;
  f64 v = 0;
  while (result < 50 && u * u + v * v < 4) {
    const f64 next = u * u - v * v + x;
    v = 2 * u * v + y;
    u = next;
    ++result;
  }
})
CONTROL(binary_search, s32, s32, {
  // of a sorted sequence that is computed
  int low = 0;
  int high = 1000;
  while (low < high) {
    const int middle = (low + high) / 2;
    if (s64(middle) * middle * middle < a)
      low = middle + 1;
    else
      high = middle;
  }
  result = low;
})

// Functions that are called, and call.
NOINLINE __device__ int ackermann1(int y) { return y + 1; }
NOINLINE __device__ int ackermann2(int y) {
  int result = 1;
  for (int k = 0; k <= y; ++k)
    result = ackermann1(result);
  return result;
}
NOINLINE __device__ f64 polynomial(f64 x, const int *coefficients, int count) {
  f64 result = 0;
  for (int k = 0; k < count; ++k) {
    if (coefficients[k] == 0)
      return -1;
    result = result * x + coefficients[k];
  }
  return result;
}
CONTROL(calls, s32, u8, if (a % 2) result = ackermann2(a); else result = ackermann1(-a);)
CONTROL(calls_of_some, f64, s8, {
  int coefficients[5];
  for (int k = 0; k < 5; ++k)
    coefficients[k] = a * k - 6;
  if (a > -100)
    result = polynomial(0.5 * (i % 9), coefficients, 1 + (i & 3));
})

/// All in a block come to each barrier, on whatever way.
KERNEL(barriers_in_a_loop, launch(2, 64), (out<s32>(128), in<s32>(128)),
       (s32 * results, const s32 *as)) {
  __shared__ s32 row[64];
  const int i = threadIdx.x, at = blockIdx.x * 64 + i;
  row[i] = as[at];
  for (int step = 1; step < 64; step *= 2) {
    __syncthreads();
    s32 value = row[i];
    if (i & step)
      value -= row[i - step];
    else
      value += row[i + step];
    __syncthreads();
    row[i] = value;
  }
  results[at] = row[i];
}
/// Odd and even turns until all are in order.
KERNEL(sort_of_block, launch(2, 64), (out<s32>(128), in<s32>(128)),
       (s32 * results, const s32 *as)) {
  __shared__ s32 row[64];
  const int i = threadIdx.x, at = blockIdx.x * 64 + i;
  row[i] = as[at];
  __syncthreads();
  for (int turn = 0; turn < 64; ++turn) {
    if (i % 2 == turn % 2 && i < 63 && row[i] > row[i + 1]) {
      const s32 swapped = row[i];
      row[i] = row[i + 1];
      row[i + 1] = swapped;
    }
    __syncthreads();
  }
  results[at] = row[i];
}
