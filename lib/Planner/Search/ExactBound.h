//===- ExactBound.h - what no continuation can beat -------------*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0
//
// The bound of the branch and bound, cheap enough to be found for each of its
// partial orders.
//
//===----------------------------------------------------------------------===//
#ifndef PP_LIB_PLANNER_SEARCH_EXACTBOUND_H
#define PP_LIB_PLANNER_SEARCH_EXACTBOUND_H

#include "OrderState.h"

namespace pp {

struct PartialOrder {
  OrderState state;
  std::vector<Mode> modes; ///< by stage
  /// By step: whether it waits for another action of its position.
  uint64_t waits = 0;
};

/// Seconds that every order that begins as `partial` takes at least. `toEnd` is
/// secondsToEnd() of the model.
double leastSeconds(const OrderModel &model, const std::vector<double> &toEnd,
                    const PartialOrder &partial);

} // namespace pp

#endif // PP_LIB_PLANNER_SEARCH_EXACTBOUND_H
