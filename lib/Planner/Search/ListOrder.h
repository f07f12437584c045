//===- ListOrder.h - orders by a rule ---------------------------*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0
//
// Builds an order action by action, always where one can end first. Which of
// the actions that compete there is next follows from a rule with a few knobs,
// or from times at which another order would have run them.
//
//===----------------------------------------------------------------------===//
#ifndef PP_LIB_PLANNER_SEARCH_LISTORDER_H
#define PP_LIB_PLANNER_SEARCH_LISTORDER_H

#include "OrderState.h"

namespace pp {

struct ListRule {
  /// By stage.
  std::vector<char> isSplit;
  /// By position: how many micro-batches may be between the forward and the
  /// backward action of its first stage, memory permitting.
  std::vector<unsigned> inFlight;
  /// How long a position may wait for a more urgent action, as a share of the
  /// time that the action at hand takes.
  double patience = 1;
  /// How many weight actions may be due before they go before forward ones.
  unsigned due = ~0u;
  bool isForwardFirst = false;
  /// Among equal kinds, whether the oldest micro-batch goes first or that of
  /// the latest stage.
  bool isOldestFirst = true;
  /// By step and micro-batch: lower goes first. Empty: the rule above.
  std::vector<double> priorities;
};

/// Never fails if every position has memory for one micro-batch at a time with
/// the stages split as the rule says.
std::optional<Order> listOrder(const OrderModel &model, const ListRule &rule);

} // namespace pp

#endif // PP_LIB_PLANNER_SEARCH_LISTORDER_H
