//===- OrderSearch.h - the best order so far --------------------*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0
//
// Tries orders by rules, the most promising of all, and small changes of the
// best, and counts the work. The search ends when its work is used up or the
// best order reaches the bound.
//
//===----------------------------------------------------------------------===//
#ifndef PP_LIB_PLANNER_SEARCH_ORDERSEARCH_H
#define PP_LIB_PLANNER_SEARCH_ORDERSEARCH_H

#include "ListOrder.h"

namespace pp {

class OrderSearch {
public:
  /// `work` is the number of actions that it may place, about.
  OrderSearch(const OrderModel &model, double least, uint64_t work)
      : model(model), least(least), work(work) {}

  /// Keeps an order that is shorter than the best. Returns its seconds; kNever
  /// if it exceeds memory.
  double consider(const Order &order);

  /// Orders by rules: all of a grid, then changes of the best rule's knobs, one
  /// position at a time.
  void tryRules();
  /// Lists anew what the best order runs, by how late each action might be.
  void replan();
  /// Moves single actions of the best order's critical path.
  void moveActions();
  /// Beam searches, each wider than the one before.
  void branchWidely();

  const Order &best() const { return bestOrder; }
  double seconds() const { return bestSeconds; }
  uint64_t orders() const { return triedOrders; }

private:
  bool isDone() const {
    return placedActions >= work || !isLess(least, bestSeconds);
  }
  /// Whether it makes the best order of all rules.
  bool tryRule(const ListRule &rule);
  void tuneRule();
  ListRule planLatest() const;
  bool moveOnce();

  const OrderModel &model;
  const double least;
  const uint64_t work;
  Order bestOrder;
  OrderTimes bestTimes;
  double bestSeconds = kNever;
  ListRule bestRule;
  double bestRuleSeconds = kNever;
  uint64_t placedActions = 0, triedOrders = 0;
};

} // namespace pp

#endif // PP_LIB_PLANNER_SEARCH_ORDERSEARCH_H
