//===- SeedCosts.cpp - what a step takes under seeds ----------------------===//
//
// SPDX-License-Identifier: Apache-2.0
//
//===----------------------------------------------------------------------===//
#include "SeedCosts.h"
#include "pp/Analysis/Seeds.h"
#include "pp/Analysis/ShardingSpread.h"
#include "pp/IR/Kernel.h"
#include "pp/IR/Model.h"
#include "llvm/Support/MathExtras.h"
#include <map>
#include <numeric>

using namespace mlir;
using namespace pp;

//===----------------------------------------------------------------------===//
// Where seeds spread
//===----------------------------------------------------------------------===//

namespace {

/// The layouts that propagation would write, but for the update.
class Rehearsal {
public:
  Rehearsal(func::FuncOp main, PlanAttr plan, MeshView mesh)
      : main(main), mesh(mesh), table(plan), graph(mesh) {}

  LogicalResult run();

  const Layout &layoutOf(Value value) const {
    return graph.getValues()[numbers.lookup(value)].layout;
  }
  ArrayRef<ShardingSpread::Node> getNodes() const { return graph.getNodes(); }
  const AxisDivisions &getDivisions() const { return graph.getDivisions(); }
  /// Whether an op is the identity between two layouts.
  bool isBarrier(Operation *op) const { return barriers.contains(op); }

private:
  struct Wish {
    int value;
    unsigned dim;
    AxisList axes;
  };
  int numberOf(Value value);
  void wish(Value value, ArrayRef<DimShardingAttr> dims, bool isOpen,
            std::optional<int64_t> priority);
  void wish(Operation &op, ShardingSpread::Node &node);

  func::FuncOp main;
  MeshView mesh;
  const SeedTable table;
  ShardingSpread graph;
  DenseMap<Value, int> numbers;
  llvm::DenseSet<Operation *> barriers;
  std::map<int64_t, SmallVector<Wish>> rounds;
};

} // namespace

int Rehearsal::numberOf(Value value) {
  auto [it, isNew] = numbers.try_emplace(value, 0);
  if (isNew)
    it->second =
        graph.addValue(cast<RankedTensorType>(value.getType()).getShape());
  return it->second;
}

/// Enters what is asked of a value, in a round or in those of its axes.
void Rehearsal::wish(Value value, ArrayRef<DimShardingAttr> dims, bool isOpen,
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
      for (StringAttr part : mesh.attr().partsOf(name)) {
        const int axis = mesh.attr().indexOf(part);
        axes.push_back(axis);
        round = std::max(round, priority.value_or(mesh.priority(axis)));
        rounds[round].push_back({number, unsigned(dim), axes});
      }
  }
}

/// What seeds and the model ask of the result of `op`.
void Rehearsal::wish(Operation &op, ShardingSpread::Node &node) {
  auto enter = [&](ArrayRef<DimShardingAttr> dims, bool isBarrier,
                   bool isBefore, std::optional<int64_t> priority) {
    wish(isBefore ? op.getOperand(0) : op.getResult(0), dims,
         /*isOpen=*/isBefore, priority);
    if (!isBarrier)
      return;
    barriers.insert(&op);
    for (DimShardingAttr dim : dims)
      for (StringAttr name : dim.getAxes())
        for (StringAttr part : mesh.attr().partsOf(name))
          node.stopped.push_back(mesh.attr().indexOf(part));
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

LogicalResult Rehearsal::run() {
  Block &body = main.getBody().front();
  for (BlockArgument argument : body.getArguments()) {
    const unsigned index = argument.getArgNumber();
    ShardingSpread::Value &value = graph.value(numberOf(argument));
    std::optional<Role> role = getArgRole(main, index);
    if (role == Role::Param || role == Role::State)
      value.without = mesh.timeAxis();
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
  const auto nobody = StringAttr::get(main.getContext());
  for (auto &[priority, wishes] : rounds) {
    for (const Wish &wish : wishes)
      graph.place(wish.value, wish.dim, wish.axes, nobody);
    graph.spread();
  }
  return success();
}

//===----------------------------------------------------------------------===//
// What that takes
//===----------------------------------------------------------------------===//

namespace {

class StepMeasurer {
public:
  StepMeasurer(func::FuncOp main, const Rehearsal &layouts,
               const MeshView &mesh, const WorkCosts &work,
               reshard::ReshardPlanner &resharder)
      : main(main), layouts(layouts), mesh(mesh), work(work),
        resharder(resharder) {}

  FailureOr<StepCost> measure();

private:
  /// A value as an op leaves it.
  struct Form {
    Layout layout;
    PartialAxes partial;
  };
  double shareOf(ArrayRef<AxisList> layout, ArrayRef<int64_t> sizes) const;
  double shareOf(Value value) const;
  double microBatches() const {
    return mesh.timeAxis() < 0 ? 1 : double(mesh.size(mesh.timeAxis()));
  }
  double priceOf(Value value, const Form &from, const Layout &to);
  double priceOf(OpOperand &operand, const Layout &wanted);
  PartialAxes findPassing(Operation *op, const ShardingRule &rule,
                          Layout &factors) const;
  LogicalResult add(const ShardingSpread::Node &node, StepCost &cost);
  double keptBytes();

  func::FuncOp main;
  const Rehearsal &layouts;
  const MeshView &mesh;
  const WorkCosts &work;
  reshard::ReshardPlanner &resharder;
  DenseMap<Value, SmallVector<Form, 1>> forms;
};

} // namespace

/// The part of one device, where dimensions that do not divide are padded.
double StepMeasurer::shareOf(ArrayRef<AxisList> layout,
                             ArrayRef<int64_t> sizes) const {
  double share = 1;
  for (auto [axes, size] : llvm::zip_equal(layout, sizes)) {
    int64_t shards = 1;
    for (int axis : axes)
      if (axis != mesh.timeAxis())
        shards *= mesh.size(axis);
    if (size > 0)
      share *= double(llvm::divideCeil(size, shards)) / double(size);
  }
  return share;
}

double StepMeasurer::shareOf(Value value) const {
  return shareOf(layouts.layoutOf(value),
                 cast<RankedTensorType>(value.getType()).getShape());
}

/// Seconds of a step from one layout of a value to another. Time is no link:
/// what is summed over it travels once a step, all else of the batch with each
/// micro-batch.
double StepMeasurer::priceOf(Value value, const Form &from, const Layout &to) {
  const int time = mesh.timeAxis();
  auto type = cast<RankedTensorType>(value.getType());
  std::vector<int64_t> shape(type.getShape());
  Form source = from;
  Layout target = to;
  const size_t before = source.partial.size();
  llvm::erase_if(source.partial,
                 [&](const auto &entry) { return entry.first == time; });
  const bool isSummed = source.partial.size() < before;
  for (auto [size, a, b] : llvm::zip_equal(shape, source.layout, target)) {
    if (llvm::is_contained(a, time) || llvm::is_contained(b, time))
      size = llvm::divideCeil(size, mesh.size(time));
    llvm::erase(a, time);
    llvm::erase(b, time);
    size = llvm::alignTo(size, std::lcm(mesh.size(a), mesh.size(b)));
  }
  if (source.layout == target && source.partial.empty())
    return 0;
  const int64_t bytes = std::max<int64_t>(1, type.getElementTypeBitWidth() / 8);
  const reshard::ReshardPlan &plan =
      resharder.plan(shape, bytes, toPlanner(source.layout, source.partial),
                     toPlanner(target, {}));
  const bool isOften = work.isOfBatch(value) && !isSummed;
  return plan.reachable() ? plan.cost * (isOften ? microBatches() : 1)
                          : std::numeric_limits<double>::infinity();
}

/// Of an operand as its op wants it, from the form that is nearest: a partial
/// one is reduced into what its only reader wants, or what all start from.
double StepMeasurer::priceOf(OpOperand &operand, const Layout &wanted) {
  Value value = operand.get();
  SmallVector<Form, 1> &all = forms[value];
  if (all.empty()) // an argument
    all.push_back({layouts.layoutOf(value), {}});
  double price = 0;
  if (!all.front().partial.empty()) {
    const Layout reduced = value.hasOneUse() ? wanted : layouts.layoutOf(value);
    price = priceOf(value, all.front(), reduced);
    all.front() = {reduced, {}};
  }
  double least = std::numeric_limits<double>::infinity();
  for (const Form &form : all)
    least = std::min(least,
                     form.layout == wanted ? 0 : priceOf(value, form, wanted));
  if (least > 0)
    all.push_back({wanted, {}});
  return price + least;
}

/// What operands are still to be reduced over that pass through `op`, as the
/// partitioner has it.
PartialAxes StepMeasurer::findPassing(Operation *op, const ShardingRule &rule,
                                      Layout &factors) const {
  for (const auto &set : rule.additive) {
    auto formOf = [&](unsigned index) -> const Form * {
      auto found = forms.find(op->getOperand(index));
      return found == forms.end() ? nullptr : &found->second.front();
    };
    const Form *first = formOf(set.front());
    auto passes = [&](unsigned index) {
      const Form *form = formOf(index);
      return form && !form->partial.empty() &&
             form->partial == first->partial &&
             op->getOperand(index).hasOneUse() &&
             !cast<ShardingOpInterface>(op).reducesFirst(index);
    };
    if (!first || !llvm::all_of(set, passes))
      continue;
    for (AxisList &ofFactor : factors)
      llvm::erase_if(ofFactor, [&](int axis) {
        return llvm::is_contained(llvm::make_first_range(first->partial), axis);
      });
    dropUnspeakable(rule, factors, mesh);
    return first->partial;
  }
  return {};
}

LogicalResult StepMeasurer::add(const ShardingSpread::Node &node,
                                StepCost &cost) {
  Operation *op = node.op;
  const ShardingRule &rule = *node.rule;
  SmallVector<const Layout *> results, operands;
  for (Value value : op->getResults())
    results.push_back(&layouts.layoutOf(value));
  for (Value value : op->getOperands())
    operands.push_back(&layouts.layoutOf(value));
  Layout factors = layouts.isBarrier(op)
                       ? chooseFactorAxes(rule, results, results, mesh)
                       : chooseLocalAxes(op, rule, results, operands, mesh);
  PartialAxes partial = findPassing(op, rule, factors);
  const bool isPassing = !partial.empty();
  for (OpOperand &operand : op->getOpOperands()) {
    auto found = forms.find(operand.get());
    if (isPassing && found != forms.end() &&
        found->second.front().partial == partial)
      continue;
    cost.seconds += priceOf(
        operand, layoutOf(rule, rule.operands[operand.getOperandNumber()],
                          factors, mesh));
  }
  SmallVector<int64_t> sizes;
  for (auto [factor, axes] : llvm::zip_equal(rule.factors, factors)) {
    sizes.push_back(factor.size);
    if (factor.kind == FactorKind::Reduction)
      for (int axis : axes)
        partial.push_back({axis, factor.reduction});
  }
  llvm::sort(partial);
  for (auto [index, result] : llvm::enumerate(op->getResults()))
    forms[result] = {
        {layoutOf(rule, rule.results[index], factors, mesh), partial}};
  FailureOr<double> seconds =
      work.secondsOf(*op, shareOf(factors, sizes),
                     [&](Value value) { return shareOf(value); });
  if (failed(seconds))
    return failure();
  cost.seconds += *seconds * microBatches();
  return success();
}

/// Of parameters, and of what forward makes and backward reads, which is held
/// for one micro-batch.
double StepMeasurer::keptBytes() {
  double bytes = 0;
  auto sizeOf = [&](Value value) {
    return shareOf(value) * double(getTensorBytes(value.getType()));
  };
  for (BlockArgument argument : main.getArguments())
    if (getArgRole(main, argument.getArgNumber()) == Role::Param)
      bytes += sizeOf(argument);
  for (const ShardingSpread::Node &node : layouts.getNodes())
    if (getKind(node.op) == Kind::Forward)
      for (Value result : node.op->getResults())
        if (llvm::any_of(result.getUsers(), [](Operation *user) {
              return getKind(user) != Kind::Forward;
            }))
          bytes += sizeOf(result) / microBatches();
  return bytes;
}

FailureOr<StepCost> StepMeasurer::measure() {
  StepCost cost;
  for (const ShardingSpread::Node &node : layouts.getNodes())
    if (failed(add(node, cost)))
      return failure();
  // What nobody before the update reads, and the results.
  for (const ShardingSpread::Node &node : layouts.getNodes())
    for (Value result : node.op->getResults())
      if (const Form &form = forms[result].front(); !form.partial.empty())
        cost.seconds += priceOf(result, form, layouts.layoutOf(result));
  cost.bytes = keptBytes();
  return cost;
}

SeedCosts::SeedCosts(func::FuncOp main, MeshAttr mesh,
                     const schedule::Topology &topology)
    : main(main), topology(topology),
      work(main, topology,
           mesh.getTimeAxis() ? mesh.getTimeAxis().getSize() : 1) {}

FailureOr<StepCost> SeedCosts::measure(PlanAttr plan) {
  const MeshView mesh(plan.getMesh(), {}, plan);
  Rehearsal layouts(main, plan, mesh);
  if (failed(layouts.run()))
    return failure();
  if (!layouts.getDivisions().empty())
    return measure(
        cast<PlanAttr>(layouts.getDivisions().getReplacer().replace(plan)));
  auto found = resharders.find(plan.getMesh());
  if (found == resharders.end())
    found = resharders
                .try_emplace(plan.getMesh(), makeReshardPlanner(mesh, topology))
                .first;
  return StepMeasurer(main, layouts, mesh, work, found->second).measure();
}
