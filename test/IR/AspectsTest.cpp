//===- AspectsTest.cpp - no op lacks an answer ----------------------------===//
//
// SPDX-License-Identifier: Apache-2.0
//
// Every graph op has a gradient, a sharding rule and a cost, and either a
// scalar form or a lowering for processors and one for GPUs; ops of the other
// levels have none of them. What is neither listed here nor answers is an op
// that somebody forgot.
//
//===----------------------------------------------------------------------===//
#include "pp/IR/Aspects.h"
#include "mlir/IR/MLIRContext.h"
#include "pp/IR/PP.h"
#include <gtest/gtest.h>
#include <set>

namespace {

const std::set<std::string> laterLevels = {
    // Level 2.
    "mesh", "axis_index", "accumulate", "all_reduce", "all_gather",
    "reduce_scatter", "all_to_all", "permute", "all_slice",
    // Level 3.
    "fragment", "yield", "transfer", "launch",
    // Level 4.
    "program", "slot", "queue", "run", "send", "recv", "collective", "copy",
    "load", "emit", "flag", "gate", "step"};

TEST(Aspects, EveryGraphOpAnswers) {
  mlir::DialectRegistry registry;
  registry.insert<pp::PPDialect>();
  pp::registerForCompilation(registry);
  pp::registerGpuModels(registry);
  mlir::MLIRContext context(registry);
  context.loadAllAvailableDialects();
  for (mlir::RegisteredOperationName name :
       context.getRegisteredOperationsByDialect("pp")) {
    std::string op = name.stripDialect().str();
    bool isGraphOp = laterLevels.count(op) == 0;
    EXPECT_EQ(name.hasInterface<pp::GradientOpInterface>(), isGraphOp) << op;
    EXPECT_EQ(name.hasInterface<pp::ShardingOpInterface>(), isGraphOp) << op;
    EXPECT_EQ(name.hasInterface<pp::CostOpInterface>(), isGraphOp) << op;
    const bool isScalar = name.hasInterface<pp::ScalarOpInterface>();
    EXPECT_GE(isScalar, name.hasTrait<mlir::OpTrait::Elementwise>()) << op;
    EXPECT_EQ(name.hasInterface<pp::LinalgOpInterface>() || isScalar, isGraphOp)
        << op;
    EXPECT_EQ(name.hasInterface<pp::GpuOpInterface>() || isScalar,
              isGraphOp || op == "axis_index")
        << op;
    EXPECT_EQ(name.hasTrait<pp::MovesElements>() +
                  name.hasTrait<pp::ComputesElements>() +
                  name.hasTrait<pp::FindsElements>(),
              isGraphOp)
        << op;
  }
}

} // namespace
