//===- RowOptions.cpp - ways to divide ops into rows ----------------------===//
//
// SPDX-License-Identifier: Apache-2.0
//
// A cluster starts with every way to divide its first op; an op that joins
// strikes out the ways in which one row would need another's values.
//
//===----------------------------------------------------------------------===//
#include "FormKernels.h"
#include "KernelClusters.h"
#include "pp/IR/Model.h"
#include "pp/IR/PaddedRows.h"
#include "pp/IR/Values.h"
#include <cmath>

using namespace mlir;
using namespace pp;

namespace {

/// Largest divisor of `size` that is at most `limit`, and a multiple of
/// `factor` if there is such a one.
int64_t largestDivisor(int64_t size, int64_t limit, int64_t factor = 1) {
  for (int64_t step : {factor, int64_t(1)})
    for (int64_t divisor = std::min(size, limit) / step * step; divisor > 1;
         divisor -= step)
      if (size % divisor == 0)
        return divisor;
  return 1;
}

/// Rows index the first `count` dimensions, and dimension `count` in steps of
/// `tile` when `tile` is not its size.
RowOption prefixOption(Value value, int64_t count, int64_t tile) {
  ArrayRef<int64_t> shape = ranked(value).getShape();
  RowOption option;
  RowLayout layout = wholeLayout(ranked(value));
  int64_t rank = ranked(value).getRank();
  for (int64_t dim = std::min(count, rank - 1); dim >= 0; --dim) {
    int64_t step = dim == count ? tile : 1;
    int64_t modulus = shape[dim] / step;
    if (modulus == 1)
      continue;
    layout[dim] = {option.rows, modulus, step};
    option.rows *= modulus;
  }
  option.layouts[value] = std::move(layout);
  return option;
}

/// A cut of the shape after which about `limit` elements remain.
RowOption balancedOption(Value value, int64_t limit, int64_t factor = 1) {
  ArrayRef<int64_t> shape = ranked(value).getShape();
  int64_t inner = 1, dim = ranked(value).getRank();
  while (dim > 0 && inner * shape[dim - 1] <= limit)
    inner *= shape[--dim];
  if (dim == 0)
    return prefixOption(value, 0, shape.empty() ? 1 : shape[0]);
  return prefixOption(value, dim - 1,
                      largestDivisor(shape[dim - 1],
                                     std::max<int64_t>(limit / inner, 1),
                                     factor));
}

bool isElementwise(Operation *op) {
  return op->hasTrait<OpTrait::Elementwise>();
}

/// The layouts that follow for operand `index` of `op`; looks through one
/// broadcast, and a slice that removes padding of rows. If nothing is known: a
/// layout of unknowns; nothing on a conflict.
std::optional<PartialLayout> knownFrom(const RowOption &option, Operation *op,
                                       unsigned index) {
  PartialLayout unknown(ranked(op->getResult(0)).getRank());
  Value operand = op->getOperand(index);
  if (auto found = option.layouts.find(operand); found != option.layouts.end())
    return resultLayout(op, index, found->second);
  Operation *free = operand.getDefiningOp();
  const bool isSlice = isRowSlice(free);
  if (!isSlice && !(isa_and_present<BroadcastOp>(free) && isElementwise(op)))
    return unknown;
  auto found = option.layouts.find(free->getOperand(0));
  if (found == option.layouts.end())
    return unknown;
  auto known = resultLayout(free, 0, found->second);
  if (!isSlice || !known)
    return known;
  RowLayout layout;
  for (auto [digit, size] : llvm::zip_equal(*known, ranked(operand).getShape()))
    layout.push_back(digit.value_or(RowDigit::whole(size)));
  return resultLayout(op, index, layout);
}

/// True if seeing `value` under `layout` agrees with the layouts of `option`,
/// looking through free ops.
bool agrees(const RowOption &option, Value value, const RowLayout &layout,
            const FreeOps &free) {
  if (auto found = option.layouts.find(value); found != option.layouts.end())
    return found->second == layout;
  Operation *op = value.getDefiningOp();
  if (!op || !free.contains(op))
    return true;
  auto operands = operandLayouts(op, layout);
  if (!operands)
    return false;
  for (auto [operand, operandLayout] :
       llvm::zip_equal(op->getOperands(), *operands))
    if (!agrees(option, operand, operandLayout, free))
      return false;
  return true;
}

bool operandsAgree(const RowOption &option, Operation *op,
                   const RowLayout &result, const FreeOps &free) {
  auto operands = operandLayouts(op, result);
  if (!operands)
    return false;
  for (auto [operand, layout] : llvm::zip_equal(op->getOperands(), *operands))
    if (!agrees(option, operand, layout, free))
      return false;
  return true;
}

/// The number of neighbouring elements of a row's part.
int64_t countNeighbours(RankedTensorType type, const RowLayout &layout) {
  int64_t count = 1;
  for (int64_t dim = type.getRank(); dim-- > 0;) {
    count *= layout[dim].tile;
    if (!layout[dim].isWhole() && type.getDimSize(dim) > 1)
      break;
  }
  return count;
}

/// Whether rows would see so few neighbours of a large tensor that memory gives
/// much more than they ask for.
bool isStrewn(Value value, const RowLayout &layout,
              const pprt::KernelTuning &tuning) {
  RankedTensorType type = ranked(value);
  const int64_t neighbours = countNeighbours(type, layout),
                bytes = llvm::divideCeil(type.getElementTypeBitWidth(), 8);
  return type.getNumElements() > tuning.serialSumElements &&
         neighbours * bytes < tuning.leastRunBytes &&
         neighbours < localType(type, layout).getNumElements();
}

} // namespace

int64_t pp::countElements(Operation *op) {
  int64_t total = ranked(op->getResult(0)).getNumElements();
  for (Value operand : op->getOperands())
    total += ranked(operand).getNumElements();
  return total;
}

std::optional<RowLayout> pp::extendOption(const RowOption &option,
                                          Operation *op, const FreeOps &free,
                                          const pprt::KernelTuning &tuning,
                                          int64_t others) {
  auto type = ranked(op->getResult(0));
  PartialLayout known(type.getRank());
  for (unsigned index = 0; index < op->getNumOperands(); ++index) {
    auto partial = knownFrom(option, op, index);
    if (!partial)
      return std::nullopt;
    for (auto [digit, other] : llvm::zip_equal(known, *partial)) {
      if (digit && other && !(*digit == *other))
        return std::nullopt;
      if (other)
        digit = other;
    }
  }
  RowLayout layout;
  for (auto [digit, size] : llvm::zip_equal(known, type.getShape()))
    layout.push_back(digit.value_or(RowDigit::whole(size)));
  if (!coversRows(layout, option.rows) ||
      !operandsAgree(option, op, layout, free))
    return std::nullopt;
  const int64_t inRow = (others + countElements(op)) / option.rows;
  if (option.rows == 1 && inRow > tuning.serialElements)
    return std::nullopt;
  if (tuning.leastSums == 0)
    return layout;
  // Few rows that are long keep few cores busy for long.
  const bool isSum = isa<ReduceOp>(op);
  if (option.rows < tuning.leastSums &&
      ((isSum && inRow / tuning.lanesOfRow > tuning.mostSumElements) ||
       (!isSum &&
        type.getNumElements() / option.rows > tuning.serialSumElements)))
    return std::nullopt;
  if (isStrewn(op->getResult(0), layout, tuning))
    return std::nullopt;
  auto operands = operandLayouts(op, layout);
  for (auto [operand, its] : llvm::zip(op->getOperands(), *operands))
    if (isStrewn(operand, its, tuning))
      return std::nullopt;
  return layout;
}

SmallVector<RowOption> pp::startOptions(Operation *op, const FreeOps &free,
                                        const pprt::KernelTuning &tuning) {
  Value result = op->getResult(0);
  ArrayRef<int64_t> shape = ranked(result).getShape();
  RowOption serial;
  serial.layouts[result] = wholeLayout(ranked(result));
  SmallVector<RowOption> options;
  // There is nothing to divide in a tensor without elements.
  if (ranked(result).getNumElements() == 0)
    return {serial};
  const int64_t most =
      isa<ReduceOp>(op) ? tuning.serialSumElements : tuning.serialElements;
  auto add = [&](RowOption option) {
    const RowLayout &layout = option.layouts[result];
    bool isKnown = llvm::any_of(options, [&](RowOption &other) {
      return other.layouts[result] == layout;
    });
    bool isSerial = option.rows == 1 && countElements(op) > most;
    if (!isKnown && !isSerial && operandsAgree(option, op, layout, free))
      options.push_back(std::move(option));
  };
  for (int64_t count = 0; count < ranked(result).getRank(); ++count) {
    add(prefixOption(result, count, shape[count]));
    add(prefixOption(result, count, 1));
    if (const int64_t block = getSumBlock(shape[count], tuning); block > 1)
      add(prefixOption(result, count, block));
  }
  add(balancedOption(result, isa<ReduceOp, ScatterAddOp>(op)
                                 ? tuning.columnsOfBlock
                                 : tuning.rowElements));
  if (isa<ReduceOp>(op)) {
    const int64_t bytes =
        llvm::divideCeil(ranked(op->getOperand(0)).getElementTypeBitWidth(), 8);
    add(balancedOption(
        result, std::max(tuning.leastColumns, tuning.leastRunBytes / bytes),
        tuning.columnFactor));
  }
  if (!isa<ReduceOp>(op) &&
      tuning.dividesSums) // in case that it is summed up (FormKernels.h)
    add(balancedOption(result, tuning.serialSumElements));
  if (isa<ScatterAddOp>(
          op)) // rows of a table cannot be divided, its columns can
    for (int64_t dim = 0; dim < ranked(result).getRank(); ++dim) {
      RowOption columns;
      RowLayout layout = wholeLayout(ranked(result));
      int64_t tile = largestDivisor(shape[dim], tuning.columnsOfBlock);
      if (tile == shape[dim])
        continue;
      layout[dim] = {1, shape[dim] / tile, tile};
      columns.rows = shape[dim] / tile;
      columns.layouts[result] = layout;
      add(std::move(columns));
    }
  if (options.empty())
    options.push_back(std::move(serial));
  return options;
}

double pp::scoreOption(const RowOption &option,
                       const pprt::KernelTuning &tuning) {
  int64_t largest = 1;
  double strewn = 0;
  auto look = [&](Value value, const RowLayout &layout) {
    RankedTensorType type = ranked(value);
    const int64_t size = localType(type, layout).getNumElements();
    largest = std::max(largest, size);
    const int64_t bytes = llvm::divideCeil(type.getElementTypeBitWidth(), 8);
    const int64_t neighbours = countNeighbours(type, layout);
    if (neighbours < size)
      strewn = std::max(strewn, std::log2(double(tuning.leastRunBytes) /
                                          (neighbours * bytes)));
  };
  for (auto &[value, layout] : option.layouts) {
    look(value, layout);
    if (tuning.leastRunBytes == 1)
      continue;
    Operation *op = value.getDefiningOp();
    if (auto operands = operandLayouts(op, layout))
      for (auto [operand, operandLayout] :
           llvm::zip_equal(op->getOperands(), *operands))
        look(operand, operandLayout);
  }
  // Small rows waste vector lanes and loop starts, large ones spill the cache.
  double small =
      std::max(0.0, std::log2(double(tuning.leastRowElements) / largest));
  double large =
      std::max(0.0, std::log2(double(largest) / tuning.mostRowElements));
  double few = std::max(0.0, std::log2(double(tuning.leastRows) / option.rows));
  bool isTiny = largest * option.rows <= tuning.serialElements;
  return small + 2 * large + (isTiny ? 0.0 : 2 * few) + 6 * strewn;
}
