//===- Contraction.cpp - one contraction, ready to run --------------------===//
//
// SPDX-License-Identifier: Apache-2.0
//
// Matrix products are OpenBLAS's, one thread per call. The result is cut into
// blocks by its shape alone, and the team shares out the blocks: the library
// rounds differently at the edges of what it is given, so this is what makes
// the bits the same on any number of threads. It also keeps a block in the
// cache from its product to its last epilogue.
//
// Operands go to the library as they lie if rows or columns have unit stride;
// others, and bf16, are first loaded into the workspace, some steps at a time.
//
//===----------------------------------------------------------------------===//
#include "Contraction.h"
#include "MatrixBlocks.h"
#include "pprt/Program.h"

#include <algorithm>
#include <cblas.h>
#include <vector>

using namespace pprt;
using namespace pprt::cpu;

namespace {

/// Of a block: 1 MiB of f32 stays in the cache until its epilogues. Larger ones
/// would be faster by a few percent, as the library packs less often.
constexpr uint64_t kRows = 512, kColumns = 512;
/// That are loaded at a time.
constexpr uint64_t kSteps = 512;
/// Blocks that a team should find, and the edge below which they are not cut.
constexpr uint64_t kBlocks = 4, kEdge = 128;
/// What the library's 32-bit sizes surely hold.
constexpr uint64_t kLargest = 1 << 30;
/// Multiply-adds from which a team is worth its fork.
constexpr uint64_t kParallelWork = 1 << 17;

uint64_t ceilDiv(uint64_t value, uint64_t by) { return (value + by - 1) / by; }

/// The largest block that cuts `size` into equal blocks of at most `limit`;
/// whole tiles of the library's.
uint64_t evenBlock(uint64_t size, uint64_t limit) {
  constexpr uint64_t tile = 16;
  const uint64_t blocks = std::max<uint64_t>(1, ceilDiv(size, limit));
  return ceilDiv(std::max<uint64_t>(1, ceilDiv(size, blocks)), tile) * tile;
}

struct Range {
  uint64_t begin, end;
  uint64_t size() const { return end - begin; }
};

/// Block `index` of [0, size).
Range blockOf(uint64_t size, uint64_t block, uint64_t index) {
  return {index * block, std::min(size, (index + 1) * block)};
}

/// Whether the library takes such a matrix as one of rows.
bool liesInRows(uint64_t rows, uint64_t columns, uint64_t rowStride,
                uint64_t columnStride) {
  return columnStride == 1 && rowStride <= kLargest &&
         (rows == 1 || rowStride >= columns);
}

/// A view, the parameter it lies in, and its type.
struct Operand {
  uint32_t parameter = 0;
  ppx::ElementType element = ppx::ElementType_f32;
  uint64_t offset = 0, rowStride = 0, columnStride = 0;
  std::vector<uint64_t> batch;

  Operand() = default;
  Operand(uint32_t parameter, ppx::ElementType element,
          const ppx::MatrixViewT &view)
      : parameter(parameter), element(element), offset(view.offset),
        rowStride(view.row_stride), columnStride(view.column_stride),
        batch(view.batch) {}

  void transpose() { std::swap(rowStride, columnStride); }

  StridedMatrix at(void *const *arguments, uint64_t itemOffset, uint64_t row,
                   uint64_t column) const {
    const uint64_t position =
        offset + itemOffset + row * rowStride + column * columnStride;
    return {static_cast<std::byte *>(arguments[parameter]) +
                position * elementSize(element),
            element, rowStride, columnStride};
  }
};

/// An operand that is multiplied: where it lies, or from a block of scratch
/// memory that keeps its order.
struct Factor : Operand {
  bool inPlace = false, transposed = false;

  void place(ppx::ElementType computed, uint64_t rows, uint64_t columns) {
    const bool inRows = liesInRows(rows, columns, rowStride, columnStride);
    inPlace = element == computed &&
              (inRows || liesInRows(columns, rows, columnStride, rowStride));
    transposed = !inRows && rowStride == 1;
  }
};

/// What the library is told of a factor.
template <typename T> struct FactorBlock {
  CBLAS_TRANSPOSE transpose;
  const T *data;
  uint64_t leading;
};

/// out = alpha * lhs * rhs, or out += that.
void multiply(const FactorBlock<float> &lhs, const FactorBlock<float> &rhs,
              uint64_t steps, float alpha, const Block<float> &out, bool add) {
  cblas_sgemm(CblasRowMajor, lhs.transpose, rhs.transpose, blasint(out.rows),
              blasint(out.columns), blasint(steps), alpha, lhs.data,
              blasint(lhs.leading), rhs.data, blasint(rhs.leading), add ? 1 : 0,
              out.data, blasint(out.leading));
}
void multiply(const FactorBlock<double> &lhs, const FactorBlock<double> &rhs,
              uint64_t steps, double alpha, const Block<double> &out,
              bool add) {
  cblas_dgemm(CblasRowMajor, lhs.transpose, rhs.transpose, blasint(out.rows),
              blasint(out.columns), blasint(steps), alpha, lhs.data,
              blasint(lhs.leading), rhs.data, blasint(rhs.leading), add ? 1 : 0,
              out.data, blasint(out.leading));
}

struct Epilogue {
  ppx::EpilogueKind kind;
  bool hasOperand;
  Operand operand;
};

/// `T` is what is computed in: f64 in double, f32 and bf16 in float.
template <typename T> class BlockedContraction final : public cpu::Contraction {
public:
  BlockedContraction(const ppx::ContractionT &contraction, unsigned threads);
  void run(void *const *arguments, Team &team) const override;
  uint64_t workspaceBytes() const override {
    return parts * partElements() * sizeof(T);
  }

private:
  static constexpr ppx::ElementType kElement =
      sizeof(T) == 8 ? ppx::ElementType_f64 : ppx::ElementType_f32;

  /// The offset of batch item `item` in `operand`, in elements.
  uint64_t itemOffset(const Operand &operand, uint64_t item) const {
    uint64_t offset = 0;
    for (size_t i = batch.size(); i-- > 0; item /= batch[i])
      offset += item % batch[i] * operand.batch[i];
    return offset;
  }
  uint64_t partElements() const {
    return lhsElements + rhsElements + outElements;
  }
  FactorBlock<T> factorBlock(const Factor &factor, void *const *arguments,
                             uint64_t item, Range rows, Range columns,
                             T *scratch) const;
  void runBlock(void *const *arguments, T *scratch, uint64_t item, Range rows,
                Range columns) const;

  std::vector<uint64_t> batch;
  uint64_t items = 1, m, n, k;
  T alpha;
  bool accumulate;
  Factor lhs, rhs;
  Operand out;
  std::vector<Epilogue> epilogues;
  uint32_t workspace;

  bool outInPlace; ///< whether sums are kept where the result will be
  uint64_t rowBlock, columnBlock, stepBlock;
  unsigned parts; ///< that run at the same time
  /// Scratch elements of one part.
  uint64_t lhsElements, rhsElements, outElements;
};

template <typename T>
BlockedContraction<T>::BlockedContraction(const ppx::ContractionT &c,
                                          unsigned threads)
    : batch(c.batch), m(c.m), n(c.n), k(c.k), alpha(T(c.alpha)),
      accumulate(c.accumulate), lhs{{0, c.element, *c.lhs}},
      rhs{{1, c.element, *c.rhs}}, out(c.out_parameter, c.out_element, *c.out),
      workspace(c.out_parameter + 1) {
  for (const std::unique_ptr<ppx::EpilogueT> &epilogue : c.epilogues) {
    const bool reads = epilogue->kind == ppx::EpilogueKind_add ||
                       epilogue->kind == ppx::EpilogueKind_multiply;
    epilogues.push_back(
        {epilogue->kind, reads,
         reads ? Operand(epilogue->parameter, c.out_element, *epilogue->view)
               : Operand()});
  }
  for (uint64_t extent : batch)
    items *= extent;
  // Results are rows: one that lies in columns is transposed.
  if (out.columnStride != 1 && out.rowStride == 1) {
    std::swap(m, n);
    std::swap(lhs, rhs);
    lhs.transpose();
    rhs.transpose();
    out.transpose();
    for (Epilogue &epilogue : epilogues)
      epilogue.operand.transpose();
  }
  lhs.place(kElement, m, k);
  rhs.place(kElement, k, n);
  outInPlace = out.element == kElement &&
               liesInRows(m, n, out.rowStride, out.columnStride) &&
               !(accumulate && !epilogues.empty());

  rowBlock = evenBlock(m, kRows);
  columnBlock = evenBlock(n, kColumns);
  const auto blocks = [&] {
    return items * ceilDiv(m, rowBlock) * ceilDiv(n, columnBlock);
  };
  const bool shared = items * m * n * k >= kParallelWork;
  while (shared && blocks() < kBlocks &&
         std::max(rowBlock, columnBlock) > kEdge) {
    uint64_t &larger = rowBlock > columnBlock ? rowBlock : columnBlock;
    larger = evenBlock(larger, ceilDiv(larger, 2));
  }
  stepBlock = lhs.inPlace && rhs.inPlace ? kLargest : evenBlock(k, kSteps);
  parts = shared ? threads : 1;
  lhsElements = lhs.inPlace ? 0 : rowBlock * stepBlock;
  rhsElements = rhs.inPlace ? 0 : columnBlock * stepBlock;
  outElements = outInPlace ? 0 : rowBlock * columnBlock;
}

template <typename T>
FactorBlock<T>
BlockedContraction<T>::factorBlock(const Factor &factor, void *const *arguments,
                                   uint64_t item, Range rows, Range columns,
                                   T *scratch) const {
  StridedMatrix matrix =
      factor.at(arguments, itemOffset(factor, item), rows.begin, columns.begin);
  if (factor.transposed) {
    std::swap(rows, columns);
    std::swap(matrix.rowStride, matrix.columnStride);
  }
  uint64_t leading = std::max<uint64_t>(1, columns.size());
  const T *data = scratch;
  if (factor.inPlace) {
    leading = std::max(leading, matrix.rowStride);
    data = reinterpret_cast<const T *>(matrix.data);
  } else {
    load(matrix, Block<T>{scratch, rows.size(), columns.size(), leading});
  }
  return {factor.transposed ? CblasTrans : CblasNoTrans, data, leading};
}

/// One block of the result, from the first product to the last epilogue.
template <typename T>
void BlockedContraction<T>::runBlock(void *const *arguments, T *scratch,
                                     uint64_t item, Range rows,
                                     Range columns) const {
  const StridedMatrix result =
      out.at(arguments, itemOffset(out, item), rows.begin, columns.begin);
  Block<T> block = {scratch + lhsElements + rhsElements, rows.size(),
                    columns.size(), columnBlock};
  if (outInPlace) {
    block.data = reinterpret_cast<T *>(result.data);
    block.leading = std::max(out.rowStride, columns.size());
  }
  // At least once: an empty sum is zero.
  for (uint64_t step = 0; step == 0 || step < k; step += stepBlock) {
    const Range steps = {step, std::min(step + stepBlock, k)};
    const FactorBlock<T> left =
        factorBlock(lhs, arguments, item, rows, steps, scratch);
    const FactorBlock<T> right = factorBlock(rhs, arguments, item, steps,
                                             columns, scratch + lhsElements);
    multiply(left, right, steps.size(), alpha, block,
             step > 0 || (outInPlace && accumulate));
  }
  for (const Epilogue &epilogue : epilogues) {
    StridedMatrix operand = {};
    if (epilogue.hasOperand)
      operand =
          epilogue.operand.at(arguments, itemOffset(epilogue.operand, item),
                              rows.begin, columns.begin);
    finish(epilogue.kind, operand, block);
  }
  if (!outInPlace)
    store(block, result, accumulate);
}

template <typename T>
void BlockedContraction<T>::run(void *const *arguments, Team &team) const {
  T *memory =
      partElements() == 0 ? nullptr : static_cast<T *>(arguments[workspace]);
  const uint64_t rowBlocks = ceilDiv(m, rowBlock);
  const uint64_t columnBlocks = ceilDiv(n, columnBlock);
  const uint64_t blocks = items * columnBlocks * rowBlocks;
  const auto work = [&](unsigned index) {
    for (uint64_t block = blocks * index / parts,
                  end = blocks * (index + 1) / parts;
         block < end; ++block) {
      const uint64_t item = block / rowBlocks / columnBlocks;
      runBlock(arguments, memory + index * partElements(), item,
               blockOf(m, rowBlock, block % rowBlocks),
               blockOf(n, columnBlock, block / rowBlocks % columnBlocks));
    }
  };
  if (parts == 1)
    work(0);
  else
    team.run([&](unsigned index) {
      if (index < parts)
        work(index);
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
  openblas_set_num_threads(1); // of a call: a team makes several at a time
  if (contraction.element == ppx::ElementType_f64)
    return std::make_unique<BlockedContraction<double>>(contraction, threads);
  return std::make_unique<BlockedContraction<float>>(contraction, threads);
}

uint64_t cpu::workspaceBytes(const ppx::ContractionT &contraction,
                             unsigned threads) {
  return Contraction::create(contraction, threads)->workspaceBytes();
}
