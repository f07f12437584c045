//===- Faults.cu - kernels that are wrong ---------------------------------===//
//
// SPDX-License-Identifier: Apache-2.0
//
// Each with what running it must report. A GPU would pass over most of them, or
// do something else every time; the host never runs them.
//
//===----------------------------------------------------------------------===//
#include "Kernel.h"

#define FULL 0xFFFFFFFFu
#define WRONG(name, fault, launch)                                             \
  FAULT(name, fault, launch, (out<s32>(64), in<s32>(64)),                      \
        (s32 * results, const s32 *as))

// Accesses without an order.
WRONG(race_of_warps, "race in shared memory", launch(1, 64)) {
  __shared__ s32 row[64];
  row[threadIdx.x] = as[threadIdx.x];
  results[threadIdx.x] = row[63 - threadIdx.x];
}
WRONG(race_in_a_warp, "race in shared memory", launch(1, 32)) {
  __shared__ s32 row[32];
  row[threadIdx.x] = as[threadIdx.x];
  results[threadIdx.x] = row[threadIdx.x ^ 1];
}
WRONG(race_after_the_read, "race in shared memory", launch(1, 64)) {
  __shared__ s32 row[64];
  const int i = threadIdx.x;
  row[i] = as[i];
  __syncthreads();
  const s32 other = row[63 - i];
  row[i] = other; // the other one may not have read yet
  __syncthreads();
  results[i] = row[i];
}
WRONG(race_behind_the_barrier_of_a_warp, "race in shared memory", launch(1, 64)) {
  __shared__ s32 row[64];
  row[threadIdx.x] = as[threadIdx.x];
  __syncwarp();
  results[threadIdx.x] = row[(threadIdx.x + 32) % 64];
}
WRONG(race_of_halves_of_a_warp, "race in shared memory", launch(1, 32)) {
  __shared__ s32 row[32];
  const int i = threadIdx.x;
  row[i] = as[i];
  if (i < 16)
    __syncwarp(0x0000FFFF);
  else
    __syncwarp(0xFFFF0000);
  results[i] = row[i ^ 16];
}
WRONG(race_of_writers, "race in shared memory", launch(1, 64)) {
  __shared__ s32 last;
  last = as[threadIdx.x];
  __syncthreads();
  results[threadIdx.x] = last;
}
WRONG(race_of_an_atomic_and_a_read, "race in shared memory", launch(1, 64)) {
  __shared__ s32 sum;
  if (threadIdx.x == 0)
    sum = 0;
  __syncthreads();
  atomicAdd(&sum, as[threadIdx.x]);
  results[threadIdx.x] = sum;
}
WRONG(race_of_a_byte, "race in shared memory", launch(1, 64)) {
  alignas(4) __shared__ u8 bytes[64];
  bytes[threadIdx.x] = u8(as[threadIdx.x]);
  if (threadIdx.x == 60)
    results[0] = *reinterpret_cast<s32 *>(bytes + 60);
}
WRONG(race_of_blocks, "race in global memory", launch(2, 32)) {
  results[threadIdx.x] = as[threadIdx.x] + blockIdx.x;
}
WRONG(race_of_a_block_that_reads, "race in global memory", launch(2, 32)) {
  results[blockIdx.x * 32 + threadIdx.x] = as[threadIdx.x];
  results[threadIdx.x] += 1;
}
// Undefined even by one thread: constants may be had from another cache.
WRONG(constants_that_are_written, "ld.global.nc", launch(1, 64)) {
  results[threadIdx.x] = __ldg(results + threadIdx.x) + as[threadIdx.x];
}
WRONG(race_in_global_memory, "race in global memory", launch(1, 64)) {
  results[threadIdx.x] = as[threadIdx.x];
  if (threadIdx.x % 2)
    results[threadIdx.x] = results[threadIdx.x - 1] * 3;
}
WRONG(race_of_an_atomic_and_a_write, "race in global memory", launch(1, 64)) {
  results[threadIdx.x] = as[threadIdx.x];
  atomicAdd(results + 7, 1);
}

// Barriers that some do not reach.
WRONG(barrier_of_some, "divergent barrier", launch(1, 64)) {
  if (as[threadIdx.x] % 2)
    __syncthreads();
  results[threadIdx.x] = 1;
}
WRONG(barrier_after_an_end, "divergent barrier", launch(1, 64)) {
  if (threadIdx.x >= 40)
    return;
  results[threadIdx.x] = as[threadIdx.x];
  __syncthreads();
  results[63 - threadIdx.x % 20] = 0;
}
WRONG(barriers_on_two_ways, "divergent barrier", launch(1, 64)) {
  __shared__ s32 row[64];
  const int i = threadIdx.x;
  row[i] = as[i];
  if (i % 2) {
    __syncthreads();
    results[i] = row[i - 1];
  } else {
    results[i] = as[i] + 4;
    __syncthreads();
    row[i] = 5;
  }
}
WRONG(barriers_of_different_counts, "divergent barrier", launch(1, 64)) {
  for (u32 k = 0; k < 3 + threadIdx.x / 32; ++k)
    __syncthreads();
  results[threadIdx.x] = as[threadIdx.x];
}
WRONG(barrier_of_a_warp_that_some_miss, "a warp's barrier that not all threads of its mask reach",
      launch(1, 32)) {
  if (threadIdx.x < 20)
    __syncwarp(FULL);
  else
    return;
  results[threadIdx.x] = as[threadIdx.x];
}

// Addresses.
WRONG(beyond_the_end, "expects an address inside of a buffer", launch(1, 64)) {
  results[threadIdx.x] = as[threadIdx.x + 1];
}
WRONG(before_the_begin, "expects an address inside of a buffer", launch(1, 64)) {
  results[int(threadIdx.x) - 1] = as[threadIdx.x];
}
WRONG(end_of_a_vector, "expects an address inside of a buffer", launch(1, 17)) {
  const int4 row = reinterpret_cast<const int4 *>(as)[threadIdx.x];
  results[threadIdx.x] = row.x + row.w;
}
FAULT(null_address, "expects an address inside of a buffer", launch(1, 1),
      (out<s32>(1), value<s32 *>(nullptr)), (s32 * results, s32 *nothing)) {
  results[0] = *nothing;
}
WRONG(index_of_32_bits_overflows, "expects an address inside of a buffer", launch(1, 64)) {
  const int far = (threadIdx.x + 1) * 1000000000u; // of 32 bits, and a sign
  results[threadIdx.x] = as[far];
}
WRONG(atomic_beyond_the_end, "expects an address inside of a buffer", launch(1, 64)) {
  atomicAdd(results + as[threadIdx.x] % 2 + 64, 1);
}
WRONG(beyond_shared_memory, "inside of shared memory", launch(1, 64)) {
  __shared__ s32 row[64];
  row[threadIdx.x * 2] = as[threadIdx.x];
  __syncthreads();
  results[threadIdx.x] = row[threadIdx.x];
}
WRONG(beyond_dynamic_shared_memory, "inside of shared memory", launch(1, 64, 252)) {
  DYNAMIC_SHARED(s32, row);
  row[threadIdx.x] = as[threadIdx.x];
  __syncthreads();
  results[threadIdx.x] = row[63 - threadIdx.x];
}
FAULT(beyond_local_memory, "inside of the thread's local memory", launch(1, 64),
      (out<s32>(64), in<s32>(64), value<int>(8)), (s32 * results, const s32 *as, int by)) {
  s32 row[8];
  for (int k = 0; k < 8; ++k)
    row[k] = as[threadIdx.x] * k;
  results[threadIdx.x] = row[by + threadIdx.x % 8];
}
#define MISALIGNED(V, by)                                                      \
  WRONG(misaligned_##V, "expects an address that is a multiple of", launch(1, 8)) { \
    const u8 *place = reinterpret_cast<const u8 *>(as) + by;                   \
    const V row = reinterpret_cast<const V *>(place)[threadIdx.x];             \
    reinterpret_cast<V *>(results)[threadIdx.x] = row;                         \
  }
MISALIGNED(int4, 4)
MISALIGNED(float4, 2)
MISALIGNED(double2, 4)
MISALIGNED(int2, 4)
MISALIGNED(float2, 2)
MISALIGNED(short2, 2)
MISALIGNED(uchar4, 1)
WRONG(misaligned_word, "expects an address that is a multiple of", launch(1, 8)) {
  results[threadIdx.x] = *reinterpret_cast<const s32 *>(reinterpret_cast<const u8 *>(as) + 2);
}
WRONG(misaligned_write, "expects an address that is a multiple of", launch(1, 8)) {
  reinterpret_cast<int4 *>(results + 1)[threadIdx.x] = reinterpret_cast<const int4 *>(as)[threadIdx.x];
}
FAULT(misaligned_in_shared_memory, "expects an address that is a multiple of", launch(1, 8),
      (out<s32>(64), in<s32>(64), value<int>(1)), (s32 * results, const s32 *as, int by)) {
  alignas(16) __shared__ s32 row[64];
  for (int k = threadIdx.x; k < 64; k += 8)
    row[k] = as[k];
  __syncthreads();
  const s64 *place = reinterpret_cast<const s64 *>(row + 2 * threadIdx.x + by);
  reinterpret_cast<s64 *>(results)[threadIdx.x] = *place;
}

// What nobody wrote.
WRONG(unwritten_bound_of_a_loop, "never written", launch(1, 32)) {
  __shared__ s32 counts[32];
  if (threadIdx.x < 16)
    counts[threadIdx.x] = 4;
  __syncwarp();
  for (int k = 0; k < counts[threadIdx.x]; ++k)
    results[threadIdx.x] = as[k];
}
FAULT(unwritten_index, "an address that was never written", launch(1, 32),
      (out<s32>(64), out<s32>(64), in<s32>(64)), (s32 * results, const s32 *indices, const s32 *as)) {
  results[threadIdx.x] = as[indices[threadIdx.x]];
}
FAULT(unwritten_condition, "never written", launch(1, 32),
      (out<s32>(64), out<s32>(64), in<s32>(64)), (s32 * results, const s32 *flags, const s32 *as)) {
  if (flags[threadIdx.x])
    atomicAdd(results, 1);
}
FAULT(unwritten_input, "bytes that nobody wrote", launch(1, 64),
      (out<s32>(64), out<s32>(64), in<s32>(64)), (s32 * results, const s32 *more, const s32 *as)) {
  results[threadIdx.x] = as[threadIdx.x] + more[threadIdx.x];
}
WRONG(unwritten_output, "bytes that nobody wrote", launch(1, 63)) {
  results[threadIdx.x] = as[threadIdx.x];
}
WRONG(unwritten_local_element, "bytes that nobody wrote", launch(1, 64)) {
  s32 row[8];
  for (int k = 0; k < as[threadIdx.x] % 3 + 3; ++k)
    row[k] = k;
  results[threadIdx.x] = row[(as[threadIdx.x] & 1) + 6];
}
WRONG(unwritten_shared_tail, "bytes that nobody wrote", launch(1, 64)) {
  __shared__ u8 row[256];
  row[threadIdx.x] = u8(as[threadIdx.x]);
  __syncthreads();
  results[threadIdx.x] = row[threadIdx.x * 2];
}
FAULT(unwritten_choice, "bytes that nobody wrote", launch(1, 64),
      (out<s32>(64), out<s32>(64), in<s32>(64)), (s32 * results, const s32 *flags, const s32 *as)) {
  const s32 a = as[threadIdx.x] * 3, b = as[63 - threadIdx.x] ^ 5;
  results[threadIdx.x] = flags[threadIdx.x] > 3 ? a : b;
}
FAULT(unwritten_vote, "bytes that nobody wrote", launch(1, 64),
      (out<s32>(64), out<s32>(64)), (s32 * results, const s32 *more)) {
  results[threadIdx.x] = __ballot_sync(FULL, more[threadIdx.x] > 0);
}
FAULT(unwritten_shuffle, "bytes that nobody wrote", launch(1, 64),
      (out<s32>(64), out<s32>(64)), (s32 * results, const s32 *more)) {
  results[threadIdx.x] = __shfl_xor_sync(FULL, threadIdx.x == 9 ? more[0] : 1, 8);
}
FAULT(unwritten_lane_of_a_shuffle, "never written", launch(1, 64),
      (out<s32>(64), out<s32>(64)), (s32 * results, const s32 *more)) {
  results[threadIdx.x] = __shfl_sync(FULL, int(threadIdx.x), more[threadIdx.x]);
}
FAULT(unwritten_reduction, "bytes that nobody wrote", launch(1, 64),
      (out<s32>(64), out<s32>(64)), (s32 * results, const s32 *more)) {
  results[threadIdx.x] = __reduce_add_sync(FULL, threadIdx.x == 9 ? more[0] : 1);
}
WRONG(unwritten_atomic, "bytes that nobody wrote", launch(1, 64)) {
  atomicAdd(results + threadIdx.x, as[threadIdx.x]);
}
FAULT(unwritten_count_of_a_block, "never written", launch(1, 64),
      (out<s32>(64), out<s32>(64)), (s32 * results, const s32 *more)) {
  results[threadIdx.x] = __syncthreads_count(more[threadIdx.x]);
}

// Others of the warp that are not there.
WRONG(shuffle_that_some_miss, "a shuffle that not all threads of its mask reach", launch(1, 32)) {
  s32 value = as[threadIdx.x];
  if (threadIdx.x < 16)
    value = __shfl_xor_sync(FULL, value, 1);
  else
    return;
  results[threadIdx.x] = value;
}
WRONG(shuffle_from_an_inactive_lane, "a shuffle from a thread that is not there", launch(1, 32)) {
  s32 value = as[threadIdx.x];
  if (threadIdx.x < 16)
    value = __shfl_sync(0xFFFF, value, 20);
  results[threadIdx.x] = value;
}
WRONG(shuffle_from_a_lane_outside_of_the_mask, "a shuffle from a thread that is not there",
      launch(1, 32)) {
  const unsigned mask = threadIdx.x % 2 ? 0xAAAAAAAA : 0x55555555;
  results[threadIdx.x] = __shfl_sync(mask, as[threadIdx.x], threadIdx.x ^ 1);
}
WRONG(shuffle_without_oneself, "leaves out the thread itself", launch(1, 32)) {
  results[threadIdx.x] = __shfl_down_sync(0xFFFFFFFE, as[threadIdx.x], 1);
}
WRONG(shuffles_on_two_ways, "a shuffle that not all threads of its mask reach", launch(1, 32)) {
  const int i = threadIdx.x;
  if (as[i] % 2) {
    results[i] = 3;
    results[i] = __shfl_xor_sync(FULL, as[i], 1);
  } else {
    results[i] = __shfl_up_sync(FULL, i, 2) + 5;
  }
}
WRONG(shuffle_of_a_block_without_a_whole_warp, "a shuffle from a thread that is not there",
      launch(1, 20)) {
  results[threadIdx.x] = __shfl_sync(FULL, as[threadIdx.x], 25);
}
WRONG(vote_that_some_miss, "a vote that not all threads of its mask reach", launch(1, 32)) {
  if (threadIdx.x < 7)
    return;
  results[threadIdx.x] = __ballot_sync(FULL, as[threadIdx.x] > 0);
}
WRONG(vote_without_oneself, "leaves out the thread itself", launch(1, 32)) {
  results[threadIdx.x] = __any_sync(0xFF, as[threadIdx.x] > 0);
}
WRONG(match_that_some_miss, "a match that not all threads of its mask reach", launch(1, 32)) {
  if (threadIdx.x == 7)
    return;
  results[threadIdx.x] = __match_any_sync(FULL, as[threadIdx.x]);
}
WRONG(reduction_that_some_miss, "a reduction that not all threads of its mask reach", launch(1, 32)) {
  if (threadIdx.x == 31)
    return;
  results[threadIdx.x] = __reduce_max_sync(FULL, as[threadIdx.x]);
}
WRONG(trap, "a trap", launch(1, 32)) {
  if (as[threadIdx.x] != 77)
    __trap();
  results[threadIdx.x] = 0;
}
