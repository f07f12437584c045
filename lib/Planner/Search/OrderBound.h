//===- OrderBound.h - what no order can beat --------------------*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0
//
// Nothing starts before its chain of dependencies has run, and nothing ends
// later than the chain behind it allows; in between a position works on one
// action at a time.
//
//===----------------------------------------------------------------------===//
#ifndef PP_LIB_PLANNER_SEARCH_ORDERBOUND_H
#define PP_LIB_PLANNER_SEARCH_ORDERBOUND_H

#include "OrderModel.h"

namespace pp {

/// Seconds that every order of a placement takes at least.
double leastSeconds(const OrderModel &model);

/// Seconds from the start of one micro-batch's action to the end of the step,
/// by step and without a wait for anything else. Weight steps have none.
std::vector<double> secondsToEnd(const OrderModel &model);

} // namespace pp

#endif // PP_LIB_PLANNER_SEARCH_ORDERBOUND_H
