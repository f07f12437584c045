//===- ExactOrder.h - the best order of a small step ------------*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0
//
// Branch and bound over all orders that can be the best.
//
//===----------------------------------------------------------------------===//
#ifndef PP_LIB_PLANNER_SEARCH_EXACTORDER_H
#define PP_LIB_PLANNER_SEARCH_EXACTORDER_H

#include "OrderModel.h"

namespace pp {

struct ExactResult {
  /// Shorter than what was known; nothing if there is none.
  std::optional<Order> order;
  double seconds = 0;
  /// Whether all orders were looked at, or shown to be no better.
  bool isComplete = false;
  uint64_t nodes = 0;
};

/// Looks for an order of less than `known` seconds, until there can be none
/// below `least` or `mostNodes` partial orders were visited.
ExactResult findExactOrder(const OrderModel &model, double known, double least,
                           uint64_t mostNodes);

} // namespace pp

#endif // PP_LIB_PLANNER_SEARCH_EXACTORDER_H
