//===- MatrixBlocks.h - blocks of matrices, and epilogues -------*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0
//
// Loads and stores between matrices of any type and strides and dense blocks of
// f32 or f64, and the epilogues on such blocks. The loops are compiled for
// several instruction sets; the loader selects the machine's.
//
//===----------------------------------------------------------------------===//
#ifndef PPRT_BACKENDS_CPU_MATRIXBLOCKS_H
#define PPRT_BACKENDS_CPU_MATRIXBLOCKS_H

#include "../../targets/cpu/PatchMatrix.h"

#include <cstddef>
#include <cstdint>

namespace pprt::cpu {

/// A matrix of any element type, anywhere in memory; strides in elements.
struct StridedMatrix {
  std::byte *data;
  ppx::ElementType element;
  uint64_t rowStride, columnStride;
};

/// Rows of `columns` elements, `leading` elements apart.
template <typename T> struct Block {
  T *data;
  uint64_t rows, columns, leading;
};

/// Most loops of rows or columns, and most windows.
constexpr size_t kMostLoops = 8, kMostWindows = 4;

struct PatchSource {
  const std::byte *data;
  ppx::ElementType element;
  const PatchWindow *windows;
  size_t numWindows;
};

/// Loops, major to minor, and the place in them where a block begins.
struct PatchRange {
  const PatchLoop *loops;
  size_t numLoops;
  uint64_t begin;
};

/// to[i][j] = the element at place i of `outer` and j of `inner`.
void loadPatches(const PatchSource &from, const PatchRange &outer,
                 const PatchRange &inner, const Block<float> &to);
void loadPatches(const PatchSource &from, const PatchRange &outer,
                 const PatchRange &inner, const Block<double> &to);
/// The same bits, of a source with elements of 16 bits.
void loadPatches(const PatchSource &from, const PatchRange &outer,
                 const PatchRange &inner, const Block<uint16_t> &to);

/// to = from
void load(const StridedMatrix &from, const Block<float> &to);
void load(const StridedMatrix &from, const Block<double> &to);
/// The same bits, of a matrix with elements of 16 bits.
void load(const StridedMatrix &from, const Block<uint16_t> &to);

/// to = from, or to += from.
void store(const Block<float> &from, const StridedMatrix &to, bool add);
void store(const Block<double> &from, const StridedMatrix &to, bool add);

/// Applies an epilogue in place. Only add and multiply read `operand`.
void finish(ppx::EpilogueKind kind, const StridedMatrix &operand,
            const Block<float> &block);
void finish(ppx::EpilogueKind kind, const StridedMatrix &operand,
            const Block<double> &block);

} // namespace pprt::cpu

#endif // PPRT_BACKENDS_CPU_MATRIXBLOCKS_H
