//===- AllOrders.h - judges an order against all orders ---------*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0
//
// Shares no code with the search that it judges: it has times and memory of its
// own. Times are whole numbers, so nothing is rounded.
//
//===----------------------------------------------------------------------===//
#ifndef PP_TEST_PLANNER_SEARCH_ALLORDERS_H
#define PP_TEST_PLANNER_SEARCH_ALLORDERS_H

#include "pp/Planner/ScheduleSearch.h"

namespace pp {

/// Whether some order of a placement keeps the limits and takes less than
/// `seconds`. Looks at all, so a step must be small.
bool hasShorterOrder(const ScheduleSearchProblem &problem,
                     const Placement &placement, int64_t seconds);

} // namespace pp

#endif // PP_TEST_PLANNER_SEARCH_ALLORDERS_H
