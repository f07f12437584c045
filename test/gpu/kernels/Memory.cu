//===- Memory.cu - every space of memory, and every width of an access ----===//
//
// SPDX-License-Identifier: Apache-2.0
//
//===----------------------------------------------------------------------===//
#include "Kernel.h"

// Vectors of 2 to 16 bytes, copied and turned around.
#define VECTOR2(V, T)                                                          \
  KERNEL(vector_##V, launch(4, 64), (out<T>(512), in<T>(512)),                 \
         (T * results, const T *as)) {                                         \
    const int i = blockIdx.x * blockDim.x + threadIdx.x;                       \
    const V a = reinterpret_cast<const V *>(as)[i];                            \
    V b;                                                                       \
    b.x = T(a.y + a.x);                                                        \
    b.y = a.x;                                                                 \
    reinterpret_cast<V *>(results)[i] = b;                                     \
  }
#define VECTOR4(V, T)                                                          \
  KERNEL(vector_##V, launch(4, 64), (out<T>(1024), in<T>(1024)),               \
         (T * results, const T *as)) {                                         \
    const int i = blockIdx.x * blockDim.x + threadIdx.x;                       \
    const V a = reinterpret_cast<const V *>(as)[i];                            \
    V b;                                                                       \
    b.x = a.w;                                                                 \
    b.y = T(a.z + a.x);                                                        \
    b.z = a.y;                                                                 \
    b.w = a.x;                                                                 \
    reinterpret_cast<V *>(results)[i] = b;                                     \
  }
VECTOR2(char2, s8)
VECTOR2(uchar2, u8)
VECTOR2(short2, s16)
VECTOR2(int2, s32)
VECTOR2(float2, f32)
VECTOR2(double2, f64)
VECTOR2(longlong2, s64)
VECTOR4(char4, s8)
VECTOR4(uchar4, u8)
VECTOR4(short4, s16)
VECTOR4(ushort4, u16)
VECTOR4(int4, s32)
VECTOR4(uint4, u32)
VECTOR4(float4, f32)

/// What is aligned by vectors, the rest by one.
KERNEL(vectors_and_tail, launch(1, 96), (out<f32>(263), in<f32>(263), value<int>(263)),
       (f32 * results, const f32 *as, int count)) {
  const int i = threadIdx.x;
  for (int at = i; at < count / 4; at += blockDim.x) {
    float4 a = reinterpret_cast<const float4 *>(as)[at];
    a.x *= 2;
    a.w += a.y;
    reinterpret_cast<float4 *>(results)[at] = a;
  }
  for (int at = count / 4 * 4 + i; at < count; at += blockDim.x)
    results[at] = -as[at];
}
KERNEL(unaligned_rows, launch(7, 32), (out<f32>(7 * 13), in<f32>(7 * 13)),
       (f32 * results, const f32 *as)) {
  const int row = blockIdx.x;
  const f32 *from = as + row * 13;
  f32 *to = results + row * 13;
  const int head = (4 - row * 13 % 4) % 4;
  const int vectors = (13 - head) / 4;
  const int i = threadIdx.x;
  if (i < head)
    to[i] = from[i] + 1;
  if (i < vectors) {
    float4 a = reinterpret_cast<const float4 *>(from + head)[i];
    a.y = a.x + a.z;
    reinterpret_cast<float4 *>(to + head)[i] = a;
  }
  if (head + vectors * 4 + i < 13)
    to[head + vectors * 4 + i] = from[head + vectors * 4 + i] - 1;
}

// Read through other ways.
#define CACHED(T)                                                              \
  KERNEL(cached_##T, launch(4, 64), (out<T>(256), in<T>(256)),                 \
         (T * results, const T *__restrict__ as)) {                            \
    const int i = blockIdx.x * blockDim.x + threadIdx.x;                       \
    volatile T *result = results + i;                                          \
    *result = __ldg(as + i);                                                   \
    *result = T(*result + *static_cast<const volatile T *>(as + (i ^ 1)));     \
  }
CACHED(s32)
CACHED(f32)
CACHED(f64)

// Constants.
__constant__ s32 kSquares[16] = {0, 1, 4, 9, 16, 25, 36, 49, 64, 81, 100, 121, 144, 169, 196, -225};
__constant__ f32 kFractions[4] = {0.5f, -0.25f, 1e-20f, 3e30f};
__constant__ f64 kRoots[3] = {1.4142135623730951, -1.7320508075688772, 2.23606797749979};
__constant__ u8 kBytes[8] = {255, 1, 128, 7, 0, 9, 200, 3};
__constant__ s16 kShorts[4] = {-32768, 32767, -1, 12};
__constant__ s64 kLongs[2] = {-9223372036854775807LL, 81985529216486895LL};
MAP1(constant_squares, s32, u8, kSquares[a % 16])
MAP1(constant_fractions, f32, u8, kFractions[a % 4] * a)
MAP1(constant_roots, f64, u8, kRoots[a % 3] + a)
MAP1(constant_bytes, s32, u8, kBytes[a % 8] - kShorts[a / 8 % 4])
MAP1(constant_longs, s64, u8, kLongs[a % 2] + kSquares[3])
struct Pair {
  s32 key;
  f64 value;
};
__constant__ Pair kPairs[3] = {{5, 0.125}, {-7, 2.5}, {1 << 30, -1e100}};
MAP1(constant_structs, f64, u8, kPairs[a % 3].key + kPairs[(a + 1) % 3].value)

// Local arrays, whose places a thread computes.
KERNEL(local_array, launch(2, 64), (out<s32>(128), in<u8>(128)),
       (s32 * results, const u8 *as)) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  s32 stack[24];
  for (int k = 0; k < 24; ++k)
    stack[k] = k * k - int(as[i]);
  for (int k = 0; k < 24; ++k)
    stack[(k * 7 + as[i]) % 24] += stack[(k * 5 + 1) % 24];
  results[i] = stack[as[i] % 24] ^ stack[23];
}
KERNEL(local_bytes, launch(2, 64), (out<u32>(128), in<u32>(128)),
       (u32 * results, const u32 *as)) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  u8 bytes[16];
  for (int k = 0; k < 16; ++k)
    bytes[k] = u8(as[i] >> (k % 4 * 8)) + k;
  u32 digest = 0;
  for (int k = 0; k < 16; ++k)
    digest = digest * 31 + bytes[(as[i] + 3 * k) & 15];
  results[i] = digest;
}
/// Insertion sort of what a thread has.
KERNEL(local_sort, launch(1, 64), (out<f32>(64 * 8), in<f32>(64 * 8, -100, 100)),
       (f32 * results, const f32 *as)) {
  const int i = threadIdx.x;
  f32 row[8];
  for (int k = 0; k < 8; ++k)
    row[k] = as[i * 8 + k];
  for (int k = 1; k < 8; ++k)
    for (int j = k; j > 0 && row[j] < row[j - 1]; --j) {
      const f32 swapped = row[j];
      row[j] = row[j - 1];
      row[j - 1] = swapped;
    }
  for (int k = 0; k < 8; ++k)
    results[i * 8 + k] = row[k];
}

// Structures as parameters and by functions that are called.
struct Shape {
  s32 rows, columns;
  u8 flags[3];
  s16 offset;
  f64 scale;
};
#ifndef __CUDACC__
static const Shape shape = {9, 14, {1, 2, 3}, -5, 0.75};
#endif
KERNEL(structure_as_parameter, launch(2, 64),
       (out<f64>(126), in<f32>(126), value<Shape>(shape), value<s8>(-3), value<u64>(1ull << 40)),
       (f64 * results, const f32 *as, Shape shape, s8 small, u64 large)) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < shape.rows * shape.columns)
    results[i] = as[i] * shape.scale + shape.offset + shape.flags[i % 3] + small +
                 double(large >> shape.flags[1]);
}
NOINLINE __device__ Shape widened(Shape shape, int by) {
  shape.columns *= by;
  shape.flags[2] += by;
  shape.scale /= by;
  return shape;
}
NOINLINE __device__ int digits(int number, int *last) {
  int count = 0;
  do {
    *last = number % 10;
    number /= 10;
    ++count;
  } while (number != 0);
  return count;
}
KERNEL(calls_with_structures, launch(2, 64), (out<f64>(128), value<Shape>(shape)),
       (f64 * results, Shape shape)) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  const Shape wide = widened(widened(shape, i + 1), 2);
  results[i] = wide.columns + wide.scale + wide.flags[2] + wide.rows;
}
MAP1(calls_with_pointers, s32, s32, ({
       int last = 0;
       const int count = digits(a, &last);
       count * 100 + last;
     }))

// Places beyond 32 bits, and indices of 64.
KERNEL(long_indices, launch(2, 64), (out<s32>(128), in<s32>(128), value<s64>(1ll << 33)),
       (s32 * results, const s32 *as, s64 far)) {
  const s64 i = s64(blockIdx.x) * blockDim.x + threadIdx.x + far;
  results[i - far] = *(as + i - far) + int(i >> 32);
}
KERNEL(grid_stride, launch(3, 32), (out<f32>(1000), in<f32>(1000), value<int>(1000)),
       (f32 * results, const f32 *as, int count)) {
  for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < count; i += gridDim.x * blockDim.x)
    results[i] = as[i] * i;
}
KERNEL(three_dimensions, launch({2, 3, 2}, {4, 2, 3}), (out<s32>(2 * 3 * 2 * 4 * 2 * 3)),
       (s32 * results)) {
  const int x = blockIdx.x * blockDim.x + threadIdx.x;
  const int y = blockIdx.y * blockDim.y + threadIdx.y;
  const int z = blockIdx.z * blockDim.z + threadIdx.z;
  const int width = gridDim.x * blockDim.x, height = gridDim.y * blockDim.y;
  results[(z * height + y) * width + x] = x + 100 * y + 10000 * z + 1000000 * int(gridDim.z);
}

// Integer atomics in global memory: what is left of them has no order.
#define ATOMIC(name, T, call)                                                  \
  KERNEL(atomic_##name##_##T, launch(4, 64), (inout<T>(8), in<T>(256)),        \
         (T * sums, const T *as)) {                                            \
    const int i = blockIdx.x * blockDim.x + threadIdx.x;                       \
    T *place = sums + i % 8;                                                   \
    const T a = as[i];                                                         \
    call(place, a);                                                            \
  }
#define ATOMICS(T)                                                             \
  ATOMIC(add, T, atomicAdd) ATOMIC(min, T, atomicMin) ATOMIC(max, T, atomicMax) \
  ATOMIC(and, T, atomicAnd) ATOMIC(or, T, atomicOr) ATOMIC(xor, T, atomicXor)
ATOMICS(s32)
ATOMICS(u32)
ATOMICS(u64)
ATOMIC(sub, s32, atomicSub)
ATOMIC(sub, u32, atomicSub)
ATOMIC(min, s64, atomicMin)
ATOMIC(max, s64, atomicMax)
/// Each ticket is drawn once.
KERNEL(atomic_tickets, launch(4, 64), (out<u32>(256), inout<u32>(1, 0, 0)),
       (u32 * drawn, u32 *next)) {
  const u32 ticket = atomicAdd(next, 1u);
  drawn[ticket] = ticket * 3;
}
KERNEL(atomic_tickets_around, launch(2, 64), (inout<u32>(8), inout<u32>(2, 0, 0)),
       (u32 * counts, u32 *next)) {
  atomicAdd(counts + atomicInc(next, 7), 1u);
  atomicAdd(counts + atomicDec(next + 1, 7), 256u);
}
KERNEL(atomic_decrement_of_more, launch(1, 64), (out<u32>(64), inout<u32>(64), in<u8>(64)),
       (u32 * results, u32 *places, const u8 *as)) {
  const int i = threadIdx.x;
  places[i] = as[i];
  results[i] = atomicDec(places + i, 100) + atomicInc(places + i, 50);
}
KERNEL(atomic_exchange, launch(1, 64), (out<s32>(64), inout<s32>(64), in<s32>(64)),
       (s32 * results, s32 *places, const s32 *as)) {
  const int i = threadIdx.x;
  results[i] = atomicExch(places + i, as[i]) + atomicCAS(places + i, as[i], 7);
}
KERNEL(atomic_compare, launch(4, 64), (inout<u64>(1), in<u64>(256)),
       (u64 * most, const u64 *as)) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  u64 before = atomicAdd(most, 0ull);
  while (before < as[i]) {
    const u64 now = atomicCAS(most, before, as[i]);
    if (now == before)
      break;
    before = now;
  }
}
KERNEL(atomic_whole_floats, launch(4, 64), (inout<f32>(8, 0, 0), inout<f64>(8, 0, 0), in<s8>(256)),
       (f32 * sums, f64 *long_sums, const s8 *as)) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  atomicAdd(sums + i % 8, f32(as[i]));
  atomicAdd(long_sums + i % 8, f64(as[i]));
}
