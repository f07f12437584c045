//===- RandomOrders.h - random valid schedules ------------------*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0
//
//===----------------------------------------------------------------------===//
#ifndef PP_TEST_RANDOM_RANDOMORDERS_H
#define PP_TEST_RANDOM_RANDOMORDERS_H

#include "pp/Schedule/Schedule.h"
#include <random>

namespace pp::testing {

/// Any order in which each action comes behind those that it needs. Stages lie
/// anywhere, but on each position at least one; some have their weights'
/// gradients apart.
schedule::Schedule drawOrder(unsigned positions, unsigned stages,
                             unsigned microBatches, std::mt19937 &random);

} // namespace pp::testing

#endif // PP_TEST_RANDOM_RANDOMORDERS_H
