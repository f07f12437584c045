//===- Blocking.cpp - how a matrix product is cut into blocks -------------===//
//
// SPDX-License-Identifier: Apache-2.0
//
//===----------------------------------------------------------------------===//
#include "Blocking.h"

using namespace pprt::cpu;

namespace {

/// Elements of factors that are loaded at a time.
constexpr uint64_t kLoaded = 1 << 19;
/// Minimum number of blocks for a team, and edge below which they are not cut.
constexpr uint64_t kBlocks = 4, kEdge = 64;
/// Elements of sums that are kept in scratch memory.
constexpr uint64_t kKept = 1 << 18;
/// Values that the library's 32-bit sizes surely hold.
constexpr uint64_t kLargest = 1 << 30;
/// Multiply-adds that make a team worth its fork.
constexpr uint64_t kParallelWork = 1 << 17;

/// Equal blocks of at most `limit`; whole tiles of the library's.
Cut cutEvenly(uint64_t size, uint64_t limit) {
  constexpr uint64_t tile = 16;
  const auto ceilDiv = [](uint64_t value, uint64_t by) {
    return std::max<uint64_t>(1, (value + by - 1) / by);
  };
  return {size, ceilDiv(ceilDiv(size, ceilDiv(size, limit)), tile) * tile};
}

/// The largest divisor of `size` that is at most `limit`.
uint64_t largestDivisor(uint64_t size, uint64_t limit) {
  uint64_t divisor = std::min(size, limit);
  while (size % divisor != 0)
    --divisor;
  return divisor;
}

/// Whether the library takes blocks of a matrix in place, as rows.
bool takesRows(const Cut &rows, const Cut &columns, uint64_t rowStride,
               uint64_t columnStride, const BlockLimits &limits) {
  if (columnStride != 1 || rowStride > kLargest)
    return false;
  if (limits.wholeColumns > 0)
    return columns.isWhole() && (rows.size == 1 || rowStride == columns.size);
  return rows.size == 1 || rowStride >= columns.size;
}

FactorPlacement placeFactor(const BlockingProblem &problem, bool mayRead,
                            const Cut &rows, const Cut &columns,
                            Strides strides) {
  const bool asRows =
      takesRows(rows, columns, strides.row, strides.column, problem.limits);
  const bool asColumns =
      takesRows(columns, rows, strides.column, strides.row, problem.limits);
  const bool keepsColumns = strides.row == 1 && strides.column != 1;
  return {mayRead && (asRows || asColumns),
          !asRows && (asColumns || keepsColumns)};
}

} // namespace

Blocking Blocking::choose(const BlockingProblem &problem) {
  Blocking result;
  const BlockLimits &limits = problem.limits;
  Cut &rows = result.rows, &columns = result.columns, &steps = result.steps;
  // Rows of a dense matrix are dense, columns are not.
  const bool onlyRows =
      limits.wholeColumns > 0 && problem.columns <= limits.wholeColumns;
  columns = cutEvenly(problem.columns,
                      onlyRows ? limits.wholeColumns : limits.columns);
  const bool isLeftInColumns = problem.lhs.row == 1 && problem.lhs.column != 1;
  const uint64_t elements = limits.rows * limits.columns;
  rows =
      cutEvenly(problem.rows,
                std::max(kEdge, (problem.mayWrite ? elements
                                                  : std::min(elements, kKept)) /
                                    std::max(columns.block, limits.columns)));
  result.isShared =
      problem.items * problem.rows * problem.columns * problem.steps >=
      kParallelWork;
  while (result.isShared &&
         problem.items * rows.count() * columns.count() < kBlocks) {
    // A left matrix in columns is copied either way, and the library packs the
    // other factor once for each block.
    Cut &larger = (onlyRows && !isLeftInColumns) || rows.block >= columns.block
                      ? rows
                      : columns;
    if (larger.block <= kEdge)
      break;
    larger = cutEvenly(larger.size, larger.block / 2);
  }
  const auto place = [&] {
    result.lhs =
        placeFactor(problem, problem.mayReadLhs, rows, steps, problem.lhs);
    const Cut alike =
        problem.stepsAlike > 0 ? Cut{problem.stepsAlike, steps.block} : steps;
    result.rhs =
        placeFactor(problem, problem.mayReadRhs, alike, columns, problem.rhs);
  };
  steps = cutEvenly(problem.steps, isLeftInColumns && limits.stepsOfColumns > 0
                                       ? limits.stepsOfColumns
                                       : kLargest);
  place();
  if (const uint64_t loaded = (result.lhs.inPlace ? 0 : rows.block) +
                              (result.rhs.inPlace ? 0 : columns.block)) {
    steps = cutEvenly(problem.steps,
                      std::clamp<uint64_t>(kLoaded / loaded, 1, steps.block));
    place();
  }
  if (problem.stepsAlike > 0) {
    steps = {problem.steps, largestDivisor(problem.stepsAlike, steps.block)};
    place();
  }
  result.outInPlace =
      problem.mayWrite && takesRows(rows, columns, problem.out.row,
                                    problem.out.column, problem.limits);
  return result;
}
