//===- PartitionTest.cpp - random programs, partitioned and simulated -----===//
//
// SPDX-License-Identifier: Apache-2.0
//
// Random programs with random shardings over random meshes are propagated,
// padded and partitioned, run on all devices by the reference interpreter, and
// compared with the program they came from, in f64.
//
//===----------------------------------------------------------------------===//
#include "../../Random/RandomProgram.h"
#include "RandomShardings.h"
#include "mlir/IR/Verifier.h"
#include "mlir/Pass/PassManager.h"
#include "pp/IR/Aspects.h"
#include "pp/IR/Model.h"
#include "pp/Reference/Spmd.h"
#include "pp/Transforms/Passes.h"
#include <cmath>
#include <gtest/gtest.h>

using namespace mlir;
using namespace pp;
using namespace pp::testing;

namespace {

std::string toText(ModuleOp module) {
  std::string text;
  llvm::raw_string_ostream os(text);
  module.print(os);
  return text;
}

/// Largest difference relative to the tensor's largest element.
double distance(const reference::HostTensor &a,
                const reference::HostTensor &b) {
  double largest = 1e-30, worst = 0;
  for (double value : b.values)
    largest = std::max(largest, std::abs(value));
  for (auto [x, y] : llvm::zip_equal(a.values, b.values)) {
    if (!(std::abs(x - y) <= worst * largest) &&
        !(std::isnan(x) && std::isnan(y)))
      worst = std::abs(x - y) / largest;
    if (std::isnan(x) != std::isnan(y))
      return INFINITY;
  }
  return worst;
}

class Partition : public ::testing::TestWithParam<int> {
protected:
  Partition() {
    DialectRegistry registry;
    registry.insert<PPDialect, func::FuncDialect>();
    registerShardingModels(registry);
    context.appendDialectRegistry(registry);
    context.loadAllAvailableDialects();
    context.disableMultithreading();
  }

  /// A result has the axes asked for, and more only where it is open.
  void checkObeys(ShardingAttr actual, ShardingAttr wanted) {
    for (auto [mine, theirs] :
         llvm::zip_equal(actual.getDims(), wanted.getDims())) {
      EXPECT_TRUE(theirs.getIsOpen()
                      ? mine.getAxes().take_front(theirs.getAxes().size()) ==
                            theirs.getAxes()
                      : mine.getAxes() == theirs.getAxes());
    }
  }

  void check(unsigned seed, int numOps) {
    RandomProgramOptions options;
    options.numOps = numOps;
    options.sizes = {2, 3, 4, 5, 6, 8};
    options.maxElements = 400;
    options.maxMagnitude = 1e4;
    options.numMetrics = 3;
    OwningOpRef<ModuleOp> program = makeRandomProgram(context, seed, options);
    ModuleOp module = *program;
    addRandomShardings(module, seed);
    std::string before = toText(module);
    SCOPED_TRACE("seed " + std::to_string(seed) + "\n" + before);
    ASSERT_TRUE(succeeded(verify(module)));
    auto main = module.lookupSymbol<func::FuncOp>("main");
    auto inputs = makeRandomInputs(main, seed);
    auto expected = reference::evaluate(main, inputs);
    ASSERT_TRUE(succeeded(expected));

    SmallVector<ShardingAttr> wanted;
    for (unsigned index = 0; index < main.getNumResults(); ++index)
      wanted.push_back(
          main.getResultAttrOfType<ShardingAttr>(index, attrs::kSharding));
    PassManager propagate(&context), passes(&context);
    propagate.addPass(createPropagateShardings());
    passes.addPass(createPadDimensions());
    passes.addPass(createPartition());
    passes.addPass(createOptimizeCollectives());
    passes.addPass(createVerifySpmd());
    std::string message;
    ScopedDiagnosticHandler handler(&context, [&](Diagnostic &diagnostic) {
      message += diagnostic.str();
      return success();
    });
    if (failed(propagate.run(module))) {
      // An axis whose every use lost to another.
      ASSERT_NE(message.find("to split some tensor"), std::string::npos)
          << message;
      ++refused;
      return;
    }
    // With priorities, an earlier round may take an axis first.
    bool hasPriorities =
        !module->getAttrOfType<PlanAttr>(attrs::kPlan).getSeeds().empty();
    for (auto [index, sharding] : llvm::enumerate(wanted))
      if (sharding && !hasPriorities)
        checkObeys(
            main.getResultAttrOfType<ShardingAttr>(index, attrs::kSharding),
            sharding);
    if (failed(passes.run(module))) {
      // The one thing a program may be refused for: padding in the middle of an
      // argument, which no file could fill.
      ASSERT_NE(message.find("to be padded at its end"), std::string::npos)
          << message;
      ++refused;
      return;
    }
    SCOPED_TRACE(toText(module));
    auto actual =
        reference::evaluateSpmd(main, lookupMesh(module).getMesh(), inputs);
    ASSERT_TRUE(succeeded(actual));
    ASSERT_EQ(actual->size(), expected->size());
    for (size_t index = 0; index < actual->size(); ++index) {
      ASSERT_EQ((*actual)[index].type, (*expected)[index].type);
      ASSERT_LE(distance((*actual)[index], (*expected)[index]), 1e-10)
          << "result " << index;
    }
  }

  MLIRContext context;
  int refused = 0;
};

TEST_P(Partition, ComputesWhatTheProgramComputes) {
  for (unsigned seed = 0; seed < 100; ++seed) {
    check(1000 * GetParam() + seed, 2 + GetParam() * 3);
    if (HasFatalFailure())
      return;
  }
  EXPECT_LT(refused, 20);
}

INSTANTIATE_TEST_SUITE_P(Sizes, Partition, ::testing::Range(0, 6));

} // namespace
