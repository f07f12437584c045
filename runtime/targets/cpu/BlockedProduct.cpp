//===- BlockedProduct.cpp - a contraction as blocks of products -----------===//
//
// SPDX-License-Identifier: Apache-2.0
//
//===----------------------------------------------------------------------===//
#include "BlockedProduct.h"
#include "pprt/Program.h"

#include <algorithm>

using namespace pprt;
using namespace pprt::cpu;

Factor::Factor(uint32_t parameter, ppx::ElementType element,
               const ppx::MatrixViewT &view, uint64_t rows, uint64_t columns)
    : Operand(parameter, element, view) {
  // Empty matrices may have empty loops, and are never read.
  if (!PatchMatrix::isNeededFor(view) || rows == 0 || columns == 0)
    return;
  patches.emplace(view, rows, columns);
  strides = patches->strides();
}

void Factor::transpose() {
  Operand::transpose();
  if (patches)
    patches->transpose();
}

FactorLayout Factor::layout(Range rows, Range columns) const {
  const bool transposed = placement.transposed;
  const Range across = transposed ? rows : columns;
  const Range along = transposed ? columns : rows;
  const uint64_t stride = transposed ? strides.column : strides.row;
  const uint64_t width = std::max<uint64_t>(1, across.size());
  return {transposed, placement.inPlace && along.size() > 1
                          ? std::max(stride, width)
                          : width};
}

BlockedProduct::BlockedProduct(const ppx::ContractionT &c, Way way)
    : way(way),
      sumElement(c.element == ppx::ElementType_f64 ? ppx::ElementType_f64
                                                   : ppx::ElementType_f32),
      batch(c.batch), alpha(c.alpha), accumulate(c.accumulate),
      lhs(0, c.element, *c.lhs, c.m, c.k), rhs(1, c.element, *c.rhs, c.k, c.n),
      out(c.out_parameter, c.out_element, *c.out) {
  for (uint64_t extent : batch)
    items *= extent;
  uint64_t m = c.m, n = c.n;
  isTransposed = out.strides.column != 1 && out.strides.row == 1;
  if (isTransposed) {
    std::swap(m, n);
    std::swap(lhs, rhs);
    lhs.transpose();
    rhs.transpose();
    out.transpose();
  }
  const bool mayWrite =
      out.element == sumElement && !(accumulate && !c.epilogues.empty());
  // Fewer steps with one stride are not worth a call of the library.
  constexpr uint64_t fewSteps = 16;
  const bool mayRead = c.element == way.multiplied;
  const uint64_t alike = rhs.patches ? rhs.patches->rowsAlike() : 0;
  const bool isInPieces = mayRead && alike >= fewSteps;
  blocking = Blocking::choose(
      {items, m, n, c.k, lhs.strides, rhs.strides, out.strides,
       mayRead && !lhs.patches, mayRead && (!rhs.patches || isInPieces),
       mayWrite, rulesOf(way.library).limits, isInPieces ? alike : 0});
  lhs.placement = blocking.lhs;
  rhs.placement = blocking.rhs;
  const Range rows = blocking.rows.at(0), columns = blocking.columns.at(0),
              steps = blocking.steps.at(0);
  lhsElements = blocking.lhs.inPlace ? 0 : rows.size() * steps.size();
  rhsElements = blocking.rhs.inPlace ? 0 : steps.size() * columns.size();
  outElements = blocking.outInPlace ? 0 : rows.size() * columns.size();
}

bool BlockedProduct::isTaken() const {
  return forEachProduct([&](size_t, const ProductShape &product) {
    return rulesOf(way.library).takes(product);
  });
}

uint64_t BlockedProduct::outLeading(Range columns) const {
  return blocking.outInPlace ? std::max(out.strides.row, columns.size())
                             : columns.size();
}

/// Whether steps are added to sums that are already there.
static bool adds(const BlockedProduct &product, Range steps) {
  return steps.begin > 0 || (product.blocking.outInPlace && product.accumulate);
}

ProductShape BlockedProduct::shape(Range rows, Range columns,
                                   Range steps) const {
  return {way.multiplied,          rows.size(),
          columns.size(),          steps.size(),
          lhs.layout(rows, steps), rhs.layout(steps, columns),
          outLeading(columns),     alpha,
          adds(*this, steps)};
}

size_t BlockedProduct::indexOf(Range rows, Range columns, Range steps) const {
  return size_t(rows.size() == blocking.rows.block) +
         2 * size_t(columns.size() == blocking.columns.block) +
         4 * size_t(steps.size() == blocking.steps.block) +
         8 * size_t(adds(*this, steps));
}

bool BlockedProduct::forEachProduct(
    const std::function<bool(size_t, const ProductShape &)> &visit) const {
  // The first and the last block cover all sizes; so do the first two steps and
  // the last.
  const uint64_t lastStep = blocking.steps.count() - 1;
  for (uint64_t row : {uint64_t(0), blocking.rows.count() - 1})
    for (uint64_t column : {uint64_t(0), blocking.columns.count() - 1})
      for (uint64_t step :
           {uint64_t(0), std::min<uint64_t>(1, lastStep), lastStep}) {
        const Range rows = blocking.rows.at(row),
                    columns = blocking.columns.at(column),
                    steps = blocking.steps.at(step);
        if (!visit(indexOf(rows, columns, steps), shape(rows, columns, steps)))
          return false;
      }
  return true;
}

uint64_t BlockedProduct::rhsBegin() const {
  return alignScratch(lhsElements * elementSize(way.multiplied));
}

uint64_t BlockedProduct::outBegin() const {
  return rhsBegin() + alignScratch(rhsElements * elementSize(way.multiplied));
}

uint64_t BlockedProduct::blockBytes() const {
  return outBegin() + alignScratch(outElements * elementSize(sumElement));
}

uint64_t BlockedProduct::workspaceBytes(unsigned threads) const {
  uint64_t scratchpad = 0;
  forEachProduct([&](size_t, const ProductShape &product) {
    scratchpad =
        std::max(scratchpad, rulesOf(way.library).scratchpadBytes(product));
    return true;
  });
  return parts(threads) * (blockBytes() + alignScratch(scratchpad));
}
