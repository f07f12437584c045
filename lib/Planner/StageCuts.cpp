//===- StageCuts.cpp - cuts a model into stages ---------------------------===//
//
// SPDX-License-Identifier: Apache-2.0
//
// Measures the module, and searches the cuts in these numbers.
//
//===----------------------------------------------------------------------===//
#include "pp/Planner/StageCuts.h"
#include "pp/IR/Model.h"
#include "pp/IR/PlanKeys.h"
#include "pp/Schedule/Algorithms.h"

using namespace mlir;
using namespace pp;

schedule::Schedule pp::findOrder(func::FuncOp main, PlanAttr plan) {
  const MeshAttr mesh = plan.getMesh();
  auto sizeOf = [](MeshAxisAttr axis) { return axis ? axis.getSize() : 1; };
  schedule::ScheduleProblem problem;
  problem.ranks = unsigned(sizeOf(mesh.getStageAxis()));
  problem.microBatches = unsigned(sizeOf(mesh.getTimeAxis()));
  problem.chunks = unsigned(plan.getInt(PlanKey::Chunks));
  // A pipeline is in its stride after a few rounds.
  problem.microBatches = std::min(problem.microBatches, 4 * problem.ranks);
  std::string error;
  if (auto order = schedule::generate(plan.getSchedule().str(), problem, error))
    return *order;
  schedule::Schedule order;
  if (auto given = main->getAttrOfType<ScheduleAttr>(attrs::kSchedule)) {
    order.name = given.getName().str();
    order.stages = unsigned(given.getPositions().size());
    order.microBatches = unsigned(sizeOf(mesh.getTimeAxis()));
    order.ranks = given.getActions();
  }
  return order;
}

FailureOr<std::vector<int64_t>>
pp::chooseStageCuts(func::FuncOp main, const StageCutProblem &problem) {
  if (problem.order.stages < 2)
    return std::vector<int64_t>();
  FailureOr<StageCosts> costs = measureStages(main, problem);
  if (failed(costs))
    return failure();
  std::string error;
  auto cuts =
      findStageCuts(*costs, problem.order, problem.microBatches(), error);
  if (!cuts)
    return main.emitError(error);
  return *cuts;
}
