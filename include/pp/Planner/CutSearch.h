//===- CutSearch.h - searches the best stage cuts ---------------*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0
//
// In: what each op costs, in order, and the name of a schedule. Out: the ops at
// which stages begin, and what each stage then costs. Knows neither MLIR nor
// LLVM; pp/Planner/StageCuts.h measures the costs of a module.
//
//===----------------------------------------------------------------------===//
#ifndef PP_PLANNER_CUTSEARCH_H
#define PP_PLANNER_CUTSEARCH_H

#include "pp/Planner/ScheduleSearch.h"
#include <cstdint>

namespace pp {

/// Costs of stages, by forward op in order: seconds of a micro-batch on one
/// device. Running sums do not fall; all lists have one entry more than there
/// are ops.
struct StageCosts {
  /// Running sums over the forward ops and the ops that derive from them.
  std::vector<double> forward = {0}, backward = {0};
  /// Running sums of the part of `backward` that is gradients of parameters.
  std::vector<double> weight = {0};
  /// Running count of ops that are work: they depend on an input (so they are
  /// not cloned), and the loss depends on them.
  std::vector<int64_t> work = {0};
  /// Time of a message of the values that cross the boundary before an op;
  /// their gradients take as long on the way back.
  std::vector<double> crossing = {0};
  /// Bytes of these values.
  std::vector<double> crossingBytes = {0};
  /// Running sums of bytes, of a micro-batch on one device: what forward ops
  /// keep for the gradients of inputs, and what the gradients of parameters
  /// read.
  std::vector<double> residualBytes = {0}, weightBytes = {0};

  int64_t size() const { return int64_t(work.size()) - 1; }
  double compute(int64_t begin, int64_t end) const {
    return forward[end] - forward[begin] + backward[end] - backward[begin];
  }
  /// Appends an op that is work and keeps nothing; half of its backward seconds
  /// are for parameters. `crossing` is that of the boundary behind it.
  void add(double forwardSeconds, double backwardSeconds,
           double crossingSeconds);
  /// Whether the lists are as above; if not, sets `error`.
  bool check(std::string &error) const;
};

/// What the stages cost that begin at 0 and at `cuts`. A stage also keeps what
/// it receives.
std::vector<StageLoad> loadStages(const StageCosts &costs,
                                  const std::vector<int64_t> &cuts);

/// Seconds of the forward and backward actions of a step whose stages begin at
/// 0 and at `cuts`, in the order of `order`, which has at most as many
/// micro-batches as the step. A rank of the order may have several stages.
double simulateCuts(const StageCosts &costs, const std::vector<int64_t> &cuts,
                    const schedule::Schedule &order, int64_t microBatches);

/// The ops at which stages 1 .. stages-1 begin, chosen so that a simulated step
/// of the schedule is short, and among equals stages are most alike. Every
/// stage gets an op that is work. The choice is deterministic. On failure
/// returns nothing and sets `error`. Each rank runs `chunks` of the stages.
std::optional<std::vector<int64_t>>
findStageCuts(const StageCosts &costs, const std::string &schedule,
              int64_t stages, int64_t microBatches, std::string &error,
              int64_t chunks = 1);
/// The same for the stages of any order, which is that of the step or of fewer
/// of its micro-batches.
std::optional<std::vector<int64_t>>
findStageCuts(const StageCosts &costs, const schedule::Schedule &order,
              int64_t microBatches, std::string &error);

} // namespace pp

#endif // PP_PLANNER_CUTSEARCH_H
