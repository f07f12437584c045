//===- ResidualSearchTest.cpp - the choice between what fits --------------===//
//
// SPDX-License-Identifier: Apache-2.0
//
// Peaks are made up, so that every order of them occurs.
//
//===----------------------------------------------------------------------===//
#include "pp/Planner/ResidualSearch.h"
#include "mlir/IR/BuiltinOps.h"
#include "mlir/Parser/Parser.h"
#include "pp/IR/Aspects.h"
#include <gtest/gtest.h>

using namespace mlir;
using namespace pp;

namespace {

/// Two ways only: the sum is kept, or it runs again.
constexpr const char *kModule = R"(
func.func @main(%x: tensor<8x4xf32>) -> tensor<8xf32> {
  %f:2 = pp.fragment forward stage 0 (%x) {
  ^bb0(%a: tensor<8x4xf32>):
    %s = pp.reduce sum %a dims [1] : tensor<8x4xf32> -> tensor<8xf32>
    pp.yield %s, %s : tensor<8xf32>, tensor<8xf32>
  } : (tensor<8x4xf32>) -> (tensor<8xf32>, tensor<8xf32>)
  %b = pp.fragment backward stage 0 (%x, %f#1) {
  ^bb0(%a: tensor<8x4xf32>, %s: tensor<8xf32>):
    pp.yield %s : tensor<8xf32>
  } : (tensor<8x4xf32>, tensor<8xf32>) -> tensor<8xf32>
  return %b : tensor<8xf32>
}
)";

/// For equal work the least memory, found early or late.
TEST(ResidualSearch, TakesTheLowestPeakOfEqualWork) {
  DialectRegistry registry;
  registry.insert<PPDialect, func::FuncDialect>();
  registerCostModels(registry);
  MLIRContext context(registry);
  auto module = parseSourceString<ModuleOp>(kModule, &context);
  ASSERT_TRUE(module);
  auto main = *module->getOps<func::FuncOp>().begin();
  for (unsigned lowest : {1, 2, 3}) {
    ResidualMarks marks{ValuePatterns(""), ValuePatterns("")};
    unsigned calls = 0;
    auto measure =
        [&](ArrayRef<Operation *> kept) -> FailureOr<SmallVector<int64_t>> {
      const int64_t again = calls++ == lowest ? 70 : 90;
      return SmallVector<int64_t>{kept.empty() ? again : 110};
    };
    auto chosen = searchResiduals(main, /*limit=*/100, marks, measure);
    ASSERT_TRUE(succeeded(chosen));
    EXPECT_EQ((*chosen)[0].peak, 70);
    EXPECT_TRUE((*chosen)[0].kept.empty());
    EXPECT_GT((*chosen)[0].work, 0);
    EXPECT_GT(calls, lowest);
  }
}

} // namespace
