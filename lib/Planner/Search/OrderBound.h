//===- OrderBound.h - what no order can beat --------------------*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0
//
// A bound on all orders, for the gap that a search reports and to end one that
// has nothing left to find.
//
//===----------------------------------------------------------------------===//
#ifndef PP_LIB_PLANNER_SEARCH_ORDERBOUND_H
#define PP_LIB_PLANNER_SEARCH_ORDERBOUND_H

#include "OrderModel.h"

namespace pp {

/// Seconds that every order of a placement takes at least, or `known`, what
/// some order takes, if that is less. Knowing an order helps.
double leastSeconds(const OrderModel &model, double known);

} // namespace pp

#endif // PP_LIB_PLANNER_SEARCH_ORDERBOUND_H
