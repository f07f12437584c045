//===- StageCuts.cpp - cuts a model into stages ---------------------------===//
//
// SPDX-License-Identifier: Apache-2.0
//
// Measures the module, and searches the cuts in these numbers.
//
//===----------------------------------------------------------------------===//
#include "pp/Planner/StageCuts.h"

using namespace mlir;
using namespace pp;

FailureOr<std::vector<int64_t>>
pp::chooseStageCuts(func::FuncOp main, const StageCutProblem &problem) {
  if (problem.stages == 1)
    return std::vector<int64_t>();
  FailureOr<StageCosts> costs = measureStages(main, problem);
  if (failed(costs))
    return failure();
  std::string error;
  auto cuts =
      findStageCuts(*costs, problem.plan.getSchedule().str(), problem.stages,
                    problem.microBatches(), error, problem.chunks());
  if (!cuts)
    return main.emitError(error);
  return *cuts;
}
