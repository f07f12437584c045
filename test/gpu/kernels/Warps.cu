//===- Warps.cu - threads of a warp among themselves ----------------------===//
//
// SPDX-License-Identifier: Apache-2.0
//
//===----------------------------------------------------------------------===//
#include "Kernel.h"

#define FULL 0xFFFFFFFFu
/// Of every thread's own number: `expression` of it, for two warps of two blocks.
#define WARP(name, T, expression)                                              \
  KERNEL(name, launch(2, 64), (out<T>(128), in<T>(128)),                       \
         (T * results, const T *as)) {                                         \
    const int i = blockIdx.x * blockDim.x + threadIdx.x;                       \
    const int lane = threadIdx.x % 32;                                         \
    const T a = as[i];                                                         \
    results[i] = expression;                                                   \
  }

#define SHUFFLES(T)                                                            \
  WARP(shuffle_index_##T, T, __shfl_sync(FULL, a, lane * 7 + 3))               \
  WARP(shuffle_index_of_8_##T, T, __shfl_sync(FULL, a, lane * 5 + 1, 8))       \
  WARP(shuffle_first_##T, T, __shfl_sync(FULL, a, 0))                          \
  WARP(shuffle_up_##T, T, __shfl_up_sync(FULL, a, 3))                          \
  WARP(shuffle_up_of_16_##T, T, __shfl_up_sync(FULL, a, 5, 16))                \
  WARP(shuffle_down_##T, T, __shfl_down_sync(FULL, a, 9))                      \
  WARP(shuffle_down_of_4_##T, T, __shfl_down_sync(FULL, a, 1, 4))              \
  WARP(shuffle_xor_##T, T, __shfl_xor_sync(FULL, a, 21))                       \
  WARP(shuffle_xor_of_8_##T, T, __shfl_xor_sync(FULL, a, 12, 8))               \
  WARP(shuffle_own_##T, T, __shfl_down_sync(FULL, a, lane))
SHUFFLES(s32)
SHUFFLES(u32)
SHUFFLES(s64)
SHUFFLES(f32)
SHUFFLES(f64)

/// A butterfly of sums, as of every row.
#define SUMS(T)                                                                \
  KERNEL(sum_of_warp_##T, launch(2, 64), (out<T>(128), in<T>(128, -100, 100)), \
         (T * results, const T *as)) {                                         \
    const int i = blockIdx.x * blockDim.x + threadIdx.x;                       \
    T sum = as[i];                                                             \
    for (int step = 16; step > 0; step /= 2)                                   \
      sum += __shfl_xor_sync(FULL, sum, step);                                 \
    results[i] = sum;                                                          \
  }                                                                            \
  KERNEL(prefix_of_warp_##T, launch(2, 64),                                    \
         (out<T>(128), in<T>(128, -100, 100)), (T * results, const T *as)) {   \
    const int i = blockIdx.x * blockDim.x + threadIdx.x;                       \
    const int lane = threadIdx.x % 32;                                         \
    T sum = as[i];                                                             \
    for (int step = 1; step < 32; step *= 2) {                                 \
      const T other = __shfl_up_sync(FULL, sum, step);                         \
      sum = lane >= step ? sum + other : sum;                                  \
    }                                                                          \
    results[i] = sum;                                                          \
  }
SUMS(s32)
SUMS(s64)
SUMS(f32)
SUMS(f64)

WARP(ballot, u32, __ballot_sync(FULL, a & 1))
WARP(any, u32, __any_sync(FULL, a == 7) + 2 * __any_sync(FULL, lane > 30))
WARP(all, u32, __all_sync(FULL, a != 7) + 2 * __all_sync(FULL, lane < 32))
WARP(uniform, u32, __uni_sync(FULL, a == 7) + 2 * __uni_sync(FULL, lane < 16) +
                       4 * __uni_sync(FULL, lane < 32))
WARP(rank_in_ballot, u32,
     __popc(__ballot_sync(FULL, a & 2) & ((1u << lane) - 1)))
WARP(match_any_u32, u32, __match_any_sync(FULL, a % 5))
WARP(match_any_u64, u64, __match_any_sync(FULL, a % 3 << 40))
KERNEL(match_all, launch(2, 64), (out<u32>(128), out<s32>(128), in<u32>(128)),
       (u32 * masks, s32 *are_same, const u32 *as)) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  int first = 0, second = 0;
  masks[i] = __match_all_sync(FULL, as[i] & 1, &first) ^
             __match_all_sync(FULL, i / 32, &second);
  are_same[i] = first + 2 * second;
}
WARP(reduce_add_u32, u32, __reduce_add_sync(FULL, a))
WARP(reduce_add_s32, s32, __reduce_add_sync(FULL, a))
WARP(reduce_min_u32, u32, __reduce_min_sync(FULL, a))
WARP(reduce_min_s32, s32, __reduce_min_sync(FULL, a))
WARP(reduce_max_u32, u32, __reduce_max_sync(FULL, a))
WARP(reduce_max_s32, s32, __reduce_max_sync(FULL, a))
WARP(reduce_and, u32, __reduce_and_sync(FULL, a | 0xFF00))
WARP(reduce_or, u32, __reduce_or_sync(FULL, a & 0xF0F))
WARP(reduce_xor, u32, __reduce_xor_sync(FULL, a))

// Part of a warp, on two ways at once.
KERNEL(shuffles_of_halves, launch(1, 64), (out<s32>(64), in<s32>(64)),
       (s32 * results, const s32 *as)) {
  const int i = threadIdx.x, lane = i % 32;
  s32 value = as[i];
  if (lane < 16)
    value += __shfl_xor_sync(0x0000FFFF, value, 3);
  else
    value -= __shfl_down_sync(0xFFFF0000, value, 1);
  results[i] = value;
}
KERNEL(shuffle_of_some, launch(1, 32), (out<s32>(32), in<s32>(32)),
       (s32 * results, const s32 *as)) {
  const int lane = threadIdx.x;
  s32 value = as[lane];
  const unsigned odd = __ballot_sync(FULL, lane % 2);
  if (lane % 2)
    value = __shfl_sync(odd, value, lane ^ 2) + int(__ballot_sync(odd, lane > 9));
  __syncwarp();
  results[lane] = __shfl_up_sync(FULL, value, 1);
}
KERNEL(shuffle_in_a_loop_that_lanes_leave, launch(1, 64), (out<s32>(64), in<u32>(64)),
       (s32 * results, const u32 *as)) {
  const int i = threadIdx.x;
  int left = as[i] % 6, rounds = 0;
  while (__any_sync(FULL, left > 0)) {
    rounds += __popc(__ballot_sync(FULL, left > 0));
    --left;
  }
  results[i] = rounds;
}
KERNEL(votes_of_some, launch(1, 64), (out<s32>(64), in<s32>(64)), (s32 * results, const s32 *as)) {
  const int i = threadIdx.x;
  const unsigned mask = i % 2 ? 0xAAAAAAAA : 0x55555555;
  const int a = as[i] & 3;
  results[i] = __all_sync(mask, i % 2) + 2 * __all_sync(mask, a != 2) + 4 * __any_sync(mask, i == 6) +
               8 * __uni_sync(mask, i % 2) + 16 * __uni_sync(mask, i < 9);
}
#ifdef __CUDACC__
/// Whether there was such a lane, which no C++ asks.
__device__ s32 hasLaneAbove(s32 a, u32 by) {
  s32 result;
  asm volatile("{ .reg .pred p; .reg .b32 x;\n shfl.sync.down.b32 x|p, %1, %2, 0x181f, 0xffffffff;\n"
               " selp.b32 %0, x, -1, p; }"
               : "=r"(result)
               : "r"(a), "r"(by));
  return result;
}
#else
static s32 hasLaneAbove(s32 a, u32 by) {
  const s32 other = __shfl_down_sync(FULL, a, by, 8);
  return threadIdx.x % 8 + by < 8 ? other : -1;
}
#endif
WARP(lane_above, s32, hasLaneAbove(a, 3))
KERNEL(small_block, launch(3, 20), (out<s32>(60), in<s32>(60)),
       (s32 * results, const s32 *as)) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  results[i] = __shfl_sync(0xFFFFF, as[i], (threadIdx.x + 1) % 20) +
               __popc(__ballot_sync(0xFFFFF, as[i] > 0));
}
KERNEL(lanes_in_three_dimensions, launch(2, {4, 4, 4}), (out<s32>(128), in<s32>(128)),
       (s32 * results, const s32 *as)) {
  const int thread = (threadIdx.z * blockDim.y + threadIdx.y) * blockDim.x + threadIdx.x;
  const int i = blockIdx.x * 64 + thread;
  results[i] = __shfl_down_sync(FULL, as[i], 8);
}
