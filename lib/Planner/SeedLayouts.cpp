//===- SeedLayouts.cpp - layouts under seeds ------------------------------===//
//
// SPDX-License-Identifier: Apache-2.0
//
//===----------------------------------------------------------------------===//
#include "SeedLayouts.h"
#include "pp/IR/Kernel.h"
#include "pp/IR/Model.h"
#include "llvm/Support/MathExtras.h"

using namespace mlir;
using namespace pp;

FailureOr<std::unique_ptr<SeedLayouts>> SeedLayouts::find(func::FuncOp main,
                                                          PlanAttr plan) {
  // Parts of axes get smaller each time, so it ends.
  while (true) {
    std::unique_ptr<SeedLayouts> layouts(new SeedLayouts(main, plan));
    if (failed(layouts->run()))
      return failure();
    const AxisDivisions &divisions = layouts->graph.getDivisions();
    if (divisions.empty())
      return layouts;
    plan = cast<PlanAttr>(divisions.getReplacer().replace(plan));
  }
}

int SeedLayouts::numberOf(Value value) {
  auto [it, isNew] = numbers.try_emplace(value, 0);
  if (isNew)
    it->second =
        graph.addValue(cast<RankedTensorType>(value.getType()).getShape());
  return it->second;
}

/// Adds a request for a value, in a round or in those of its axes.
void SeedLayouts::wish(Value value, ArrayRef<DimShardingAttr> dims, bool isOpen,
                       std::optional<int64_t> priority) {
  const int number = numberOf(value);
  if (dims.size() != graph.value(number).sizes.size())
    return; // pp-annotate-shardings refuses it
  for (auto [dim, sharding] : llvm::enumerate(dims)) {
    if (!sharding.getIsOpen() && !isOpen)
      graph.value(number).closed.set(dim);
    AxisList axes;
    int64_t round = std::numeric_limits<int64_t>::min();
    for (StringAttr name : sharding.getAxes())
      for (StringAttr part : view.attr().partsOf(name)) {
        const int axis = view.attr().indexOf(part);
        axes.push_back(axis);
        round = std::max(round, priority.value_or(view.priority(axis)));
        rounds[round].push_back({number, unsigned(dim), axes});
      }
  }
}

/// Adds the requests of seeds and the model for the result of `op`.
void SeedLayouts::wish(Operation &op, ShardingSpread::Node &node) {
  auto enter = [&](ArrayRef<DimShardingAttr> dims, bool isBarrier,
                   bool isBefore, std::optional<int64_t> priority) {
    wish(isBefore ? op.getOperand(0) : op.getResult(0), dims,
         /*isOpen=*/isBefore, priority);
    if (!isBarrier)
      return;
    barriers.insert(&op);
    for (DimShardingAttr dim : dims)
      for (StringAttr name : dim.getAxes())
        for (StringAttr part : view.attr().partsOf(name))
          node.stopped.push_back(view.attr().indexOf(part));
  };
  if (auto name = dyn_cast<NameOp>(op)) {
    for (const MatchedSeed &match : table.lookup(name.getName()))
      if (const bool isBarrier = match.seed.getIsBarrier(); !match.isOverruled)
        enter(match.dims, isBarrier, isBarrier && name.getGradient(),
              match.seed.getPriority());
  } else if (auto constraint = dyn_cast<ShardingConstraintOp>(op)) {
    enter(constraint.getSharding().getDims(), constraint.getBarrier(),
          constraint.getSide() == ConstrainedSide::Operand,
          constraint.getPriority());
  }
}

LogicalResult SeedLayouts::run() {
  Block &body = main.getBody().front();
  for (BlockArgument argument : body.getArguments()) {
    const unsigned index = argument.getArgNumber();
    ShardingSpread::Value &value = graph.value(numberOf(argument));
    std::optional<Role> role = getArgRole(main, index);
    if (role == Role::Param || role == Role::State)
      value.without = view.timeAxis();
    if (auto given =
            main.getArgAttrOfType<ShardingAttr>(index, attrs::kSharding))
      wish(argument, given.getDims(), /*isOpen=*/false, std::nullopt);
    for (const MatchedSeed &match : table.lookup(getArgName(main, index)))
      if (!match.isOverruled)
        wish(argument, match.dims, /*isOpen=*/false, match.seed.getPriority());
  }
  for (Operation &op : body.without_terminator()) {
    if (getKind(&op) == Kind::Update)
      continue;
    auto shardable = dyn_cast<ShardingOpInterface>(op);
    if (!shardable)
      return op.emitError("expects an op with a sharding rule, got ")
             << op.getName();
    ShardingSpread::Node node;
    node.op = &op;
    for (Value result : op.getResults())
      node.values.push_back(numberOf(result));
    for (Value operand : op.getOperands())
      node.values.push_back(numberOf(operand));
    wish(op, node);
    graph.connect(std::move(node), shardable.getShardingRule());
  }
  const auto noSource = StringAttr::get(main.getContext());
  for (auto &[priority, wishes] : rounds) {
    for (const Wish &wish : wishes)
      graph.place(wish.value, wish.dim, wish.axes, noSource);
    graph.spread();
  }
  return success();
}

Layout SeedLayouts::factorsOf(const ShardingSpread::Node &node) const {
  SmallVector<const Layout *> results, operands;
  for (Value value : node.op->getResults())
    results.push_back(&layoutOf(value));
  if (barriers.contains(node.op))
    return chooseFactorAxes(*node.rule, results, results, view);
  for (Value value : node.op->getOperands())
    operands.push_back(&layoutOf(value));
  return chooseLocalAxes(node.op, *node.rule, results, operands, view);
}

double SeedLayouts::shareOf(ArrayRef<AxisList> layout,
                            ArrayRef<int64_t> sizes) const {
  double share = 1;
  for (auto [axes, size] : llvm::zip_equal(layout, sizes)) {
    int64_t shards = 1;
    for (int axis : axes)
      if (axis != view.timeAxis())
        shards *= view.size(axis);
    if (size > 0)
      share *= double(llvm::divideCeil(size, shards)) / double(size);
  }
  return share;
}

double SeedLayouts::shareOf(const ShardingRule &rule,
                            ArrayRef<AxisList> axes) const {
  SmallVector<int64_t> sizes;
  for (const Factor &factor : rule.factors)
    sizes.push_back(factor.size);
  return shareOf(axes, sizes);
}

double SeedLayouts::shareOf(Value value, const Layout &layout) const {
  return shareOf(layout, cast<RankedTensorType>(value.getType()).getShape());
}

bool SeedLayouts::splitsEvenly(Value value, StringRef axis) const {
  const SmallVector<StringAttr> parts = view.attr().partsOf(axis);
  int64_t shards = 1;
  for (auto [axes, size] : llvm::zip_equal(
           layoutOf(value), cast<RankedTensorType>(value.getType()).getShape()))
    for (int number : axes)
      if (llvm::is_contained(parts, view.name(number)))
        shards *= size % view.size(axes) ? 0 : view.size(number);
  return shards == view.attr().sizeOf(axis);
}

bool SeedLayouts::useAllAxes() const {
  llvm::SmallBitVector isUsed(view.numAxes());
  for (const ShardingSpread::Value &value : graph.getValues())
    for (const AxisList &axes : value.layout)
      for (int axis : axes)
        isUsed.set(axis);
  return llvm::all_of(llvm::enumerate(view.attr().getAxes()), [&](auto entry) {
    return isUsed.test(entry.index()) || entry.value().getSize() == 1 ||
           entry.value().getKind() == AxisKind::Stage;
  });
}
