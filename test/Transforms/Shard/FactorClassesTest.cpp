//===- FactorClassesTest.cpp - dimensions that share a factor -------------===//
//
// SPDX-License-Identifier: Apache-2.0
//
// Which dimensions must be padded alike, on the smallest programs.
//
//===----------------------------------------------------------------------===//
#include "pp/Analysis/FactorClasses.h"
#include "mlir/Parser/Parser.h"
#include "pp/IR/Aspects.h"
#include "pp/IR/Model.h"
#include <gtest/gtest.h>

using namespace mlir;
using namespace pp;

namespace {

class FactorClassesTest : public ::testing::Test {
protected:
  FactorClassesTest() {
    DialectRegistry registry;
    registry.insert<PPDialect, func::FuncDialect>();
    registerShardingModels(registry);
    context.appendDialectRegistry(registry);
    context.loadAllAvailableDialects();
  }

  /// The classes of a function's values, arguments first.
  void parse(StringRef source) {
    module = parseSourceString<ModuleOp>(source, &context);
    ASSERT_TRUE(module);
    main = *module->getOps<func::FuncOp>().begin();
    for (BlockArgument argument : main.getArguments())
      classes.addValue(argument);
    for (Operation &op : main.getBody().front().without_terminator())
      classes.addOp(&op, cast<ShardingOpInterface>(op).getShardingRule());
  }

  MLIRContext context;
  OwningOpRef<ModuleOp> module;
  func::FuncOp main;
  FactorClasses classes;
};

/// Both the older and the younger of two united dimensions may be split.
TEST_F(FactorClassesTest, AReshapeSplitsWhatIsUnitedWithIt) {
  parse(R"(
    func.func @main(%older: tensor<6xf32>, %parts: tensor<2x3xf32>,
                    %younger: tensor<6xf32>) -> tensor<6xf32> {
      %whole = pp.reshape %parts : tensor<2x3xf32> -> tensor<6xf32>
      %sum = pp.add %older, %whole : tensor<6xf32>
      %all = pp.add %sum, %younger : tensor<6xf32>
      return %all : tensor<6xf32>
    })");
  const Value parts = main.getArgument(1);
  SmallVector<FactorClasses::Class, 2> expected = classes.classesOf(parts, 0);
  expected.append(classes.classesOf(parts, 1));
  ASSERT_EQ(expected.size(), 2u);
  EXPECT_EQ(classes.size(expected[0]), 2);
  EXPECT_EQ(classes.size(expected[1]), 3);
  for (unsigned argument : {0, 2})
    EXPECT_EQ(classes.classesOf(main.getArgument(argument), 0), expected);
}

TEST_F(FactorClassesTest, FactorsThatDoNotDivideStayApart) {
  parse(R"(
    func.func @main(%a: tensor<2x3xf32>, %b: tensor<3x2xf32>) -> tensor<6xf32> {
      %c = pp.reshape %a : tensor<2x3xf32> -> tensor<6xf32>
      %d = pp.reshape %b : tensor<3x2xf32> -> tensor<6xf32>
      %e = pp.add %c, %d : tensor<6xf32>
      return %e : tensor<6xf32>
    })");
  EXPECT_NE(classes.classesOf(main.getArgument(0), 0),
            classes.classesOf(main.getArgument(1), 0));
}

} // namespace
