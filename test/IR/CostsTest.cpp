//===- CostsTest.cpp - operations and bytes of ops ------------------------===//
//
// SPDX-License-Identifier: Apache-2.0
//
// Against counts made by hand, for an op of every sort.
//
//===----------------------------------------------------------------------===//
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/IR/BuiltinOps.h"
#include "mlir/Parser/Parser.h"
#include "pp/IR/Aspects.h"
#include "pp/IR/PP.h"
#include <gtest/gtest.h>

namespace {

struct Costs : ::testing::Test {
  Costs() {
    mlir::DialectRegistry registry;
    pp::registerCostModels(registry);
    context.appendDialectRegistry(registry);
    context.loadDialect<pp::PPDialect, mlir::func::FuncDialect>();
  }
  mlir::MLIRContext context;
};

TEST_F(Costs, CountsOperationsAndBytes) {
  auto module = mlir::parseSourceString<mlir::ModuleOp>(R"(
    func.func @main(%a: tensor<2x3x4xbf16>, %b: tensor<4x5xbf16>, %t: tensor<100x8xf32>, %i: tensor<6xi32>, %x: tensor<2x6x3xf32>, %w: tensor<3x3x5xf32>) {
      %0 = pp.dot_general %a, %b batch [] x [] contract [2] x [0] : tensor<2x3x4xbf16>, tensor<4x5xbf16> -> tensor<2x3x5xf32>
      %1 = pp.add %b, %b : tensor<4x5xbf16>
      %2 = pp.reduce sum %t dims [0] : tensor<100x8xf32> -> tensor<8xf32>
      %3 = pp.gather %t[%i] batch 0 : tensor<100x8xf32>, tensor<6xi32> -> tensor<6x8xf32>
      %4 = pp.reshape %t : tensor<100x8xf32> -> tensor<800xf32>
      %5 = pp.convolution %x, %w batch [] x [] contract [2] x [1] window [1] x [0] -> [1] strides [1] low [1] high [1] dilation [1] x [1] : tensor<2x6x3xf32>, tensor<3x3x5xf32> -> tensor<2x6x5xf32>
      %6 = pp.reduce_window max %x dims [1] sizes [3] strides [2] dilation [1] low [1] high [0] : tensor<2x6x3xf32> -> tensor<2x3x3xf32>
      %7 = pp.log1p %t : tensor<100x8xf32>
      %8 = pp.sqrt %t : tensor<100x8xf32>
      %9 = pp.stop_gradient %t : tensor<100x8xf32>
      %10 = pp.reverse %t dims [0] : tensor<100x8xf32>
      %11 = pp.slice %t [0, 0], [10, 8], [1, 1] : tensor<100x8xf32> -> tensor<10x8xf32>
      return
    })",
                                                        &context);
  ASSERT_TRUE(module);
  std::vector<std::pair<double, double>> costs;
  module->walk([&](pp::CostOpInterface op) {
    costs.emplace_back(op.getFlops(), op.getBytes());
  });
  std::vector<std::pair<double, double>> expected = {
      {2. * 2 * 3 * 5 * 4, 2. * (24 + 20) + 4. * 30},
      {20, 2. * 60},
      {800, 4. * 808},
      // Only the rows picked are touched.
      {0, 2 * 4. * 48 + 4. * 6},
      {0, 0},
      {2. * 2 * 6 * 5 * 3 * 3, 4. * (36 + 45 + 60)},
      {3. * 18, 4. * (36 + 18)},
      {16. * 800, 8. * 800},
      {16. * 800, 8. * 800},
      {0, 0},
      {0, 8. * 800},
      {0, 2 * 4. * 80}};
  EXPECT_EQ(costs, expected);
}

} // namespace
