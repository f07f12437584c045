//===- InPlace.cpp - results that overwrite arguments ---------------------===//
//
// SPDX-License-Identifier: Apache-2.0
//
//===----------------------------------------------------------------------===//
#include "pp/Analysis/InPlace.h"
#include "pp/IR/PP.h"

using namespace mlir;
using namespace pp;

bool pp::hasRowSums(func::FuncOp kernel) {
  return llvm::any_of(kernel.getBody().front(), [](Operation &op) {
    return op.hasTrait<DropsDimensions>();
  });
}

bool pp::isSummedFirst(Operation *op, const RowLayout &layout) {
  if (!op->hasTrait<DropsDimensions>() || countElements(layout) != 1)
    return false;
  auto operands = operandLayouts(op, layout);
  return operands && countElements(operands->front()) > 1;
}

namespace {

/// How a result's element depends on an argument.
enum class Reads { Nothing, Itself, Others };

class Reader {
public:
  /// `overwrites`: the part of the argument that a row stores.
  Reader(BlockArgument argument, const RowLayout &overwrites, int64_t rows)
      : argument(argument), overwrites(overwrites), rows(rows) {}

  /// The reads of the part of `value` that a row sees. `isFirst`: before the
  /// row stores anything.
  Reads of(Value value, const RowLayout &layout, bool isFirst = false) {
    if (value == argument) {
      if (!isFirst)
        return Reads::Itself;
      // Other rows may be over.
      return rows == 1 || layout == overwrites ? Reads::Nothing : Reads::Others;
    }
    Operation *op = value.getDefiningOp();
    if (!op)
      return Reads::Nothing;
    for (const Known &before : known[value])
      if (before.layout == layout && before.isFirst == isFirst)
        return before.reads;
    Reads reads = Reads::Nothing;
    const bool isFirstInside = isFirst || isSummedFirst(op, layout);
    auto operands = operandLayouts(op, layout);
    for (auto [index, operand] : llvm::enumerate(op->getOperands())) {
      if (!operands)
        return Reads::Others; // no rows are divided so
      Reads here = of(operand, (*operands)[index], isFirstInside);
      if (here == Reads::Itself && !readsSamePlace(op, index))
        here = Reads::Others;
      reads = std::max(reads, here);
    }
    known[value].push_back({layout, isFirst, reads});
    return reads;
  }

private:
  struct Known {
    RowLayout layout;
    bool isFirst;
    Reads reads;
  };

  BlockArgument argument;
  const RowLayout &overwrites;
  const int64_t rows;
  DenseMap<Value, SmallVector<Known, 2>> known;
};

} // namespace

bool pp::haveSameParts(std::pair<Type, const RowLayout &> left,
                       std::pair<Type, const RowLayout &> right) {
  return left.second == right.second &&
         cast<RankedTensorType>(left.first).getShape() ==
             cast<RankedTensorType>(right.first).getShape();
}

std::optional<unsigned> pp::findLateReader(func::FuncOp kernel,
                                           const KernelRows &rows,
                                           unsigned index, int64_t argument) {
  Operation *end = kernel.getBody().front().getTerminator();
  const RowLayout &overwrites = rows.results[index];
  Reader reader(kernel.getArgument(argument), overwrites, rows.rows);
  auto readsOf = [&](unsigned result) {
    return reader.of(end->getOperand(result), rows.results[result]);
  };
  // Elements at one place are computed together, before any of them is stored,
  // where results are divided alike, or read the argument alike.
  const bool isByRows = hasRowSums(kernel),
             readsItself = readsOf(index) == Reads::Itself;
  auto areTogether = [&](unsigned other) {
    return isByRows ? haveSameParts(
                          {kernel.getResultTypes()[other], rows.results[other]},
                          {kernel.getResultTypes()[index], overwrites})
                    : readsItself;
  };
  for (unsigned other = 0; other < kernel.getNumResults(); ++other) {
    const Reads reads = readsOf(other);
    if (reads == Reads::Others ||
        (reads == Reads::Itself && other != index && !areTogether(other)))
      return other;
  }
  return std::nullopt;
}
