//===- PartialOrder.h - an order that may still become any ------*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0
//
// What searches that branch over all orders share: how one begins, goes on and
// is complete, and when one is as good as another. Stages are fewer than
// kMostBranchStages.
//
//===----------------------------------------------------------------------===//
#ifndef PP_LIB_PLANNER_SEARCH_PARTIALORDER_H
#define PP_LIB_PLANNER_SEARCH_PARTIALORDER_H

#include "OrderState.h"
#include <string>

namespace pp {

/// Steps have a bit each.
constexpr unsigned kMostBranchStages = 21;

struct PartialOrder {
  OrderState state;
  std::vector<Mode> modes; ///< by stage
  /// By step: whether it waits for another action of its position.
  uint64_t waits = 0;
};

PartialOrder beginOrder(const OrderModel &model);
bool isComplete(const OrderModel &model, const PartialOrder &partial);
/// Runs the next action of a step. A backward action makes its stage's mode
/// `mode`.
void placeNext(const OrderModel &model, PartialOrder &partial, Step step,
               Mode mode);

/// How an order can go on so that none that is better than all others is left
/// out. None: it cannot.
struct Continuations {
  /// Most urgent first.
  std::vector<std::pair<Step, Mode>> actions;
  /// If not 0: or these steps wait until their position has run another.
  uint64_t waits = 0;
};
Continuations findContinuations(const OrderModel &model,
                                const PartialOrder &partial);

/// What has run, and the times on which all that follows depends. Of orders
/// that have run the same, one is as good as another if it is no later and no
/// step waits that does not wait in the other.
std::string actionsOf(const OrderModel &model, const PartialOrder &partial);
std::vector<double> timesOf(const OrderModel &model,
                            const PartialOrder &partial);
bool isNoLater(const std::vector<double> &times,
               const std::vector<double> &others);

} // namespace pp

#endif // PP_LIB_PLANNER_SEARCH_PARTIALORDER_H
