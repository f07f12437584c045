//===- StageCosts.cpp - costs of ops for stages ---------------------------===//
//
// SPDX-License-Identifier: Apache-2.0
//
// For each op, the part of one device and micro-batch (WorkCosts.h), and what
// it keeps; for each boundary between ops, the values that cross it.
//
//===----------------------------------------------------------------------===//
#include "SeedLayouts.h"
#include "WorkCosts.h"
#include "pp/Analysis/Contraction.h"
#include "pp/IR/Kernel.h"
#include "pp/IR/PlanKeys.h"
#include "pp/Planner/FindSeeds.h"
#include "pp/Planner/ReshardQuestion.h"
#include "pp/Planner/StageCuts.h"
#include "llvm/ADT/DenseSet.h"

using namespace mlir;
using namespace pp;

namespace {

bool isForward(Operation *op) { return getKind(op) == Kind::Forward; }

class StageMeasurer {
public:
  StageMeasurer(func::FuncOp main, const StageCutProblem &problem,
                const SeedLayouts &layouts);

  FailureOr<StageCosts> measure();

private:
  void findLossOps();
  FailureOr<double> secondsOf(const ShardingSpread::Node &node) const;
  void addCrossing(Operation &op, int64_t origin);
  double bytesOf(Value value) const;
  bool isKept(Operation &op) const;

  func::FuncOp main;
  /// From one stage to the next.
  const schedule::Link link;
  const SeedLayouts &layouts;
  const int64_t microBatches;
  const StringRef remat;
  const WorkCosts work;
  /// The ops that the loss depends on.
  llvm::DenseSet<Operation *> lossOps;
  /// By origin: messages that begin to cross before it, less those that end.
  std::vector<double> messages, bytes;
};

schedule::Link findLink(const StageCutProblem &problem) {
  const MeshAttr mesh = problem.plan.getMesh();
  const MeshAxisAttr stages = mesh.getStageAxis();
  return stages
             ? linkAlong(mesh, mesh.indexOf(stages.getName()), problem.topology)
             : problem.topology.links.back();
}

StageMeasurer::StageMeasurer(func::FuncOp main, const StageCutProblem &problem,
                             const SeedLayouts &layouts)
    : main(main), link(findLink(problem)), layouts(layouts),
      microBatches(problem.microBatches()),
      remat(problem.plan.getWord(PlanKey::Remat)),
      work(main, problem.topology, microBatches) {
  int64_t count = 0;
  for (Operation &op : main.getBody().front())
    count = std::max(count, getOrigin(&op) + 1);
  findLossOps();
  messages.assign(count + 1, 0.0);
  bytes.assign(count + 1, 0.0);
}

void StageMeasurer::findLossOps() {
  Block &body = main.getBody().front();
  for (auto [index, value] :
       llvm::enumerate(body.getTerminator()->getOperands()))
    if (getResultRole(main, index) == Role::Loss && value.getDefiningOp())
      lossOps.insert(value.getDefiningOp());
  for (Operation &op : llvm::reverse(body.without_terminator()))
    if (lossOps.contains(&op))
      for (Value operand : op.getOperands())
        if (Operation *producer = operand.getDefiningOp())
          lossOps.insert(producer);
}

FailureOr<double>
StageMeasurer::secondsOf(const ShardingSpread::Node &node) const {
  return work.secondsOf(*node.op,
                        layouts.shareOf(*node.rule, layouts.factorsOf(node)),
                        [&](Value value) { return layouts.shareOf(value); });
}

double StageMeasurer::bytesOf(Value value) const {
  return layouts.shareOf(value) * double(getTensorBytes(value.getType())) /
         double(microBatches);
}

/// About what pp-choose-residuals will keep of a forward op, which it decides
/// when all is lowered: everything that backward reads, or products alone, of
/// which the rest is computed again, or no more than stages receive, as it may
/// if it has to.
bool StageMeasurer::isKept(Operation &op) const {
  if (remat == "full" || remat == "auto")
    return false;
  if (remat != "none")
    return isContraction(&op);
  return llvm::any_of(op.getUsers(),
                      [](Operation *user) { return !isForward(user); });
}

/// The results of a forward op cross the boundaries before its next op, and all
/// that follow up to their last user.
void StageMeasurer::addCrossing(Operation &op, int64_t origin) {
  for (Value result : op.getResults()) {
    int64_t last = origin;
    for (Operation *user : result.getUsers())
      if (getOrigin(user) >= 0 && isForward(user))
        last = std::max(last, getOrigin(user));
    if (last == origin)
      continue;
    const double size = bytesOf(result);
    messages[origin + 1] += 1;
    bytes[origin + 1] += size;
    if (last + 1 < int64_t(bytes.size())) {
      messages[last + 1] -= 1;
      bytes[last + 1] -= size;
    }
  }
}

FailureOr<StageCosts> StageMeasurer::measure() {
  const size_t count = messages.size() - 1;
  std::vector<double> forward(count), backward(count), weight(count),
      residualBytes(count), weightBytes(count);
  std::vector<bool> isWork(count);
  for (const ShardingSpread::Node &node : layouts.getNodes()) {
    Operation &op = *node.op;
    const int64_t origin = getOrigin(&op);
    if (origin < 0)
      continue;
    FailureOr<double> seconds = secondsOf(node);
    if (failed(seconds))
      return failure();
    (isForward(&op) ? forward : backward)[origin] += *seconds;
    if (getKind(&op) == Kind::WeightGradient) {
      weight[origin] += *seconds;
      if (isContraction(&op))
        for (Value operand : op.getOperands())
          if (work.isOfBatch(operand))
            weightBytes[origin] += bytesOf(operand);
    }
    // Only values that depend on an input cross: parameters live where they are
    // used and constants are cloned.
    if (!isForward(&op) || !work.isOfBatch(op.getResult(0)))
      continue;
    // A scalar belongs to all examples together, and adding scalars is no
    // stage's work. Neither are layouts, nor ops that the loss does not need: a
    // new state or a metric may be computed once a step, and belongs to no
    // stage.
    if (lossOps.contains(&op) && !isa<NameOp, ShardingConstraintOp>(op) &&
        cast<RankedTensorType>(op.getResult(0).getType()).getRank() > 0)
      isWork[origin] = true;
    addCrossing(op, origin);
    if (isKept(op))
      residualBytes[origin] += bytesOf(op.getResult(0));
  }

  StageCosts costs;
  double crossingMessages = 0, crossingBytes = 0;
  for (size_t i = 0; i < count; ++i) {
    costs.forward.push_back(costs.forward.back() + forward[i]);
    costs.backward.push_back(costs.backward.back() + backward[i]);
    costs.weight.push_back(costs.weight.back() + weight[i]);
    costs.residualBytes.push_back(costs.residualBytes.back() +
                                  residualBytes[i]);
    costs.weightBytes.push_back(costs.weightBytes.back() + weightBytes[i]);
    costs.work.push_back(costs.work.back() + isWork[i]);
    crossingMessages += messages[i + 1];
    crossingBytes += bytes[i + 1];
    // Where all messages have ended, rounding may leave less than nothing.
    costs.crossing.push_back(
        std::max(0.0, link.messageSeconds(crossingMessages, crossingBytes)));
    costs.crossingBytes.push_back(std::max(0.0, crossingBytes));
  }
  return costs;
}

} // namespace

FailureOr<StageCosts> pp::measureStages(func::FuncOp main,
                                        const StageCutProblem &problem) {
  FailureOr<PlanAttr> plan = withSeeds(main, problem.plan);
  if (failed(plan))
    return failure();
  FailureOr<std::unique_ptr<SeedLayouts>> layouts =
      SeedLayouts::find(main, *plan);
  if (failed(layouts))
    return failure();
  return StageMeasurer(main, problem, **layouts).measure();
}
