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

#include "HeadsAndTails.h"
#include "PartialOrder.h"

namespace pp {

/// Seconds that every order that begins as `partial` takes at least, and the
/// mean of what each position by itself would take. `times` are those of all
/// orders.
struct PartialBound {
  double seconds = 0, mean = 0;
};
PartialBound boundOf(const OrderModel &model, const HeadsAndTails &times,
                     const PartialOrder &partial);

} // namespace pp

#endif // PP_LIB_PLANNER_SEARCH_EXACTBOUND_H
