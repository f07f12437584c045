//===- OrderState.h - a step that has run in part ---------------*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0
//
// The times and the memory of an order that grows at its end, with the rules of
// schedule::simulate: actions of a position run one at a time as early as they
// can, messages of a directed edge one after another. Positions may grow in any
// order that dependencies allow.
//
// Memory depends on the lists alone, not on times. A position must never hold
// so much that the oldest micro-batch cannot go on: it needs room for its
// stages there that are still to come, then frees everything. Its next one can
// rely on that, and so on. If all positions keep this rule the oldest
// micro-batch can finish everywhere, so nothing waits forever.
//
//===----------------------------------------------------------------------===//
#ifndef PP_LIB_PLANNER_SEARCH_ORDERSTATE_H
#define PP_LIB_PLANNER_SEARCH_ORDERSTATE_H

#include "OrderModel.h"

namespace pp {

class OrderState {
public:
  explicit OrderState(const OrderModel &model);

  /// When the next action of `step` can start; kNever if what it needs has not
  /// been placed, or all micro-batches have run.
  double startOf(Step step) const;
  /// Whether the position has memory for it, and then for what every order
  /// needs to finish. Given which stages are split, whether it has enough for
  /// the order of the rest not to matter.
  bool fits(Step step, bool isSplit,
            const std::vector<char> *splits = nullptr) const;
  /// Expects that it can start. Returns its end.
  double place(Step step, bool isSplit);

  unsigned count(Step step) const { return counts[step]; }
  double freeAt(unsigned position) const { return free[position]; }
  double edgeFreeAt(unsigned edge) const { return edgeFree[edge]; }
  int64_t bytesAt(unsigned position) const { return bytes[position]; }
  /// When what another stage sends for the next action of `step` is there;
  /// kNever if it has not been sent.
  double arrivalOf(Step step) const {
    return arrivals[size_t(step) * model->microBatches + counts[step]];
  }
  double arrivalOf(Step step, unsigned microBatch) const {
    return arrivals[size_t(step) * model->microBatches + microBatch];
  }
  /// The end of all that has been placed.
  double end() const;

private:
  /// Whether the micro-batches of a position can finish one after another once
  /// a forward action of `next` has run.
  bool drains(unsigned position, unsigned next,
              const std::vector<char> *splits) const;

  const OrderModel *model;
  std::vector<unsigned> counts; ///< by step
  std::vector<double> arrivals; ///< by step and micro-batch
  std::vector<double> free;     ///< by position
  std::vector<double> edgeFree; ///< by edge
  std::vector<int64_t> bytes;   ///< by position
};

/// When each action of an order starts, and the whole ends.
struct OrderTimes {
  std::vector<std::vector<double>> starts;
  double end = 0;
};

/// Nothing if positions wait for each other, or one holds more than its limit.
std::optional<OrderTimes> timeOrder(const OrderModel &model,
                                    const Order &order);

} // namespace pp

#endif // PP_LIB_PLANNER_SEARCH_ORDERSTATE_H
