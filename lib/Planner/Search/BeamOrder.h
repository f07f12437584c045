//===- BeamOrder.h - the most promising of all orders -----------*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0
//
// A beam search over all orders that can be the best.
//
//===----------------------------------------------------------------------===//
#ifndef PP_LIB_PLANNER_SEARCH_BEAMORDER_H
#define PP_LIB_PLANNER_SEARCH_BEAMORDER_H

#include "OrderModel.h"

namespace pp {

/// An order of less than `known` seconds, if the best `width` partial orders of
/// each number of actions lead to one.
std::optional<Order> findBeamOrder(const OrderModel &model, double known,
                                   size_t width);

/// What it costs, in placed actions.
uint64_t workOfBeam(const OrderModel &model, size_t width);

} // namespace pp

#endif // PP_LIB_PLANNER_SEARCH_BEAMORDER_H
