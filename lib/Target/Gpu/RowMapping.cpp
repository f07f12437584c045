//===- RowMapping.cpp - how threads share the rows of a kernel ------------===//
//
// SPDX-License-Identifier: Apache-2.0
//
//===----------------------------------------------------------------------===//
#include "RowMapping.h"
#include "pp/Analysis/InPlace.h"
#include "pp/Analysis/StridedView.h"
#include "pp/IR/PP.h"
#include "pp/IR/PaddedRows.h"
#include "pp/IR/Values.h"
#include "llvm/Support/MathExtras.h"

using namespace mlir;
using namespace pp;
using namespace pp::gpu;

/// Threads of a block of several rows.
static constexpr int64_t kSmallBlock = 128;
/// Registers of a multiprocessor, and its least number of threads.
static constexpr int64_t kRegisters = 65536, kThreads = 512;
/// Registers besides the elements that a lane keeps, and their places: indices,
/// sums, values being computed, and a few tensors' addresses.
static constexpr int64_t kOtherRegisters = 56, kFewTensors = 8;
/// Registers of an address.
static constexpr int64_t kAddressRegisters = 2;
/// Elements of a part up to which a lane takes them without a loop, so that
/// code stays short.
static constexpr int64_t kMostInRegisters = 32;
/// Elements that a lane adds up if it has neighbouring columns: combining lanes
/// costs little beside them.
static constexpr int64_t kAddedAcross = 256;

int64_t pp::gpu::getLeastBlocks(int64_t block) {
  return std::max<int64_t>(kThreads / block, 1);
}

int64_t pp::gpu::getRegisters(int64_t block) {
  return kRegisters / (getLeastBlocks(block) * block);
}

int64_t pp::gpu::getStep(const RowSum &sum, int64_t width) {
  const int64_t last = int64_t(sum.operand.size()) - 1;
  return !llvm::is_contained(getReducedDimensions(sum.op), last) &&
                 sum.operand[last].tile % width == 0
             ? width
             : 1;
}

int64_t RowMapping::countBeside(const RowSum &sum, int64_t width) const {
  const int64_t runs = countElements(sum.layout) / getStep(sum, width);
  return std::min<int64_t>(
      {int64_t(llvm::PowerOf2Ceil(runs)), kWarp, lanes, beside});
}

//===----------------------------------------------------------------------===//
// Reductions
//===----------------------------------------------------------------------===//

static int64_t bytesOf(Type element) {
  return llvm::divideCeil(element.getIntOrFloatBitWidth(), 8);
}

/// In the order in which they are computed.
static SmallVector<RowSum> findSums(func::FuncOp kernel,
                                    const RowParts &parts) {
  SmallVector<RowSum> sums;
  OpBuilder builder(kernel.getContext());
  for (Operation &op : kernel.getBody().front().without_terminator()) {
    if (!op.hasTrait<DropsDimensions>())
      continue;
    for (const RowLayout &layout : parts.layouts.lookup(op.getResult(0))) {
      auto operands = operandLayouts(&op, layout);
      if (!operands)
        continue;
      RowSum sum{&op, layout, operands->front()};
      const int64_t kept = countElements(layout);
      if (isSummedFirst(&op, layout))
        sum.form = RowSum::Along;
      else if (kept > 1 && countElements(sum.operand) > kept)
        sum.form = RowSum::Across;
      for (TypedAttr start : getReducer(builder, &op).start)
        sum.handedBytes += std::max<int64_t>(bytesOf(start.getType()), 4);
      sums.push_back(std::move(sum));
    }
  }
  return sums;
}

/// Bytes of shared memory that a block needs.
static int64_t countSharedBytes(RowMapping &mapping, int64_t width) {
  int64_t bytes = 0;
  mapping.handedBytes = 0;
  for (const RowSum &sum : mapping.sums) {
    if (sum.form == RowSum::Alone)
      continue;
    int64_t columns = 1;
    if (sum.form == RowSum::Across) {
      Type element = ranked(sum.op->getResult(0)).getElementType();
      bytes += Lanes::countBytes(element, countElements(sum.layout) *
                                              mapping.rowsPerBlock);
      columns = mapping.countBeside(sum, width) * getStep(sum, width);
    }
    mapping.handedBytes = std::max(
        mapping.handedBytes,
        Lanes::countHandedBytes(mapping.lanes, columns, sum.handedBytes));
  }
  return bytes + mapping.handedBytes;
}

/// Makes the exchanges of sums fit into shared memory: with fewer rows of a
/// block, then fewer neighbouring lanes, and if a single row has too much, with
/// sums that each lane computes alone.
static void fitShared(RowMapping &mapping, int64_t width) {
  auto isTooMuch = [&] {
    return countSharedBytes(mapping, width) > kSharedBytes;
  };
  while (isTooMuch() && mapping.rowsPerBlock > 1) {
    mapping.rowsPerBlock /= 2;
    mapping.lanes = std::max(mapping.lanes, kWarp / mapping.rowsPerBlock);
  }
  while (isTooMuch() && mapping.beside > 1)
    mapping.beside /= 2;
  while (isTooMuch()) {
    auto sizeOf = [](const RowSum &sum) {
      return sum.form == RowSum::Across ? countElements(sum.layout) : 0;
    };
    auto largest = llvm::max_element(
        mapping.sums, [&](const RowSum &left, const RowSum &right) {
          return sizeOf(left) < sizeOf(right);
        });
    largest->form = RowSum::Alone;
    ++mapping.sumsApart;
  }
}

//===----------------------------------------------------------------------===//
// Registers
//===----------------------------------------------------------------------===//

namespace {

/// Values that a lane keeps while reductions are computed one after the other
/// and then results are stored.
class Live {
public:
  Live(func::FuncOp kernel, const RowParts &parts, ArrayRef<RowSum> sums)
      : parts(parts), sums(sums) {
    for (auto [phase, sum] : llvm::enumerate(sums))
      if (sum.form == RowSum::Along) // sums across take elements by turns
        reach(sum.op->getOperand(0), phase);
    Operation *end = kernel.getBody().front().getTerminator();
    for (Value result : end->getOperands())
      reach(result, sums.size());
  }

  /// Registers of everything kept at once, if a lane has `count(elements)` of a
  /// part.
  int64_t countRegisters(llvm::function_ref<int64_t(int64_t)> count) const {
    std::vector<int64_t> words(sums.size() + 1, 0);
    for (auto &[value, phase] : first) {
      int64_t elements = 1;
      for (const RowLayout &layout : parts.layouts.lookup(value))
        elements = std::max(elements, countElements(layout));
      if (elements == 1 || isNamed(value))
        continue;
      const int64_t of =
          count(elements) *
          llvm::divideCeil(ranked(value).getElementTypeBitWidth(), 32);
      for (int64_t now = phase; now < last.lookup(value); ++now)
        words[now] += of;
    }
    return *llvm::max_element(words);
  }

private:
  /// Needs no register: it is known, or another value's.
  static bool isNamed(Value value) {
    Operation *op = value.getDefiningOp();
    return op &&
           (op->hasTrait<MadeByReaders>() || isViewOp(op) || isRowPadding(op));
  }
  bool isSum(Operation *op) const {
    return llvm::any_of(sums, [&](const RowSum &sum) {
      return sum.op == op && sum.form != RowSum::Alone;
    });
  }
  /// Notes that an op of `phase` asks for the value.
  void reach(Value value, int64_t phase) {
    last[value] = std::max(last[value], phase);
    Operation *op = value.getDefiningOp();
    const bool isNew = first.try_emplace(value, phase).second;
    if (!op || isSum(op) || !(isNew || isNamed(value)))
      return;
    for (Value operand : op->getOperands())
      reach(operand, phase);
  }

  const RowParts &parts;
  ArrayRef<RowSum> sums;
  llvm::MapVector<Value, int64_t> first;
  DenseMap<Value, int64_t> last;
};

} // namespace

/// Elements of a part that one of `lanes` has, in whole runs.
static int64_t countOfLane(int64_t elements, int64_t lanes, int64_t width) {
  return llvm::divideCeil(elements, lanes * width) * width;
}

/// Finds the fewest lanes, at least one run each, that keep a row in registers.
/// If there are none, rows are read again for each reduction.
static void fitRegisters(RowMapping &mapping, func::FuncOp kernel,
                         const RowParts &parts, int64_t longest,
                         int64_t width) {
  auto setLanes = [&](int64_t lanes) {
    mapping.lanes = lanes;
    mapping.rowsPerBlock = lanes <= kWarp ? kSmallBlock / lanes : 1;
  };
  const Live live(kernel, parts, mapping.sums);
  const int64_t tensors = kernel.getNumArguments() + kernel.getNumResults();
  const int64_t least = std::clamp<int64_t>(
      llvm::PowerOf2Ceil(llvm::divideCeil(longest, width)), 1, kWarp);
  for (int64_t lanes = least; lanes <= kLargestBlock; lanes *= 2) {
    setLanes(lanes);
    mapping.inRegisters = countOfLane(longest, lanes, width);
    const int64_t kept = live.countRegisters(
        [&](int64_t count) { return countOfLane(count, lanes, width); });
    // Runs that are not neighbours have a place each.
    const int64_t places = mapping.inRegisters / width +
                           std::max<int64_t>(tensors - kFewTensors, 0);
    if (mapping.inRegisters <= std::max(kMostInRegisters, width) &&
        kept + places * kAddressRegisters + kOtherRegisters <=
            getRegisters(mapping.block()))
      return;
  }
  const bool isAcross = !mapping.sums.empty() &&
                        llvm::all_of(mapping.sums, [](const RowSum &sum) {
                          return sum.form == RowSum::Across;
                        });
  setLanes(std::clamp<int64_t>(
      llvm::PowerOf2Ceil(llvm::divideCeil(
          longest, isAcross ? kAddedAcross : kMostInRegisters)),
      least, kThreads));
  mapping.inRegisters = width;
}

RowMapping pp::gpu::chooseMapping(func::FuncOp kernel, const RowParts &parts,
                                  int64_t width) {
  RowMapping mapping;
  mapping.sums = findSums(kernel, parts);
  int64_t longest = 1;
  for (const RowSum &sum : mapping.sums)
    longest = std::max(longest, countElements(sum.operand));
  for (const RowLayout &layout : parts.results)
    longest = std::max(longest, countElements(layout));
  fitRegisters(mapping, kernel, parts, longest, width);
  fitShared(mapping, width);
  return mapping;
}
