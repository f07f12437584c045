//===- Host.h - what CUDA C++ has, played on the host -----------*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0
//
// The threads of a block are coroutines that take turns: each runs until it
// waits at a barrier or for others of its warp. What they compute is what the
// host's compiler makes of the kernel's source, and for CUDA's own functions
// what the CUDA C++ Programming Guide says of them.
//
//===----------------------------------------------------------------------===//
#ifndef PP_TEST_GPU_KERNELS_HOST_H
#define PP_TEST_GPU_KERNELS_HOST_H

#include "HostMath.h"

#include <vector_functions.h>
#include <vector_types.h>

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <functional>

#undef __global__
#undef __device__
#undef __shared__
#undef __constant__
#undef __noinline__ // the standard library writes it in an attribute
#define __global__
#define __device__ static
#define __shared__ static
#define __constant__ static const

namespace host {

struct Thread {
  uint3 index, block;
  unsigned lane, warp;
};
extern const Thread *current;
extern dim3 blockSize, gridSize;

/// Calls `body` once for each thread. Ends the process if threads wait for each
/// other: a kernel that is right has no such end.
void run(dim3 grid, dim3 block, unsigned sharedBytes,
         const std::function<void()> &body);

void *dynamicShared();
void awaitBlock();
/// The sum over the block.
unsigned sumOfBlock(unsigned value);
/// Waits for the lanes of the mask; what each of them came with, by lane.
const uint64_t *meet(unsigned mask, uint64_t value);

template <typename T> uint64_t bitsOf(T value) {
  uint64_t bits = 0;
  std::memcpy(&bits, &value, sizeof(T));
  return bits;
}
template <typename T> T fromBits(uint64_t bits) {
  T value;
  std::memcpy(&value, &bits, sizeof(T));
  return value;
}
template <typename T> T shuffle(unsigned mask, T value, int from) {
  return fromBits<T>(meet(mask, bitsOf(value))[from]);
}

} // namespace host

#define threadIdx (host::current->index)
#define blockIdx (host::current->block)
#define blockDim (host::blockSize)
#define gridDim (host::gridSize)
#define warpSize 32

inline void __syncthreads() { host::awaitBlock(); }
inline int __syncthreads_count(int x) { return host::sumOfBlock(x != 0); }
inline int __syncthreads_or(int x) { return host::sumOfBlock(x != 0) != 0; }
inline int __syncthreads_and(int x) { return host::sumOfBlock(x == 0) == 0; }
inline void __syncwarp(unsigned mask = ~0u) { host::meet(mask, 0); }
inline void __threadfence() {}
inline void __threadfence_block() {}

// `width` lanes, a power of two, are among themselves.
template <typename T>
T __shfl_sync(unsigned mask, T value, int from, int width = 32) {
  const int lane = host::current->lane;
  return host::shuffle(mask, value, (lane & -width) | (from & (width - 1)));
}
template <typename T>
T __shfl_up_sync(unsigned mask, T value, unsigned by, int width = 32) {
  const unsigned lane = host::current->lane, inside = lane % width;
  return host::shuffle(mask, value, inside < by ? lane : lane - by);
}
template <typename T>
T __shfl_down_sync(unsigned mask, T value, unsigned by, int width = 32) {
  const unsigned lane = host::current->lane, inside = lane % width;
  return host::shuffle(mask, value,
                       inside + by >= unsigned(width) ? lane : lane + by);
}
template <typename T>
T __shfl_xor_sync(unsigned mask, T value, int with, int width = 32) {
  const int lane = host::current->lane, from = lane ^ with;
  return host::shuffle(mask, value, from > (lane | (width - 1)) ? lane : from);
}

inline unsigned __ballot_sync(unsigned mask, int condition) {
  const uint64_t *all = host::meet(mask, condition != 0);
  unsigned result = 0;
  for (int lane = 0; lane < 32; ++lane)
    if (mask >> lane & 1)
      result |= unsigned(all[lane]) << lane;
  return result;
}
inline int __any_sync(unsigned mask, int condition) {
  return __ballot_sync(mask, condition) != 0;
}
inline int __all_sync(unsigned mask, int condition) {
  return __ballot_sync(mask, condition) == mask;
}
inline int __uni_sync(unsigned mask, int condition) {
  const unsigned ballot = __ballot_sync(mask, condition);
  return ballot == 0 || ballot == mask;
}
template <typename T> unsigned __match_any_sync(unsigned mask, T value) {
  const uint64_t *all = host::meet(mask, host::bitsOf(value));
  unsigned result = 0;
  for (int lane = 0; lane < 32; ++lane)
    if (mask >> lane & 1)
      result |= unsigned(all[lane] == host::bitsOf(value)) << lane;
  return result;
}
template <typename T>
unsigned __match_all_sync(unsigned mask, T value, int *isSame) {
  *isSame = __match_any_sync(mask, value) == mask;
  return *isSame ? mask : 0;
}
template <typename T, typename Function>
T reduceWarp(unsigned mask, T value, Function combine) {
  const uint64_t *all = host::meet(mask, host::bitsOf(value));
  bool isFirst = true;
  T result = value;
  for (int lane = 0; lane < 32; ++lane)
    if (mask >> lane & 1) {
      const T other = host::fromBits<T>(all[lane]);
      result = isFirst ? other : combine(result, other);
      isFirst = false;
    }
  return result;
}
#define PP_REDUCE(name, expression)                                            \
  template <typename T> T __reduce_##name##_sync(unsigned mask, T value) {     \
    return reduceWarp(mask, value, [](T a, T b) { return T(expression); });    \
  }
PP_REDUCE(add, a + b)
PP_REDUCE(min, a < b ? a : b)
PP_REDUCE(max, a < b ? b : a)
PP_REDUCE(and, a &b)
PP_REDUCE(or, a | b)
PP_REDUCE(xor, a ^ b)
#undef PP_REDUCE

// Threads take turns, so that nothing comes between.
#define PP_ATOMIC(name, expression)                                            \
  template <typename T> T name(T *place, std::common_type_t<T> b) {            \
    const T a = *place;                                                        \
    *place = expression;                                                       \
    return a;                                                                  \
  }
PP_ATOMIC(atomicAdd, T(a + b))
PP_ATOMIC(atomicSub, T(a - b))
PP_ATOMIC(atomicExch, b)
PP_ATOMIC(atomicMin, b < a ? b : a)
PP_ATOMIC(atomicMax, a < b ? b : a)
PP_ATOMIC(atomicAnd, a &b)
PP_ATOMIC(atomicOr, a | b)
PP_ATOMIC(atomicXor, a ^ b)
PP_ATOMIC(atomicInc, a >= b ? 0 : a + 1)
PP_ATOMIC(atomicDec, a == 0 || a > b ? b : a - 1)
#undef PP_ATOMIC
template <typename T>
T atomicCAS(T *place, std::common_type_t<T> compare,
            std::common_type_t<T> value) {
  const T before = *place;
  if (before == compare)
    *place = value;
  return before;
}

template <typename T> T __ldg(const T *place) { return *place; }

#endif // PP_TEST_GPU_KERNELS_HOST_H
