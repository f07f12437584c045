//===- PaddingCosts.cpp - costs of shared and separate padding ------------===//
//
// SPDX-License-Identifier: Apache-2.0
//
//===----------------------------------------------------------------------===//
#include "pp/Planner/PaddingCosts.h"
#include "WorkCosts.h"
#include "pp/IR/Values.h"
#include "pp/Planner/ReshardQuestion.h"
#include "llvm/Support/MathExtras.h"
#include <limits>

using namespace mlir;
using namespace pp;

PaddingCosts::PaddingCosts(func::FuncOp main, const MeshView &mesh,
                           PlanAttr plan)
    : mesh(mesh), work(std::make_unique<WorkCosts>(main, getTopology(plan),
                                                   /*microBatches=*/1)),
      reshards(makeReshardPlanner(mesh, getTopology(plan))) {}

PaddingCosts::~PaddingCosts() = default;

/// A device computes the parts of a time axis one after another.
double PaddingCosts::devicesOf(const AxisList &axes) const {
  double devices = 1;
  for (int axis : axes)
    if (axis != mesh.timeAxis())
      devices *= double(mesh.size(axis));
  return devices;
}

double PaddingCosts::secondsOf(Operation *op, const ShardingRule &rule,
                               double ofOp,
                               function_ref<double(Value)> ofValue) const {
  if (!isa<CostOpInterface>(op))
    return 0;
  double share = ofOp;
  for (const AxisList &axes : chooseLocalAxes(op, rule, mesh))
    share /= devicesOf(axes);
  const auto shareOf = [&](Value value) {
    double devices = 1;
    for (const AxisList &axes : getLayout(value, mesh))
      devices *= devicesOf(axes);
    return ofValue(value) / devices;
  };
  return *work->secondsOf(*op, share, shareOf);
}

double
PaddingCosts::secondsToGather(Operation *op, const ShardingRule &rule,
                              const llvm::SmallBitVector &factors,
                              function_ref<RankedTensorType(Value)> typeOf) {
  const Layout local = chooseLocalAxes(op, rule, mesh);
  Layout whole = local;
  for (unsigned factor : factors.set_bits())
    whole[factor].clear();
  double seconds = 0;
  const auto add = [&](Value value, const TensorFactors &tensor,
                       bool isResult) {
    const Layout layout = getLayout(value, mesh);
    RankedTensorType type = typeOf(value);
    // Nothing is gathered over micro-batches.
    for (auto [ofDim, axes] : llvm::zip_equal(tensor, layout))
      if (llvm::is_contained(axes, mesh.timeAxis()) &&
          llvm::any_of(ofDim, [&](int64_t factor) { return factors[factor]; }))
        seconds = std::numeric_limits<double>::infinity();
    const int64_t bytes =
        llvm::divideCeil(type.getElementType().getIntOrFloatBitWidth(), 8);
    const auto planMove = [&](const Layout &ofFactors) {
      reshard::TensorSharding from = toPlanner(layout, {}),
                              to = toPlanner(
                                  layoutOf(rule, tensor, ofFactors, mesh), {});
      if (isResult)
        std::swap(from, to);
      return reshards.plan(type.getShape().vec(), bytes, from, to);
    };
    const reshard::ReshardPlan now = planMove(local),
                               gathered = planMove(whole);
    if (!gathered.reachable())
      seconds = std::numeric_limits<double>::infinity();
    const int time = mesh.timeAxis();
    const double times =
        time >= 0 && splits(layout, time) ? double(mesh.size(time)) : 1;
    seconds += times * (gathered.cost - now.cost);
  };
  for (auto [value, tensor] : llvm::zip_equal(op->getOperands(), rule.operands))
    add(value, tensor, /*isResult=*/false);
  for (auto [value, tensor] : llvm::zip_equal(op->getResults(), rule.results))
    add(value, tensor, /*isResult=*/true);
  return std::max(seconds, 0.0);
}
