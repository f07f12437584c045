//===- ListOrderTest.cpp - orders by rules keep memory for their end ------===//
//
// SPDX-License-Identifier: Apache-2.0
//
// Memory for one micro-batch, or little more, at positions with several stages
// that may hold more once they are split: whatever the rule, nothing waits
// forever.
//
//===----------------------------------------------------------------------===//
#include "ListOrder.h"
#include "RandomPipelines.h"
#include <gtest/gtest.h>

using namespace pp;

TEST(ListOrder, NeverWaitsForever) {
  for (unsigned number = 0; number < 10; ++number)
    for (unsigned chunks : {1u, 2u, 3u})
      for (int64_t percent : {100, 115, 150, 210})
        for (unsigned rules = 0; rules < 16; ++rules) {
          const ScheduleSearchProblem problem =
              makeTight(number, chunks, percent, /*countsWeights=*/true);
          const OrderModel model(problem, problem.placements[0]);
          ListRule rule;
          rule.isSplit.assign(model.stages, true);
          rule.knobs.resize(model.positions);
          for (Knobs &knobs : rule.knobs) {
            knobs.isForwardFirst = rules & 1;
            knobs.isOldestFirst = rules & 2;
            knobs.due = rules & 4 ? 1 : ~0u;
            knobs.patience = rules & 8 ? 1 : 0;
          }
          const auto order = listOrder(model, rule);
          ASSERT_TRUE(order) << number << " " << chunks << " " << percent;
          EXPECT_TRUE(timeOrder(model, *order));
        }
}
