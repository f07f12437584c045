//===- SeedCosts.cpp - costs of a step with seeds -------------------------===//
//
// SPDX-License-Identifier: Apache-2.0
//
//===----------------------------------------------------------------------===//
#include "SeedCosts.h"
#include "pp/Analysis/Contraction.h"
#include "pp/IR/Kernel.h"
#include "pp/IR/Model.h"
#include "pp/IR/PlanKeys.h"
#include "llvm/Support/MathExtras.h"
#include <numeric>

using namespace mlir;
using namespace pp;

namespace {

class StepMeasurer {
public:
  StepMeasurer(func::FuncOp main, const SeedLayouts &layouts,
               const WorkCosts &work, reshard::ReshardPlanner &resharder)
      : main(main), layouts(layouts), mesh(layouts.mesh()), work(work),
        resharder(resharder) {}

  FailureOr<StepCost> measure();
  /// To read the parameters and their gradients, and write the parameters.
  double secondsToUpdate();

private:
  /// A value as an op leaves it.
  struct Form {
    Layout layout;
    PartialAxes partial;
  };
  double microBatches() const {
    return mesh.timeAxis() < 0 ? 1 : double(mesh.size(mesh.timeAxis()));
  }
  double priceOf(Value value, const Form &from, const Layout &to);
  double priceOf(OpOperand &operand, const Layout &wanted);
  PartialAxes findPassing(Operation *op, const ShardingRule &rule,
                          Layout &factors) const;
  double secondsToMask(Operation *op, const ShardingRule &rule,
                       const Layout &factors) const;
  LogicalResult add(const ShardingSpread::Node &node, StepCost &cost);
  double keptBytes();

  func::FuncOp main;
  const SeedLayouts &layouts;
  const MeshView &mesh;
  const WorkCosts &work;
  reshard::ReshardPlanner &resharder;
  DenseMap<Value, SmallVector<Form, 1>> forms;
};

} // namespace

/// Seconds of a step from one layout of a value to another. Time is no link:
/// sums over it travel once a step, other values of the batch with each
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

/// Cost of an operand in the layout that its op wants, from the nearest form. A
/// partial value is reduced first, into the layout of its only reader, or into
/// its own with several.
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

/// The axes over which operands are still to be reduced and which pass through
/// `op`, as in the partitioner.
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

/// A product that sums over padding copies its operands with zeros there; other
/// sums mask their operands while reading.
double StepMeasurer::secondsToMask(Operation *op, const ShardingRule &rule,
                                   const Layout &factors) const {
  if (!isContraction(op))
    return 0;
  double seconds = 0;
  for (OpOperand &operand : op->getOpOperands()) {
    const TensorFactors &tensor = rule.operands[operand.getOperandNumber()];
    const bool isMasked = llvm::any_of(tensor, [&](const DimFactors &ofDim) {
      return llvm::any_of(ofDim, [&](int64_t factor) {
        return rule.factors[factor].kind == FactorKind::Reduction &&
               rule.factors[factor].size % mesh.size(factors[factor]) != 0;
      });
    });
    // Arguments are stored with zeros.
    if (isMasked && !isa<BlockArgument>(operand.get()))
      seconds += work.secondsToWrite(
          operand.get(),
          layouts.shareOf(operand.get(),
                          layoutOf(rule, tensor, factors, mesh)));
  }
  return seconds;
}

LogicalResult StepMeasurer::add(const ShardingSpread::Node &node,
                                StepCost &cost) {
  Operation *op = node.op;
  const ShardingRule &rule = *node.rule;
  Layout factors = layouts.factorsOf(node);
  PartialAxes partial = findPassing(op, rule, factors);
  const bool isPassing = !partial.empty();
  for (OpOperand &operand : op->getOpOperands()) {
    auto found = forms.find(operand.get());
    if (isPassing && found != forms.end() &&
        found->second.front().partial == partial) {
      found->second.front().partial.clear(); // the result has it now
      continue;
    }
    cost.seconds += priceOf(
        operand, layoutOf(rule, rule.operands[operand.getOperandNumber()],
                          factors, mesh));
  }
  for (auto [factor, axes] : llvm::zip_equal(rule.factors, factors))
    if (factor.kind == FactorKind::Reduction)
      for (int axis : axes)
        partial.push_back({axis, factor.reduction});
  llvm::sort(partial);
  for (auto [index, result] : llvm::enumerate(op->getResults()))
    forms[result] = {
        {layoutOf(rule, rule.results[index], factors, mesh), partial}};
  FailureOr<double> seconds =
      work.secondsOf(*op, layouts.shareOf(rule, factors),
                     [&](Value value) { return layouts.shareOf(value); });
  if (failed(seconds))
    return failure();
  cost.seconds +=
      (*seconds + secondsToMask(op, rule, factors)) * microBatches();
  return success();
}

/// Bytes of parameters, and of values from forward to backward, which are held
/// for one micro-batch.
double StepMeasurer::keptBytes() {
  double bytes = 0;
  auto sizeOf = [&](Value value) {
    return layouts.shareOf(value) * double(getTensorBytes(value.getType()));
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
  // Values that only the update reads, and the results.
  for (const ShardingSpread::Node &node : layouts.getNodes())
    for (Value result : node.op->getResults())
      if (const Form &form = forms[result].front(); !form.partial.empty())
        cost.seconds += priceOf(result, form, layouts.layoutOf(result));
  cost.bytes = keptBytes();
  cost.usesAllAxes = layouts.useAllAxes();
  return cost;
}

double StepMeasurer::secondsToUpdate() {
  double seconds = 0;
  for (BlockArgument argument : main.getArguments())
    if (getArgRole(main, argument.getArgNumber()) == Role::Param)
      seconds += 3 * work.secondsToWrite(argument, layouts.shareOf(argument));
  return seconds;
}

SeedCosts::SeedCosts(func::FuncOp main, MeshAttr mesh,
                     const schedule::Topology &topology)
    : main(main), topology(topology),
      work(main, topology, mesh.getNumMicroBatches()) {}

FailureOr<StepCost>
SeedCosts::measure(PlanAttr plan,
                   function_ref<void(const SeedLayouts &)> look) {
  FailureOr<std::unique_ptr<SeedLayouts>> layouts =
      SeedLayouts::find(main, plan);
  if (failed(layouts))
    return failure();
  if (look)
    look(**layouts);
  const MeshView &mesh = (*layouts)->mesh();
  auto found = resharders.find(mesh.attr());
  if (found == resharders.end())
    found =
        resharders.try_emplace(mesh.attr(), makeReshardPlanner(mesh, topology))
            .first;
  StepMeasurer measurer(main, **layouts, work, found->second);
  FailureOr<StepCost> cost = measurer.measure();
  if (succeeded(cost) && plan.getInt(PlanKey::Zero) == 0)
    cost->seconds += measurer.secondsToUpdate();
  return cost;
}
