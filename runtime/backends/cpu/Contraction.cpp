//===- Contraction.cpp - one library contraction, ready to run ------------===//
//
// SPDX-License-Identifier: Apache-2.0
//
// A contraction is cut into parts: whole batch items when there are enough of
// them for the team, else blocks of rows or columns. A part is one call of the
// library on one thread, then its epilogues while the part is in the cache.
// Operands that the library cannot take as they lie (bf16, no unit stride) go
// through the scratchpad.
//
//===----------------------------------------------------------------------===//
#include "Contraction.h"
#include "Elements.h"
#include "Epilogue.h"
#include "pprt/Program.h"

#include <algorithm>
#include <cblas.h>
#include <vector>

using namespace pprt;
using namespace pprt::cpu;

namespace {

void gemm(CBLAS_TRANSPOSE transA, CBLAS_TRANSPOSE transB, uint64_t m,
          uint64_t n, uint64_t k, float alpha, const float *a, uint64_t lda,
          const float *b, uint64_t ldb, float beta, float *c, uint64_t ldc) {
  cblas_sgemm(CblasRowMajor, transA, transB, m, n, k, alpha, a, lda, b, ldb,
              beta, c, ldc);
}
void gemm(CBLAS_TRANSPOSE transA, CBLAS_TRANSPOSE transB, uint64_t m,
          uint64_t n, uint64_t k, double alpha, const double *a, uint64_t lda,
          const double *b, uint64_t ldb, double beta, double *c, uint64_t ldc) {
  cblas_dgemm(CblasRowMajor, transA, transB, m, n, k, alpha, a, lda, b, ldb,
              beta, c, ldc);
}

/// Parts are cut at multiples of this many rows or columns: the library's own
/// blocks are multiples of it.
constexpr uint64_t kGrain = 16;

/// A range of one matrix dimension.
struct Range {
  uint64_t begin, end;
  uint64_t size() const { return end - begin; }
};

/// Part `index` of `count` of [0, size), cut at multiples of `grain`.
Range cut(uint64_t size, uint64_t count, uint64_t index, uint64_t grain) {
  const uint64_t units = (size + grain - 1) / grain;
  return {std::min(size, units * index / count * grain),
          std::min(size, units * (index + 1) / count * grain)};
}

/// An operand as the library sees it.
template <typename T> struct LibraryMatrix {
  const T *data;
  CBLAS_TRANSPOSE transposed;
  uint64_t leading;
};

/// `T` is what is computed in: double for f64, float for the others.
template <typename T> class LibraryContraction final : public cpu::Contraction {
public:
  LibraryContraction(const ppx::ContractionT &contraction, unsigned threads);
  void run(void *const *arguments, const Team &team) const override;
  uint64_t workspaceBytes() const override {
    return threads * threadElements() * sizeof(T);
  }

private:
  static constexpr ppx::ElementType kElement =
      sizeof(T) == 8 ? ppx::ElementType_f64 : ppx::ElementType_f32;

  /// Whether the library reads the view where it lies. Without columns to step
  /// over, or with overlapping rows, the leading dimension would be refused.
  static bool direct(ppx::ElementType element, const ppx::MatrixViewT &view,
                     uint64_t rows, uint64_t columns) {
    if (element != kElement)
      return false;
    return (view.column_stride == 1 && view.row_stride >= columns) ||
           (view.row_stride == 1 && view.column_stride >= rows);
  }
  uint64_t threadElements() const {
    const uint64_t elements = lhsElements + rhsElements + outElements;
    return (elements + 15) / 16 * 16; // threads share no cache line
  }
  void runPart(void *const *arguments, T *scratch, uint64_t item, Range rows,
               Range columns) const;
  LibraryMatrix<T> operand(const StridedInput &view, bool asItLies,
                           uint64_t rows, uint64_t columns, T *scratch) const;

  const ppx::ContractionT &contraction;
  const unsigned threads;
  uint64_t items = 1;
  bool splitItems = false, splitRows = false;
  bool lhsDirect, rhsDirect, outDirect;
  /// Scratch elements of one thread.
  uint64_t lhsElements = 0, rhsElements = 0, outElements = 0;
};

template <typename T>
LibraryContraction<T>::LibraryContraction(const ppx::ContractionT &contraction,
                                          unsigned threads)
    : contraction(contraction), threads(threads) {
  const ppx::ContractionT &c = contraction;
  for (uint64_t extent : c.batch)
    items *= extent;
  splitItems = items >= threads;
  splitRows = c.m >= c.n;
  lhsDirect = direct(c.element, *c.lhs, c.m, c.k);
  rhsDirect = direct(c.element, *c.rhs, c.k, c.n);
  const bool needsOut = c.accumulate && !c.epilogues.empty();
  outDirect = c.out_element == kElement && !needsOut &&
              c.out->column_stride == 1 &&
              (c.out->row_stride >= c.n || c.m == 1);
  const unsigned parts = splitItems ? 1 : threads;
  uint64_t m = 0, n = 0;
  for (unsigned part = 0; part < parts; ++part) {
    m = std::max(m, splitRows ? cut(c.m, parts, part, kGrain).size() : c.m);
    n = std::max(n, splitRows ? c.n : cut(c.n, parts, part, kGrain).size());
  }
  lhsElements = lhsDirect ? 0 : m * c.k;
  rhsElements = rhsDirect ? 0 : c.k * n;
  outElements = outDirect ? 0 : m * n;
}

/// The element at (row, column) of batch item `item`.
uint64_t position(const ppx::ContractionT &contraction,
                  const ppx::MatrixViewT &view, uint64_t item, uint64_t row,
                  uint64_t column) {
  uint64_t element =
      view.offset + row * view.row_stride + column * view.column_stride;
  for (size_t i = contraction.batch.size(); i-- > 0;) {
    element += item % contraction.batch[i] * view.batch[i];
    item /= contraction.batch[i];
  }
  return element;
}

template <typename Pointer>
Strided<Pointer> strided(Pointer data, ppx::ElementType element,
                         const ppx::MatrixViewT &view, uint64_t position) {
  return {data + position * elementSize(element), element, view.row_stride,
          view.column_stride};
}

template <typename T>
LibraryMatrix<T> LibraryContraction<T>::operand(const StridedInput &view,
                                                bool asItLies, uint64_t rows,
                                                uint64_t columns,
                                                T *scratch) const {
  if (!asItLies) {
    loadMatrix(view, rows, columns, scratch);
    return {scratch, CblasNoTrans, columns};
  }
  const T *data = reinterpret_cast<const T *>(view.data);
  if (view.columnStride == 1 && view.rowStride >= columns)
    return {data, CblasNoTrans, view.rowStride};
  return {data, CblasTrans, view.columnStride};
}

template <typename T>
void LibraryContraction<T>::runPart(void *const *arguments, T *scratch,
                                    uint64_t item, Range rows,
                                    Range columns) const {
  const ppx::ContractionT &c = contraction;
  const auto input = [&](const ppx::MatrixViewT &view, uint32_t parameter,
                         ppx::ElementType element, uint64_t row,
                         uint64_t column) {
    return strided(static_cast<const std::byte *>(arguments[parameter]),
                   element, view, position(c, view, item, row, column));
  };
  const uint64_t m = rows.size(), n = columns.size();
  const LibraryMatrix<T> lhs = operand(
      input(*c.lhs, 0, c.element, rows.begin, 0), lhsDirect, m, c.k, scratch);
  const LibraryMatrix<T> rhs =
      operand(input(*c.rhs, 1, c.element, 0, columns.begin), rhsDirect, c.k, n,
              scratch + lhsElements);
  const StridedOutput out = strided(
      static_cast<std::byte *>(arguments[c.out_parameter]), c.out_element,
      *c.out, position(c, *c.out, item, rows.begin, columns.begin));
  T *result = outDirect ? reinterpret_cast<T *>(out.data)
                        : scratch + lhsElements + rhsElements;
  const uint64_t leading = outDirect ? std::max(c.out->row_stride, n) : n;
  gemm(lhs.transposed, rhs.transposed, m, n, c.k, T(c.alpha), lhs.data,
       lhs.leading, rhs.data, rhs.leading, T(outDirect && c.accumulate ? 1 : 0),
       result, leading);
  for (const auto &epilogue : c.epilogues) {
    StridedInput view = {};
    if (epilogue->view)
      view = input(*epilogue->view, epilogue->parameter, c.out_element,
                   rows.begin, columns.begin);
    applyEpilogue(epilogue->kind, view, result, leading, m, n);
  }
  if (!outDirect)
    storeMatrix(result, m, n, out, c.accumulate);
}

template <typename T>
void LibraryContraction<T>::run(void *const *arguments,
                                const Team &team) const {
  const ppx::ContractionT &c = contraction;
  T *workspace = threadElements() == 0
                     ? nullptr
                     : static_cast<T *>(arguments[c.out_parameter + 1]);
  team.run([&](unsigned thread) {
    T *scratch = workspace + thread * threadElements();
    if (splitItems) {
      const Range own = cut(items, threads, thread, 1);
      for (uint64_t item = own.begin; item < own.end; ++item)
        runPart(arguments, scratch, item, {0, c.m}, {0, c.n});
      return;
    }
    const Range own = cut(splitRows ? c.m : c.n, threads, thread, kGrain);
    if (own.size() == 0)
      return;
    for (uint64_t item = 0; item < items; ++item)
      runPart(arguments, scratch, item, splitRows ? own : Range{0, c.m},
              splitRows ? Range{0, c.n} : own);
  });
}

} // namespace

Status cpu::verifyContraction(const ppx::ContractionT &contraction) {
  for (ppx::ElementType element :
       {contraction.element, contraction.out_element})
    if (element != ppx::ElementType_f32 && element != ppx::ElementType_f64 &&
        element != ppx::ElementType_bf16)
      return Status(ExitCode::badArtifact,
                    std::string("contraction expects f32, f64 or bf16, got ") +
                        ppx::EnumNameElementType(element));
  return {};
}

std::unique_ptr<cpu::Contraction>
cpu::Contraction::create(const ppx::ContractionT &contraction,
                         unsigned threads) {
  // The team calls the library from its own threads.
  openblas_set_num_threads(1);
  if (contraction.element == ppx::ElementType_f64)
    return std::make_unique<LibraryContraction<double>>(contraction, threads);
  return std::make_unique<LibraryContraction<float>>(contraction, threads);
}

uint64_t cpu::workspaceBytes(const ppx::ContractionT &contraction,
                             unsigned threads) {
  return Contraction::create(contraction, threads)->workspaceBytes();
}
