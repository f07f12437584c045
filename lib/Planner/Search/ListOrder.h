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

/// The rule of one position.
struct Knobs {
  /// How many micro-batches may be between the forward and the backward action
  /// of the position's first stage, memory permitting.
  unsigned inFlight = ~0u;
  /// How many weight actions may be due before they go before forward ones.
  unsigned due = ~0u;
  /// How long it may wait for a more urgent action, as a share of the time that
  /// the action at hand takes.
  double patience = 1;
  bool isForwardFirst = false;
  /// Among equal kinds, whether the oldest micro-batch goes first or that of
  /// the latest stage.
  bool isOldestFirst = true;
};

struct ListRule {
  std::vector<char> isSplit; ///< by stage
  std::vector<Knobs> knobs;  ///< by position
  /// By step and micro-batch: lower goes first. Empty: as the knobs say.
  std::vector<double> priorities;
};

/// Never fails if every position has memory for one micro-batch at a time with
/// the stages split as the rule says.
std::optional<Order> listOrder(const OrderModel &model, const ListRule &rule);

} // namespace pp

#endif // PP_LIB_PLANNER_SEARCH_LISTORDER_H
