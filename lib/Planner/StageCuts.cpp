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
  if (problem.order.stages < 2)
    return std::vector<int64_t>();
  FailureOr<StageCosts> costs = measureStages(main, problem);
  if (failed(costs))
    return failure();
  std::string error;
  // A pipeline is in its stride after a few rounds.
  auto cuts = findStageCuts(
      *costs,
      schedule::takeMicroBatches(problem.order,
                                 4 * unsigned(problem.order.ranks.size())),
      problem.microBatches(), error);
  if (!cuts)
    return main.emitError(error);
  return *cuts;
}
