//===- OrderModel.h - a placement in dense numbers --------------*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0
//
// Micro-batches are alike, so each stage may take them in ascending order for
// each kind of action: the i-th of an order can always be made micro-batch i.
// An order is therefore a list of steps for each position; a step is a stage
// and a kind, and which micro-batch it runs follows from how often it came
// before.
//
//===----------------------------------------------------------------------===//
#ifndef PP_LIB_PLANNER_SEARCH_ORDERMODEL_H
#define PP_LIB_PLANNER_SEARCH_ORDERMODEL_H

#include "pp/Planner/ScheduleSearch.h"

namespace pp {

/// A stage and a kind of action: 3 * stage + kind.
using Step = unsigned;
constexpr unsigned kForward = 0, kBackward = 1, kWeight = 2;
constexpr double kNever = std::numeric_limits<double>::infinity();

/// Whether `a` is less than `b` by more than rounding.
inline bool isLess(double a, double b) { return a < b * (1 - 1e-9); }

/// How a stage runs its backward actions; Open: as is best.
enum Mode : char { Open, Split, Merged };

/// A problem with one of its placements. Memory limits are those that matter:
/// kUnlimited where all micro-batches fit at once.
struct OrderModel {
  OrderModel(const ScheduleSearchProblem &problem, const Placement &placement);

  unsigned stages, positions, microBatches;
  std::vector<StageLoad> loads;
  std::vector<unsigned> positionOf;
  std::vector<std::vector<unsigned>> stagesAt; ///< ascending
  /// By step: the directed edge that its result takes; -1 if it stays, or
  /// nobody waits for it.
  std::vector<int> edgeOf;
  unsigned edges = 0;
  std::vector<int64_t> limits;

  bool isFirstAt(unsigned stage) const {
    return stagesAt[positionOf[stage]].front() == stage;
  }
  double sendSeconds(Step step) const {
    const StageLoad &load = loads[step / 3];
    return edgeOf[step] < 0       ? 0
           : step % 3 == kForward ? load.sendForwardSeconds
                                  : load.sendBackwardSeconds;
  }
  double seconds(Step step, bool isSplit) const;
  /// The least seconds of a backward action, and of all gradients.
  double leastBackward(unsigned stage, Mode mode = Open) const;
  double leastGradients(unsigned stage, Mode mode = Open) const;
  /// The form that is never worse, if there is one.
  Mode bestMode(unsigned stage) const;
  /// What apart weight actions need more than the residuals, in bytes.
  int64_t growth(unsigned stage) const {
    return std::max<int64_t>(0, loads[stage].weightBytes -
                                    loads[stage].residualBytes);
  }
};

/// A list of steps for each position. Stages that are not split have no weight
/// steps.
struct Order {
  std::vector<char> isSplit;
  std::vector<std::vector<Step>> steps;
};

schedule::Schedule toSchedule(const OrderModel &model, const Order &order);
/// Expects a verified schedule whose stages lie as the model's do. Stages that
/// split some micro-batches split all.
Order toOrder(const OrderModel &model, schedule::Schedule schedule);

} // namespace pp

#endif // PP_LIB_PLANNER_SEARCH_ORDERMODEL_H
