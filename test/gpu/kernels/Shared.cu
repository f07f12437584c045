//===- Shared.cu - threads of a block, and what they share ----------------===//
//
// SPDX-License-Identifier: Apache-2.0
//
//===----------------------------------------------------------------------===//
#include "Kernel.h"

#define BLOCK(T)                                                               \
  /* backwards, through shared memory */                                       \
  KERNEL(reverse_##T, launch(3, 96), (out<T>(288), in<T>(288)),                \
         (T * results, const T *as)) {                                         \
    __shared__ T row[96];                                                      \
    const int i = threadIdx.x, first = blockIdx.x * 96;                        \
    row[i] = as[first + i];                                                    \
    __syncthreads();                                                           \
    results[first + i] = row[95 - i];                                          \
  }                                                                            \
  /* a tree of sums */                                                         \
  KERNEL(sum_of_block_##T, launch(2, 128), (out<T>(2), in<T>(256, -90, 90)),   \
         (T * results, const T *as)) {                                         \
    __shared__ T sums[128];                                                    \
    const int i = threadIdx.x;                                                 \
    sums[i] = as[blockIdx.x * 128 + i];                                        \
    __syncthreads();                                                           \
    for (int step = 64; step > 0; step /= 2) {                                 \
      if (i < step)                                                            \
        sums[i] += sums[i + step];                                             \
      __syncthreads();                                                         \
    }                                                                          \
    if (i == 0)                                                                \
      results[blockIdx.x] = sums[0];                                           \
  }                                                                            \
  /* tiles, with a column more than they need */                               \
  KERNEL(transpose_##T, launch({2, 3}, {16, 8}),                               \
         (out<T>(32 * 48), in<T>(32 * 48)), (T * results, const T *as)) {      \
    __shared__ T tile[16][17];                                                 \
    const int x = blockIdx.x * 16 + threadIdx.x;                               \
    for (int k = 0; k < 16; k += 8)                                            \
      tile[threadIdx.y + k][threadIdx.x] =                                     \
          as[(blockIdx.y * 16 + threadIdx.y + k) * 32 + x];                    \
    __syncthreads();                                                           \
    const int y = blockIdx.y * 16 + threadIdx.x;                               \
    for (int k = 0; k < 16; k += 8)                                            \
      results[(blockIdx.x * 16 + threadIdx.y + k) * 48 + y] =                  \
          tile[threadIdx.x][threadIdx.y + k];                                  \
  }                                                                            \
  /* every thread's sum of all before it */                                    \
  KERNEL(prefix_of_block_##T, launch(1, 64), (out<T>(64), in<T>(64, -90, 90)), \
         (T * results, const T *as)) {                                         \
    __shared__ T sums[2][64];                                                  \
    const int i = threadIdx.x;                                                 \
    int from = 0;                                                              \
    sums[0][i] = as[i];                                                        \
    for (int step = 1; step < 64; step *= 2, from = 1 - from) {                \
      __syncthreads();                                                         \
      sums[1 - from][i] =                                                      \
          i < step ? sums[from][i] : T(sums[from][i] + sums[from][i - step]);  \
    }                                                                          \
    results[i] = sums[from][i];                                                \
  }                                                                            \
  /* what the launch gives */                                                  \
  KERNEL(dynamic_##T, launch(2, 64, 64 * sizeof(T)), (out<T>(128), in<T>(128)), \
         (T * results, const T *as)) {                                         \
    DYNAMIC_SHARED(T, row);                                                    \
    const int i = threadIdx.x, first = blockIdx.x * 64;                        \
    row[i ^ 5] = as[first + i];                                                \
    __syncthreads();                                                           \
    results[first + i] = row[(i + 1) % 64];                                    \
  }
BLOCK(u8)
BLOCK(s16)
BLOCK(s32)
BLOCK(s64)
BLOCK(f32)
BLOCK(f64)

/// Of a row: shuffles, then shared memory, as compilers of row-wise kernels do.
KERNEL_WITHIN(softmax, launch(5, 128), ulps(8), (out<f32>(5 * 300), in<f32>(5 * 300, -10, 10)),
              (f32 * results, const f32 *as)) {
  __shared__ f32 partial[4];
  const f32 *row = as + blockIdx.x * 300;
  const int i = threadIdx.x, lane = i % 32, warp = i / 32;
  f32 most = -INFINITY;
  for (int k = i; k < 300; k += 128)
    most = fmaxf(most, row[k]);
  for (int step = 16; step > 0; step /= 2)
    most = fmaxf(most, __shfl_xor_sync(~0u, most, step));
  if (lane == 0)
    partial[warp] = most;
  __syncthreads();
  most = fmaxf(fmaxf(partial[0], partial[1]), fmaxf(partial[2], partial[3]));
  __syncthreads();
  f32 sum = 0;
  for (int k = i; k < 300; k += 128)
    sum += expf(row[k] - most);
  for (int step = 16; step > 0; step /= 2)
    sum += __shfl_xor_sync(~0u, sum, step);
  if (lane == 0)
    partial[warp] = sum;
  __syncthreads();
  sum = (partial[0] + partial[1]) + (partial[2] + partial[3]);
  for (int k = i; k < 300; k += 128)
    results[blockIdx.x * 300 + k] = expf(row[k] - most) / sum;
}

/// Two of fixed size beside what the launch gives, and vectors in it.
KERNEL(shared_of_all_kinds, launch(2, 64, 64 * 16), (out<f32>(128 * 4), in<f32>(128 * 4)),
       (f32 * results, const f32 *as)) {
  __shared__ u8 order[64];
  __shared__ f64 scale[2];
  DYNAMIC_SHARED(float4, rows);
  const int i = threadIdx.x, at = blockIdx.x * 64 + i;
  order[i] = u8(63 - i);
  if (i < 2)
    scale[i] = i + 0.5;
  rows[i] = reinterpret_cast<const float4 *>(as)[at];
  __syncthreads();
  float4 row = rows[order[i]];
  row.x *= f32(scale[0]);
  row.z *= f32(scale[1]);
  reinterpret_cast<float4 *>(results)[at] = row;
}
/// A pointer that may be to one or the other.
KERNEL(generic_pointers, launch(2, 64), (out<s32>(128), in<s32>(128)),
       (s32 * results, const s32 *as)) {
  __shared__ s32 row[64];
  s32 own[4];
  const int i = threadIdx.x, at = blockIdx.x * 64 + i;
  row[i] = as[at] + 1;
  for (int k = 0; k < 4; ++k)
    own[k] = as[at] - k;
  __syncthreads();
  const s32 *places[3] = {row + (63 - i), own + i % 4, as + at};
  const s32 *place = places[(as[at] & 0x7FFFFFFF) % 3];
  results[at] = *place;
}
KERNEL(barriers_that_count, launch(2, 96), (out<s32>(192), in<s32>(192)),
       (s32 * results, const s32 *as)) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  const int a = as[i];
  results[i] = __syncthreads_count(a > 0) * 4 + (__syncthreads_or(a == 7) != 0) * 2 +
               (__syncthreads_and(a != 12345) != 0);
}
KERNEL(shared_histogram, launch(3, 128), (inout<u32>(16), in<u8>(384)),
       (u32 * counts, const u8 *as)) {
  __shared__ u32 mine[16];
  const int i = threadIdx.x;
  if (i < 16)
    mine[i] = 0;
  __syncthreads();
  atomicAdd(mine + as[blockIdx.x * 128 + i] % 16, 1u);
  __syncthreads();
  if (i < 16)
    atomicAdd(counts + i, mine[i]);
}
KERNEL(shared_atomics, launch(1, 64), (out<s64>(6), in<s32>(64)), (s64 * results, const s32 *as)) {
  __shared__ s32 most, least, bits;
  __shared__ u64 sum;
  __shared__ u32 turns, last;
  const int i = threadIdx.x;
  if (i == 0) {
    most = -2147483647 - 1;
    least = 2147483647;
    bits = 0;
    sum = 0;
    turns = last = 0;
  }
  __syncthreads();
  atomicMax(&most, as[i]);
  atomicMin(&least, as[i]);
  atomicXor(&bits, as[i]);
  atomicAdd(&sum, u64(s64(as[i])));
  atomicInc(&turns, 9);
  atomicCAS(&last, 0u, 5u);
  __syncthreads();
  if (i == 0) {
    results[0] = most;
    results[1] = least;
    results[2] = bits;
    results[3] = s64(sum);
    results[4] = turns;
    results[5] = last;
  }
}
/// What a warp has written it sees behind its own barrier.
KERNEL(shared_by_warp, launch(2, 64), (out<s32>(128), in<s32>(128)),
       (s32 * results, const s32 *as)) {
  __shared__ s32 row[64];
  const int i = threadIdx.x, at = blockIdx.x * 64 + i;
  row[i] = as[at];
  __syncwarp();
  const s32 other = row[i ^ 31];
  __syncwarp();
  row[i] = other * 2;
  __syncwarp();
  results[at] = row[i ^ 1];
}
/// From one to the next who meets it, never all at once.
KERNEL(shared_by_parts_of_a_warp, launch(1, 32), (out<s32>(32), in<s32>(32)),
       (s32 * results, const s32 *as)) {
  __shared__ s32 row[32];
  const int i = threadIdx.x;
  row[i] = as[i];
  if (i < 16)
    __syncwarp(0x0000FFFF);
  s32 sum = i < 16 ? row[i ^ 15] : 0;
  __syncwarp(i % 2 ? 0xAAAAAAAA : 0x55555555);
  sum += row[i % 16 / 2 * 2 + i % 2];
  if (i >= 16)
    sum -= row[(i & 1) == 0 ? i % 16 + 1 : i % 16 - 1];
  results[i] = sum;
}
/// Rounds of a game of life, in two fields of shared memory.
KERNEL(life, launch(1, {16, 16}), (out<u8>(256), in<u8>(256)), (u8 * results, const u8 *as)) {
  __shared__ u8 field[2][16][16];
  const int x = threadIdx.x, y = threadIdx.y;
  field[0][y][x] = as[y * 16 + x] & 1;
  for (int round = 0; round < 5; ++round) {
    __syncthreads();
    int neighbours = 0;
    for (int dy = 15; dy <= 17; ++dy)
      for (int dx = 15; dx <= 17; ++dx)
        neighbours += field[round & 1][(y + dy) & 15][(x + dx) & 15];
    const u8 self = field[round & 1][y][x];
    field[~round & 1][y][x] = neighbours == 3 || (self && neighbours == 4);
  }
  results[y * 16 + x] = field[1][y][x];
}
/// Products of tiles.
KERNEL(product_of_matrices, launch({2, 2}, {16, 16}), (out<f32>(1024), in<f32>(32 * 48, -1, 1), in<f32>(48 * 32, -1, 1)),
       (f32 * results, const f32 *as, const f32 *bs)) {
  __shared__ f32 a[16][16], b[16][16];
  const int x = threadIdx.x, y = threadIdx.y;
  const int row = blockIdx.y * 16 + y, column = blockIdx.x * 16 + x;
  f32 sum = 0;
  for (int tile = 0; tile < 48; tile += 16) {
    a[y][x] = as[row * 48 + tile + x];
    b[y][x] = bs[(tile + y) * 32 + column];
    __syncthreads();
    for (int k = 0; k < 16; ++k)
      sum = fmaf(a[y][k], b[k][x], sum);
    __syncthreads();
  }
  results[row * 32 + column] = sum;
}
