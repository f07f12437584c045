//===- StageCuts.cpp - cuts a model into stages ---------------------------===//
//
// SPDX-License-Identifier: Apache-2.0
//
// Measures the module, and searches the cuts in these numbers.
//
//===----------------------------------------------------------------------===//
#include "pp/Planner/StageCuts.h"
#include "pp/Analysis/ValueNames.h"
#include "pp/IR/Model.h"

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

FailureOr<SmallVector<int64_t>> pp::findNamedCuts(func::FuncOp main,
                                                  StringRef names) {
  SmallVector<int64_t> cuts;
  SmallVector<StringRef> parts;
  const bool areNumbers = names.starts_with("[") && names.ends_with("]");
  (areNumbers ? names.drop_front().drop_back() : names)
      .split(parts, ',', /*MaxSplit=*/-1, /*KeepEmpty=*/false);
  for (StringRef part : parts) {
    if (areNumbers) {
      if (part.trim().getAsInteger(10, cuts.emplace_back()))
        return main.emitError("cuts=\"")
               << names << "\" expects numbers of forward ops, got '"
               << part.trim() << "'";
      continue;
    }
    ValuePatterns pattern(part);
    if (pattern.empty())
      continue;
    auto ops = main.getOps();
    auto first = llvm::find_if(ops, [&](Operation &op) {
      return getOrigin(&op) >= 0 && getKind(&op) == Kind::Forward &&
             pattern.match(&op);
    });
    if (first == ops.end())
      return main.emitError("cuts=\"")
             << part.trim()
             << "\" names no forward op; names are those of ops' locations, "
                "such as h.4, which text has if --mlir-print-debuginfo wrote "
                "it";
    cuts.push_back(getOrigin(&*first));
  }
  return cuts;
}
