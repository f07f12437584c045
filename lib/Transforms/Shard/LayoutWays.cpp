//===- LayoutWays.cpp - ops on the way to another layout ------------------===//
//
// SPDX-License-Identifier: Apache-2.0
//
// In: an op during partitioning, whose operands have local forms. Out: axes of
// its factors on the cheapest way of a partial operand to its last reader.
//
//===----------------------------------------------------------------------===//
#include "Partition.h"
#include "pp/IR/Model.h"
#include "pp/IR/Values.h"

using namespace mlir;
using namespace pp;

bool pp::isFarFrom(Operation *made, Operation *user) {
  return !getStages(made).empty() && !getStages(user).empty() &&
         !llvm::includes(getStages(made), getStages(user));
}

/// The axes of the factors of a dimension-preserving rule if one of its tensors
/// has this layout.
static Layout toFactors(const ShardingRule &rule, const TensorFactors &tensor,
                        const Layout &layout) {
  Layout factors(rule.factors.size());
  for (auto [ofDim, axes] : llvm::zip_equal(tensor, layout))
    factors[ofDim.front()] = axes;
  return factors;
}

/// The final layout of the result of `op`, if only ops that keep dimensions
/// read it on the way to a change of layout.
static std::optional<Layout> findEnd(Operation *op, const MeshView &mesh) {
  if (op->getNumResults() != 1 || !op->getResult(0).hasOneUse())
    return std::nullopt;
  OpOperand &use = *op->getResult(0).use_begin();
  auto user = dyn_cast<ShardingOpInterface>(use.getOwner());
  if (!user || getPhase(user) != getPhase(op) || isFarFrom(op, user))
    return std::nullopt;
  if (isLayoutChange(user))
    return getLayout(user->getResult(0), mesh);
  const ShardingRule rule = user.getShardingRule();
  std::optional<Layout> end;
  if (rule.keepsDims())
    end = findEnd(user, mesh);
  if (!end)
    return std::nullopt;
  return layoutOf(rule, rule.operands[use.getOperandNumber()],
                  toFactors(rule, rule.results.front(), *end), mesh);
}

void pp::keepOnTheWay(Operation *op, const ShardingRule &rule, Layout &factors,
                      const MeshView &mesh, Resharder &resharder,
                      function_ref<const LocalValue &(Value)> formOf) {
  if (!rule.keepsDims())
    return;
  OpOperand *moved = nullptr;
  for (OpOperand &operand : op->getOpOperands()) {
    if (formOf(operand.get()).partial.empty())
      continue;
    if (moved || !operand.get().hasOneUse())
      return;
    moved = &operand;
  }
  const std::optional<Layout> end = moved ? findEnd(op, mesh) : std::nullopt;
  if (!end)
    return;
  auto plan = [&](Value value, const LocalValue &from,
                  const Layout &to) -> const reshard::ReshardPlan & {
    return resharder.plan(from, ranked(value.getType()).getShape(), to, {});
  };
  const TensorFactors &tensor = rule.operands[moved->getOperandNumber()];
  const Layout usual = layoutOf(rule, tensor, factors, mesh);
  const Layout target =
      layoutOf(rule, tensor, toFactors(rule, rule.results.front(), *end), mesh);
  const LocalValue &from = formOf(moved->get());
  const reshard::ReshardPlan &way = plan(moved->get(), from, target);
  const reshard::ReshardPlan &first = plan(moved->get(), from, usual);
  const reshard::ReshardPlan &rest =
      plan(moved->get(), {from.value, usual, {}}, target);
  if (!way.reachable() || !first.reachable() || !rest.reachable() ||
      way.cost >= first.cost + rest.cost)
    return;
  Layout reduced;
  for (const std::vector<int> &axes :
       llvm::find_if(way.steps, [](const reshard::ReshardStep &step) {
         return step.result.partial.empty();
       })->result.dims)
    reduced.emplace_back(axes.begin(), axes.end());
  const Layout wanted = toFactors(rule, tensor, reduced);
  for (OpOperand &operand : op->getOpOperands())
    if (&operand != moved &&
        plan(operand.get(), formOf(operand.get()),
             layoutOf(rule, rule.operands[operand.getOperandNumber()], wanted,
                      mesh))
                .cost > 0)
      return;
  factors = wanted;
}
