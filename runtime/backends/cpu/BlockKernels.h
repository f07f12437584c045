//===- BlockKernels.h - the inner loops of contractions ---------*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0
//
// What a contraction does with blocks that fit the caches: pack, multiply,
// finish, store. BlockKernels.cpp is compiled once for each instruction set
// worth having; the set of the machine is chosen at run time.
//
//===----------------------------------------------------------------------===//
#ifndef PPRT_BACKENDS_CPU_BLOCKKERNELS_H
#define PPRT_BACKENDS_CPU_BLOCKKERNELS_H

#include "pprt/ppx_generated.h"

#include <cstddef>
#include <cstdint>

namespace pprt::cpu {

/// A matrix of any element type, anywhere in memory; strides in elements.
template <typename Pointer> struct Strided {
  Pointer data;
  ppx::ElementType element;
  uint64_t rowStride, columnStride;
};
using StridedInput = Strided<const std::byte *>;
using StridedOutput = Strided<std::byte *>;

/// The left operand of multiply(): element (r, k) of panel p is
/// data[p * panelStride + r * rowStride + k * stepStride], r below tileRows.
template <typename T> struct Panels {
  const T *data;
  uint64_t panelStride, rowStride, stepStride;
};

/// `T` is what is computed in: f64 in double, f32 and bf16 in float.
template <typename T> struct BlockKernels {
  const char *name;
  /// The block of the result that is kept in registers.
  uint64_t tileRows, tileColumns;

  /// Packs rows of `from` in panels of `tile` rows: element (r, k) goes to
  /// to[(r / tile) * tile * steps + k * tile + r % tile], times `scale`. The
  /// last panel is filled up with zeros. Columns are packed by swapping the
  /// strides.
  void (*pack)(const StridedInput &from, uint64_t rows, uint64_t steps,
               uint64_t tile, T scale, T *to);
  /// out (+)= lhs * rhs; rhs is packed in panels of tileColumns columns.
  void (*multiply)(uint64_t rows, uint64_t columns, uint64_t steps,
                   const Panels<T> &lhs, const T *rhs, T *out, uint64_t leading,
                   bool add);
  /// Applies an epilogue in place. Only add and multiply read `operand`.
  void (*finish)(ppx::EpilogueKind kind, const StridedInput &operand,
                 uint64_t rows, uint64_t columns, T *out, uint64_t leading);
  /// to (+)= from, converted.
  void (*store)(const T *from, uint64_t leading, uint64_t rows,
                uint64_t columns, const StridedOutput &to, bool add);
};

/// The fastest kernels for this processor.
template <typename T> const BlockKernels<T> &blockKernels();

} // namespace pprt::cpu

#endif // PPRT_BACKENDS_CPU_BLOCKKERNELS_H
