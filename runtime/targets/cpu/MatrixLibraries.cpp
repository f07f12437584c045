//===- MatrixLibraries.cpp - rules of libraries for products --------------===//
//
// SPDX-License-Identifier: Apache-2.0
//
//===----------------------------------------------------------------------===//
#include "MatrixLibraries.h"
#include "pprt/Program.h"

#include <algorithm>

using namespace pprt;
using namespace pprt::cpu;

/// Multiply-adds that take about as long as a call of oneDNN.
static constexpr uint64_t kCall = 1 << 17;

namespace pprt::cpu {
namespace oneDnnMatmul {

/// Multiply-adds that take about as long as the library's call overhead.
constexpr uint64_t kWork = 1 << 17;

static bool takes(const ProductShape &shape) {
  return (shape.element == ppx::ElementType_f32 ||
          shape.element == ppx::ElementType_bf16) &&
         shape.rows * shape.columns * shape.steps >= kCall;
}

/// Scratchpad of oneDNN 2.6.3's blocked products (brgemm_matmul_utils.cpp,
/// init_scratchpad): copies of a chunk of either factor, the sums of a chunk of
/// the result, and a list of blocks. In f32, chunks are of at most 1024 steps;
/// processors with AMX may take all, in up to two blocks.
static uint64_t scratchpadBytes(const ProductShape &shape) {
  constexpr uint64_t mostRows = 256, mostColumns = 1024, mostSteps = 1024,
                     block = 64, listed = 64, others = 16 << 10;
  const uint64_t bytes = elementSize(shape.element);
  const uint64_t rows = std::min(shape.rows + block, mostRows),
                 columns = std::min(shape.columns + block, mostColumns),
                 steps = shape.element == ppx::ElementType_f32
                             ? std::min(shape.steps, mostSteps)
                             : 2 * shape.steps + 3 * block;
  return others + listed * steps + (rows + block) * (steps + block) * bytes +
         rows * columns * sizeof(float);
}

/// 1 MiB of f32 stays in the cache until its epilogues. Rows of a dense matrix
/// are dense, columns are not. Sums over all pixels of a batch are cut, because
/// the scratchpad of narrow factors grows with them.
constexpr MatrixLibraryRules kRules = {{/*rows=*/512, /*columns=*/512,
                                        /*wholeColumns=*/2048,
                                        /*stepsOfColumns=*/1 << 14},
                                       takes,
                                       scratchpadBytes};

} // namespace oneDnnMatmul

namespace oneDnnGemm {

// Rules of oneDNN 2.6.3, on any processor; a test compares them with its
// allocations.

/// It packs the right matrix and a strip of the left: up to kSomeSteps steps at
/// once, at least kFewSteps; else kPackedSteps at a time.
constexpr uint64_t kFewSteps = 128, kSomeSteps = 768, kPackedSteps = 512;
constexpr uint64_t kStrip = 448, kTile = 64;
/// Its minimum, and the gaps that align its parts.
constexpr uint64_t kLeast = 80 << 10, kGaps = 8 << 10;

static bool takes(const ProductShape &shape) {
  return shape.element == ppx::ElementType_f32;
}

static uint64_t scratchpadBytes(const ProductShape &shape) {
  // With a single row or column, packing does not pay.
  if (shape.rows == 1 || shape.columns == 1)
    return 0;
  const uint64_t steps =
      shape.steps > kSomeSteps
          ? kPackedSteps
          : (std::max(shape.steps, kFewSteps) + 31) / 32 * 32;
  return std::max(kLeast, kGaps + (shape.columns + kTile +
                                   std::min(shape.rows + kTile, kStrip)) *
                                      steps * sizeof(float));
}

/// The library finds its own blocks. Sums over long columns of the left matrix
/// are up to a third faster in pieces.
constexpr MatrixLibraryRules kRules = {{/*rows=*/512, /*columns=*/1024,
                                        /*wholeColumns=*/0,
                                        /*stepsOfColumns=*/512},
                                       takes,
                                       scratchpadBytes};

} // namespace oneDnnGemm

namespace openBlasGemm {

static bool takes(const ProductShape &shape) {
  return !isNarrowFloat(shape.element);
}

/// Large products are packed into buffers that the library keeps. On processors
/// with AVX-512, small ones have some columns packed into memory that it
/// allocates in every call.
static uint64_t scratchpadBytes(const ProductShape &shape) {
  constexpr uint64_t small = 1000000, columns = 32;
  if (shape.lhs.transposed || shape.rhs.transposed ||
      shape.rows * shape.columns * shape.steps > small)
    return 0;
  return 64 + columns * shape.steps * elementSize(shape.element);
}

constexpr MatrixLibraryRules kRules = {
    {/*rows=*/512, /*columns=*/512}, takes, scratchpadBytes};

} // namespace openBlasGemm
} // namespace pprt::cpu

const MatrixLibraryRules &cpu::rulesOf(ppx::MatrixLibrary library) {
  switch (library) {
  case ppx::MatrixLibrary_any:
  case ppx::MatrixLibrary_onednn_matmul:
    return oneDnnMatmul::kRules;
  case ppx::MatrixLibrary_onednn_gemm:
    return oneDnnGemm::kRules;
  case ppx::MatrixLibrary_openblas:
    return openBlasGemm::kRules;
  }
  return oneDnnGemm::kRules; // no other is in an artifact that was checked
}

std::vector<Way> cpu::waysFor(const ppx::ContractionT &contraction,
                              bool avx512) {
  constexpr ppx::ElementType f32 = ppx::ElementType_f32;
  constexpr Way matmul = {ppx::MatrixLibrary_onednn_matmul, f32,
                          /*isCertain=*/false},
                gemm = {ppx::MatrixLibrary_onednn_gemm, f32},
                openblas = {ppx::MatrixLibrary_openblas, f32};
  // Rows or columns, or steps of a left factor in rows, up to which oneDNN is
  // fastest without AVX-512.
  constexpr uint64_t narrow = 128, brief = 512;
  const bool isTiny = contraction.m * contraction.n * contraction.k < kCall;
  const bool isBrief =
      contraction.k <= brief && contraction.lhs->column_stride == 1;
  switch (contraction.element) {
  case ppx::ElementType_f64:
    return {{ppx::MatrixLibrary_openblas, ppx::ElementType_f64}};
  // Without AVX-512 oneDNN's blocked products do not exist.
  case ppx::ElementType_bf16:
    if (avx512)
      return {{ppx::MatrixLibrary_onednn_matmul, ppx::ElementType_bf16,
               /*isCertain=*/false},
              matmul,
              gemm,
              openblas};
    return {gemm, openblas};
  case ppx::ElementType_f16:
    if (avx512)
      return {matmul, gemm, openblas};
    return {gemm, openblas};
  default:
    if (!isTiny && avx512)
      return {gemm, matmul, openblas};
    if (!isTiny &&
        (isBrief || std::min(contraction.m, contraction.n) <= narrow))
      return {gemm, openblas};
    return {openblas, gemm};
  }
}
