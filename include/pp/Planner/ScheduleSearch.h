//===- ScheduleSearch.h - searches the best order of actions ----*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0
//
// In: what each stage takes and holds, for each way to lay stages on positions
// that is in question, and how much memory a position has. Out: the order with
// the shortest step that keeps within the memory, and how much shorter another
// could be at most. Knows neither MLIR nor LLVM. Behind the plan's
// `schedule=auto`.
//
//===----------------------------------------------------------------------===//
#ifndef PP_PLANNER_SCHEDULESEARCH_H
#define PP_PLANNER_SCHEDULESEARCH_H

#include "pp/Schedule/Simulate.h"
#include <cstdint>
#include <limits>

namespace pp {

/// What one micro-batch costs a stage.
struct StageLoad {
  /// Seconds of the forward action, of the gradients of inputs, of the
  /// gradients of parameters where they are apart, and of both in one action.
  double forwardSeconds = 0, backwardSeconds = 0, weightSeconds = 0;
  double mergedSeconds = 0;
  /// Seconds of the message to the next stage, and of its gradient to the stage
  /// before. They do not count between stages of one position.
  double sendForwardSeconds = 0, sendBackwardSeconds = 0;
  /// Bytes held from the start of the forward action to the end of the backward
  /// one, and from there to the end of the weight action, if that is apart.
  /// These may be more.
  int64_t residualBytes = 0, weightBytes = 0;
};

/// One way to lay stages on positions.
struct Placement {
  /// By stage; every position has a stage.
  std::vector<unsigned> positionOf;
  std::vector<StageLoad> loads;
};

/// The limit of a position that has memory for everything.
constexpr int64_t kUnlimited = std::numeric_limits<int64_t>::max();

struct ScheduleSearchProblem {
  unsigned positions = 1;
  unsigned microBatches = 1;
  /// At least one. The search picks among them, too.
  std::vector<Placement> placements;
  /// Bytes that a position has for what its micro-batches hold. Empty: no
  /// position is limited.
  std::vector<int64_t> limits;

  /// Whether sizes agree, are within bounds and not negative; if not, sets
  /// `error`.
  bool check(std::string &error) const;
};

/// How much work a search may do, counted and not timed, so that every machine
/// finds the same.
struct SearchEffort {
  /// Partial orders of the exact search, for each placement with at most 128
  /// pairs of stage and micro-batch. 12 pairs take some hundreds, so they are
  /// always searched to the end.
  uint64_t exactNodes = 200000;
  /// Actions that the heuristic search places, for all placements together.
  uint64_t placedActions = 40000000;
};

struct FoundSchedule {
  /// Called "auto". Per stage either every micro-batch has a weight action or
  /// none has.
  schedule::Schedule schedule;
  /// Index of its placement.
  size_t placement = 0;
  /// Of a step, by schedule::simulate.
  double seconds = 0;
  /// No order of any of the placements that keeps the limits takes less.
  double leastSeconds = 0;
  /// What each position holds at most.
  std::vector<int64_t> peakBytes;
  /// Whether `seconds` is proven to be the least, up to rounding.
  bool isOptimal = false;
  /// Partial orders that the exact search looked at, and orders that the
  /// heuristic search did.
  uint64_t nodes = 0, orders = 0;

  /// The share by which the step may be longer than the best.
  double gap() const {
    return leastSeconds > 0 ? seconds / leastSeconds - 1 : 0;
  }
};

/// The shortest order found; it is never longer than a named one with one of
/// the placements that keeps the limits. Deterministic. If nothing keeps the
/// limits, or the problem is none, returns nothing and sets `error`.
std::optional<FoundSchedule>
searchSchedule(const ScheduleSearchProblem &problem, std::string &error,
               const SearchEffort &effort = {});

/// One micro-batch at a time, both gradients in one action: no order of the
/// placement needs less memory. Called "auto".
schedule::Schedule leanestSchedule(const Placement &placement,
                                   unsigned microBatches);

/// The times of a placement, as schedule::simulate takes them. The placement
/// has to outlive them.
schedule::Durations durationsOf(const Placement &placement);

/// The bytes that each position holds at most. Expects a verified schedule of
/// the placement's stages.
std::vector<int64_t> peakBytes(const Placement &placement,
                               const schedule::Schedule &schedule);

} // namespace pp

#endif // PP_PLANNER_SCHEDULESEARCH_H
