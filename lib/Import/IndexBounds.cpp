//===- IndexBounds.cpp - numbers that pick rows ---------------------------===//
//
// SPDX-License-Identifier: Apache-2.0
//
// jnp.take and indexing in JAX come with a select that wraps negative numbers
// and one that puts NaN where a number is too large. pp says with pp.bound what
// numbers there are, which a run checks. Then comparisons are known, and with
// them what they select.
//
//===----------------------------------------------------------------------===//
#include "Simplify.h"
#include "pp/IR/Model.h"
#include "pp/IR/PP.h"
#include "pp/IR/Values.h"
#include <cmath>

using namespace mlir;
using namespace pp;

/// The integer that every element is, if it is known and as small as sizes are.
static std::optional<int64_t> findNumber(Value value) {
  constexpr double largest = 1LL << 53;
  if (!isa<IntegerType>(getElementTypeOrSelf(value.getType())))
    return std::nullopt;
  const std::optional<double> number = getSplat(value);
  return number && std::abs(*number) <= largest
             ? std::optional(int64_t(*number))
             : std::nullopt;
}

static bool isNaN(Value value) {
  const std::optional<double> number = getSplat(value);
  return number && std::isnan(*number);
}

/// The truth values that only choose what JAX makes of indices out of range: a
/// number from the end, or NaN.
static DenseSet<Value> findChoosing(func::FuncOp main) {
  DenseSet<Value> choosing;
  auto chooses = [&](OpOperand &use) {
    Operation *user = use.getOwner();
    if (auto select = dyn_cast<SelectOp>(user))
      return use.getOperandNumber() == 0 &&
             (isNaN(select.getOnFalse()) ||
              (isa<IntegerType>(getElementTypeOrSelf(select.getType())) &&
               select.getOnTrue().getDefiningOp<AddOp>()));
    auto reduce = dyn_cast<ReduceOp>(user);
    return (isa<AndOp, ReshapeOp, BroadcastOp>(user) ||
            (reduce && reduce.getReduction() == Reduction::And)) &&
           choosing.contains(user->getResult(0));
  };
  // Readers come first, from behind.
  for (Operation &op : llvm::reverse(main.getBody().front()))
    for (Value result : op.getResults())
      if (getElementTypeOrSelf(result.getType()).isInteger(1) &&
          llvm::all_of(result.getUses(), chooses))
        choosing.insert(result);
  return choosing;
}

//===----------------------------------------------------------------------===//
// Finding bounds
//===----------------------------------------------------------------------===//

namespace {

/// What happens to an argument's numbers.
class IndexUses {
public:
  explicit IndexUses(const DenseSet<Value> &choosing) : choosing(choosing) {}

  /// The rows of the smallest table whose rows the argument picks; nothing if
  /// something else is done with it.
  std::optional<int64_t> find(BlockArgument argument);

private:
  bool follow(OpOperand &use);
  bool followCompare(CompareOp compare, OpOperand &use);
  void add(Value value) {
    if (seen.insert(value).second)
      pending.push_back(value);
  }

  const DenseSet<Value> &choosing; ///< see findChoosing()
  DenseSet<Value> seen;
  SmallVector<Value> pending;
  /// Numbers that are compared with or added: 0, rows or rows - 1.
  SmallVector<int64_t> added, most;
  std::optional<int64_t> rows;
};

/// Comparisons with 0 and with the last row.
bool IndexUses::followCompare(CompareOp compare, OpOperand &use) {
  std::optional<int64_t> number = findNumber(compare.getRhs());
  if (use.getOperandNumber() != 0 || !number ||
      !choosing.contains(compare.getResult()))
    return false;
  if (compare.getDirection() == Direction::LE) {
    most.push_back(*number);
    return true;
  }
  return *number == 0 && (compare.getDirection() == Direction::LT ||
                          compare.getDirection() == Direction::GE);
}

bool IndexUses::follow(OpOperand &use) {
  Operation *user = use.getOwner();
  if (auto compare = dyn_cast<CompareOp>(user))
    return followCompare(compare, use);
  if (auto gather = dyn_cast<GatherOp>(user)) {
    auto table = cast<RankedTensorType>(gather.getOperand().getType());
    const int64_t size = table.getDimSize(gather.getBatchDims());
    rows = std::min(rows.value_or(size), size);
    return use.getOperandNumber() == 1;
  }
  if (auto add = dyn_cast<AddOp>(user)) {
    std::optional<int64_t> number = findNumber(add.getRhs());
    if (use.getOperandNumber() != 0 || !number)
      return false;
    added.push_back(*number);
  } else if (!isa<ReshapeOp, BroadcastOp, TransposeOp, SelectOp>(user)) {
    auto convert = dyn_cast<ConvertOp>(user);
    if (!convert || !isa<IntegerType>(getElementTypeOrSelf(convert.getType())))
      return false;
  }
  add(user->getResult(0));
  return true;
}

std::optional<int64_t> IndexUses::find(BlockArgument argument) {
  add(argument);
  while (!pending.empty())
    for (OpOperand &use : pending.pop_back_val().getUses())
      if (!follow(use))
        return std::nullopt;
  const bool areOfRows =
      rows &&
      llvm::all_of(added, [&](int64_t number) { return number == *rows; }) &&
      llvm::all_of(most, [&](int64_t number) { return number == *rows - 1; });
  return areOfRows ? rows : std::nullopt;
}

//===----------------------------------------------------------------------===//
// Using them
//===----------------------------------------------------------------------===//

/// The least and the greatest element.
struct Range {
  int64_t low, high;
};

class RangeFinder {
public:
  void set(Value value, Range range) { ranges.insert({value, range}); }
  /// Finds the range of the op's result, and replaces the op if it is decided.
  void visit(Operation *op);

private:
  std::optional<Range> get(Value value) const;
  std::optional<Range> find(Operation *op) const;
  std::optional<Range> compare(CompareOp op) const;

  DenseMap<Value, Range> ranges;
};

std::optional<Range> RangeFinder::get(Value value) const {
  if (auto found = ranges.find(value); found != ranges.end())
    return found->second;
  return std::nullopt;
}

std::optional<Range> RangeFinder::compare(CompareOp op) const {
  std::optional<Range> lhs = get(op.getLhs()), rhs = get(op.getRhs());
  if (!lhs || !rhs)
    return std::nullopt;
  auto decide = [](bool isAlways, bool isNever) {
    return isAlways  ? std::optional(Range{1, 1})
           : isNever ? std::optional(Range{0, 0})
                     : std::nullopt;
  };
  switch (op.getDirection()) {
  case Direction::LT:
    return decide(lhs->high < rhs->low, lhs->low >= rhs->high);
  case Direction::LE:
    return decide(lhs->high <= rhs->low, lhs->low > rhs->high);
  case Direction::GT:
    return decide(lhs->low > rhs->high, lhs->high <= rhs->low);
  case Direction::GE:
    return decide(lhs->low >= rhs->high, lhs->high < rhs->low);
  case Direction::EQ:
  case Direction::NE:
    return std::nullopt;
  }
  return std::nullopt;
}

std::optional<Range> RangeFinder::find(Operation *op) const {
  if (isa<ConstantOp>(op))
    if (std::optional<int64_t> number = findNumber(op->getResult(0)))
      return Range{*number, *number};
  if (isa<ReshapeOp, BroadcastOp, TransposeOp, SliceOp, ReverseOp>(op))
    return get(op->getOperand(0));
  if (auto convert = dyn_cast<ConvertOp>(op))
    return isa<IntegerType>(getElementTypeOrSelf(convert.getType())) &&
                   !getElementTypeOrSelf(convert.getType()).isInteger(8)
               ? get(convert.getOperand())
               : std::nullopt;
  if (auto comparison = dyn_cast<CompareOp>(op))
    return compare(comparison);
  if (auto reduce = dyn_cast<ReduceOp>(op);
      reduce && (reduce.getReduction() == Reduction::And ||
                 reduce.getReduction() == Reduction::Or))
    return get(reduce.getOperand());
  if (isa<AndOp>(op)) {
    std::optional<Range> lhs = get(op->getOperand(0)),
                         rhs = get(op->getOperand(1));
    if (lhs && rhs && lhs->low == lhs->high && rhs->low == rhs->high)
      return Range{lhs->low & rhs->low, lhs->low & rhs->low};
  }
  return std::nullopt;
}

void RangeFinder::visit(Operation *op) {
  if (op->getNumResults() != 1)
    return;
  if (auto select = dyn_cast<SelectOp>(op))
    if (std::optional<Range> predicate = get(select.getPredicate());
        predicate && predicate->low == predicate->high) {
      select.getResult().replaceAllUsesWith(
          predicate->low ? select.getOnTrue() : select.getOnFalse());
      return;
    }
  if (std::optional<Range> range = find(op))
    set(op->getResult(0), *range);
}

} // namespace

void pp::hlo::boundIndices(func::FuncOp main) {
  Builder builder(main.getContext());
  RangeFinder finder;
  const DenseSet<Value> choosing = findChoosing(main);
  for (BlockArgument argument : main.getArguments()) {
    const unsigned index = argument.getArgNumber();
    std::optional<Role> role = getArgRole(main, index);
    if (role != Role::Input && role != Role::Label)
      continue;
    std::optional<int64_t> rows = IndexUses(choosing).find(argument);
    if (!rows)
      continue;
    main.setArgAttr(index, attrs::kBound, builder.getI64IntegerAttr(*rows));
    finder.set(argument, {0, *rows - 1});
  }
  for (Operation &op : main.getBody().front())
    finder.visit(&op);
  eraseUnused(main);
}

void pp::hlo::eraseUnused(func::FuncOp main) {
  for (Operation &op :
       llvm::make_early_inc_range(llvm::reverse(main.getBody().front())))
    if (isOpTriviallyDead(&op))
      op.erase();
}
