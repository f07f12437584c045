//===- Remainders.h - products whose extents are no multiples ---*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0
//
// In: products that cublasLt takes. Out: the same in a few parts, of which the
// largest has extents that are multiples of 16 bytes.
//
// "To use Tensor Cores ... pointers and matrix dimension must support 16-byte
// alignment" (cuBLAS, 2.1.11): for 50257 columns the library only has
// tensor-core kernels without such loads. On an H200 8192 x 768 x 50257 takes
// 6.7 and 8.3 ms in bf16, 50256 columns or steps 0.86 and 0.81 ms, and the
// remaining one 0.01 and 0.02 ms (cublasLt 13.1).
//
//===----------------------------------------------------------------------===//
#ifndef PPRT_TARGETS_CUDA_REMAINDERS_H
#define PPRT_TARGETS_CUDA_REMAINDERS_H

#include "Matrices.h"

namespace pprt::cuda {

/// Multiplications below which another launch costs more than it saves.
constexpr uint64_t kLeastSplitWork = uint64_t(1) << 29;

/// Splits the contraction's `products` into parts, to run one after the other.
/// The remaining steps come first and are rounded to out's type; the rest is
/// added to them, which rounds some steps once more. A product in f32 (except
/// as TF32) or f64 is one part, as is a small one, whose additional launch
/// would take as long.
std::vector<MatrixProducts> findParts(const ppx::ContractionT &contraction,
                                      const MatrixProducts &products,
                                      uint64_t leastWork = kLeastSplitWork);

/// Bytes of the addresses of all matrices of all parts.
uint64_t tableBytes(const std::vector<MatrixProducts> &parts);

} // namespace pprt::cuda

#endif // PPRT_TARGETS_CUDA_REMAINDERS_H
