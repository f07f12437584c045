//===- Contraction.cpp - one contraction, ready to run --------------------===//
//
// SPDX-License-Identifier: Apache-2.0
//
// The loops around the block kernels, as in BLIS (Van Zee and van de Geijn,
// 2015): columns by what the outer cache holds, steps by what keeps a packed
// panel in the inner one, rows by what lies between. Packing takes operands of
// any strides and types; epilogues are applied to a block of the result while
// it is in the cache. The order of additions of an element depends on k alone,
// so the bits are the same on any number of threads.
//
// Why no library: oneDNN 2.6.3 allocates inside of every call, has no bf16
// without AVX-512, and falls from 95 to 40 GFLOP/s (one core of Zen 3) where
// the left operand is transposed, as in every weight gradient; OpenBLAS 0.3.21
// needs a third more time for attention's small matrices. These kernels measure 82
// to 97 GFLOP/s on the layers of a transformer and equal oneDNN on its
// attention, in memory that is known beforehand.
//
//===----------------------------------------------------------------------===//
#include "Contraction.h"
#include "BlockKernels.h"
#include "pprt/Program.h"

#include <algorithm>
#include <vector>

using namespace pprt;
using namespace pprt::cpu;

namespace {

// Elements of f32: 512 KiB of packed columns, 192 KiB of rows.
constexpr uint64_t kColumns = 512, kSteps = 256, kRows = 192;
/// Multiples of every tile of every instruction set, so that the scratchpad's
/// size does not depend on the machine.
constexpr uint64_t kRowUnit = 12, kColumnUnit = 32;
/// Multiply-adds from which a team is worth its fork.
constexpr uint64_t kParallelWork = 1 << 17;

uint64_t roundUp(uint64_t value, uint64_t unit) {
  return (value + unit - 1) / unit * unit;
}

/// The largest block that cuts `size` in equal blocks of at most `limit`.
uint64_t evenBlock(uint64_t size, uint64_t limit, uint64_t unit) {
  const uint64_t blocks = std::max<uint64_t>(1, (size + limit - 1) / limit);
  return std::max(unit, roundUp((size + blocks - 1) / blocks, unit));
}

struct Range {
  uint64_t begin, end;
  uint64_t size() const { return end - begin; }
};

/// Part `index` of `count` of [0, size), cut at multiples of `unit`.
Range part(uint64_t size, uint64_t count, uint64_t index, uint64_t unit) {
  const uint64_t units = (size + unit - 1) / unit;
  return {std::min(size, units * index / count * unit),
          std::min(size, units * (index + 1) / count * unit)};
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

  Strided<std::byte *> at(void *const *arguments, uint64_t itemOffset,
                          uint64_t row, uint64_t column) const {
    const uint64_t position =
        offset + itemOffset + row * rowStride + column * columnStride;
    return {static_cast<std::byte *>(arguments[parameter]) +
                position * elementSize(element),
            element, rowStride, columnStride};
  }
};

StridedInput readable(const Strided<std::byte *> &view) {
  return {view.data, view.element, view.rowStride, view.columnStride};
}

struct Finish {
  ppx::EpilogueKind kind;
  bool hasOperand;
  Operand operand;
};

/// `T` is what is computed in.
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
  void runPart(void *const *arguments, T *scratch, uint64_t item, Range rows,
               Range columns) const;
  void finishBlock(void *const *arguments, T *block, uint64_t leading,
                   uint64_t item, Range rows, Range columns) const;

  const BlockKernels<T> &kernels = blockKernels<T>();
  std::vector<uint64_t> batch;
  uint64_t items = 1, m, n, k;
  T alpha;
  bool accumulate;
  Operand lhs, rhs, out;
  std::vector<Finish> finishes;
  uint32_t workspace;

  unsigned parts; ///< that run at the same time
  bool splitItems, splitRows;
  /// Whether the rows of lhs are multiplied where they lie, and whether sums
  /// are kept where the result will be.
  bool lhsInPlace, outInPlace;
  uint64_t rowBlock, columnBlock, stepBlock;
  /// Scratch elements of one part.
  uint64_t lhsElements, rhsElements, outElements;
};

template <typename T>
BlockedContraction<T>::BlockedContraction(const ppx::ContractionT &c,
                                          unsigned threads)
    : batch(c.batch), m(c.m), n(c.n), k(c.k), alpha(T(c.alpha)),
      accumulate(c.accumulate), lhs(0, c.element, *c.lhs),
      rhs(1, c.element, *c.rhs), out(c.out_parameter, c.out_element, *c.out),
      workspace(c.out_parameter + 1) {
  for (const std::unique_ptr<ppx::EpilogueT> &epilogue : c.epilogues) {
    const bool reads = epilogue->kind == ppx::EpilogueKind_add ||
                       epilogue->kind == ppx::EpilogueKind_multiply;
    finishes.push_back(
        {epilogue->kind, reads,
         reads ? Operand(epilogue->parameter, c.out_element, *epilogue->view)
               : Operand()});
  }
  for (uint64_t extent : batch)
    items *= extent;
  // Kernels write rows: a result that lies in columns is transposed.
  if (out.columnStride != 1 && out.rowStride == 1) {
    std::swap(m, n);
    std::swap(lhs, rhs);
    for (Operand *operand : {&lhs, &rhs, &out})
      operand->transpose();
    for (Finish &finish : finishes)
      finish.operand.transpose();
  }
  // Rows a multiple of 4 KiB apart fall into the same sets of the caches: with
  // enough columns to pay for it, they are packed.
  const bool aliases = lhs.rowStride * sizeof(T) % 4096 == 0 && m > 1;
  lhsInPlace = lhs.element == kElement && lhs.columnStride == 1 &&
               !(aliases && n >= 128);
  outInPlace = out.element == kElement && out.columnStride == 1 &&
               !(accumulate && !finishes.empty());

  parts = items * m * n * k < kParallelWork ? 1 : threads;
  splitItems = items % parts == 0 || items >= 4 * parts;
  splitRows = m >= n;
  uint64_t rows = m, columns = n;
  if (!splitItems)
    for (unsigned i = 0, end = parts; i < end; ++i) {
      uint64_t &size = splitRows ? rows : columns;
      const uint64_t unit = splitRows ? kRowUnit : kColumnUnit;
      const uint64_t own = part(splitRows ? m : n, parts, i, unit).size();
      size = i == 0 ? own : std::max(size, own);
    }
  rowBlock = evenBlock(rows, kRows, kRowUnit);
  columnBlock = evenBlock(columns, kColumns, kColumnUnit);
  stepBlock = evenBlock(k, kSteps, 1);
  lhsElements = lhsInPlace ? 0 : rowBlock * stepBlock;
  rhsElements = columnBlock * stepBlock;
  outElements = outInPlace ? 0 : roundUp(rows, kRowUnit) * columnBlock;
}

template <typename T>
void BlockedContraction<T>::finishBlock(void *const *arguments, T *block,
                                        uint64_t leading, uint64_t item,
                                        Range rows, Range columns) const {
  for (const Finish &finish : finishes) {
    StridedInput operand = {};
    if (finish.hasOperand)
      operand = readable(finish.operand.at(arguments,
                                           itemOffset(finish.operand, item),
                                           rows.begin, columns.begin));
    kernels.finish(finish.kind, operand, rows.size(), columns.size(), block,
                   leading);
  }
  if (!outInPlace)
    kernels.store(
        block, leading, rows.size(), columns.size(),
        out.at(arguments, itemOffset(out, item), rows.begin, columns.begin),
        accumulate);
}

template <typename T>
void BlockedContraction<T>::runPart(void *const *arguments, T *scratch,
                                    uint64_t item, Range rows,
                                    Range columns) const {
  T *packedLhs = scratch, *packedRhs = scratch + lhsElements;
  T *sums = packedRhs + rhsElements;
  const uint64_t lhsItem = itemOffset(lhs, item);
  const uint64_t rhsItem = itemOffset(rhs, item);
  const uint64_t outItem = itemOffset(out, item);
  for (uint64_t column = columns.begin; column < columns.end;
       column += columnBlock) {
    const uint64_t width = std::min(columnBlock, columns.end - column);
    // At least once: an empty sum is zero.
    for (uint64_t step = 0; step == 0 || step < k; step += stepBlock) {
      const uint64_t steps = std::min(stepBlock, k - step);
      StridedInput right = readable(rhs.at(arguments, rhsItem, step, column));
      std::swap(right.rowStride, right.columnStride);
      kernels.pack(right, width, steps, kernels.tileColumns, alpha, packedRhs);
      for (uint64_t row = rows.begin; row < rows.end; row += rowBlock) {
        const uint64_t height = std::min(rowBlock, rows.end - row);
        const StridedInput left =
            readable(lhs.at(arguments, lhsItem, row, step));
        Panels<T> panels = {reinterpret_cast<const T *>(left.data),
                            kernels.tileRows * left.rowStride, left.rowStride,
                            1};
        if (!lhsInPlace) {
          kernels.pack(left, height, steps, kernels.tileRows, T(1), packedLhs);
          panels = {packedLhs, kernels.tileRows * steps, 1, kernels.tileRows};
        }
        T *block = sums + (row - rows.begin) * columnBlock;
        uint64_t leading = columnBlock;
        if (outInPlace) {
          block = reinterpret_cast<T *>(
              out.at(arguments, outItem, row, column).data);
          leading = out.rowStride;
        }
        kernels.multiply(height, width, steps, panels, packedRhs, block,
                         leading, step > 0 || (outInPlace && accumulate));
        if (step + steps == k)
          finishBlock(arguments, block, leading, item, {row, row + height},
                      {column, column + width});
      }
    }
  }
}

template <typename T>
void BlockedContraction<T>::run(void *const *arguments, Team &team) const {
  T *memory = static_cast<T *>(arguments[workspace]);
  const auto work = [&](unsigned index) {
    T *scratch = memory + index * partElements();
    const Range own =
        splitItems ? part(items, parts, index, 1) : Range{0, items};
    Range rows = {0, m}, columns = {0, n};
    if (!splitItems && splitRows)
      rows = part(m, parts, index, kRowUnit);
    else if (!splitItems)
      columns = part(n, parts, index, kColumnUnit);
    for (uint64_t item = own.begin; item < own.end; ++item)
      runPart(arguments, scratch, item, rows, columns);
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
  if (contraction.element == ppx::ElementType_f64)
    return std::make_unique<BlockedContraction<double>>(contraction, threads);
  return std::make_unique<BlockedContraction<float>>(contraction, threads);
}

uint64_t cpu::workspaceBytes(const ppx::ContractionT &contraction,
                             unsigned threads) {
  return Contraction::create(contraction, threads)->workspaceBytes();
}
