//===- TrainingTest.cpp - partitioned training steps against whole ones ---===//
//
// SPDX-License-Identifier: Apache-2.0
//
// One training step of the example models over every mesh in {mb, dp, tp} that
// fits, uneven ones included: the loss, every updated parameter and state (or
// every gradient) of the partitioned step equal those of the step as it was
// written, in f64.
//
//===----------------------------------------------------------------------===//
#include "mlir/Pass/PassManager.h"
#include "pp/IR/Aspects.h"
#include "pp/IR/Model.h"
#include "pp/Models/Models.h"
#include "pp/Reference/Spmd.h"
#include "pp/Transforms/Passes.h"
#include "pp/Transforms/Shard/MakePlan.h"
#include <cmath>
#include <gtest/gtest.h>
#include <random>

using namespace mlir;
using namespace pp;

namespace {

using Tensors = std::vector<reference::HostTensor>;

/// A batch, and parameters and states around their usual size.
Tensors makeInputs(func::FuncOp main) {
  std::mt19937 random(1);
  std::normal_distribution<double> normal;
  Tensors inputs;
  for (BlockArgument argument : main.getArguments()) {
    unsigned index = argument.getArgNumber();
    reference::HostTensor input(cast<RankedTensorType>(argument.getType()));
    auto bound = main.getArgAttrOfType<IntegerAttr>(index, attrs::kBound);
    bool isState = getArgRole(main, index) == Role::State;
    for (double &value : input.values)
      value = bound     ? random() % bound.getInt()
              : isState ? std::abs(normal(random))
                        : 0.3 * normal(random);
    if (isState && input.elementType().isInteger())
      input.values.assign(input.size(), 3);
    inputs.push_back(std::move(input));
  }
  return inputs;
}

double distance(const reference::HostTensor &a,
                const reference::HostTensor &b) {
  double difference = 0, size = 0;
  for (auto [x, y] : llvm::zip_equal(a.values, b.values)) {
    difference += (x - y) * (x - y);
    size += y * y;
  }
  return std::sqrt(difference / std::max(size, 1e-12));
}

class Training : public ::testing::Test {
protected:
  Training() {
    DialectRegistry registry;
    registry.insert<PPDialect, func::FuncDialect>();
    registerShardingModels(registry);
    registerCostModels(registry);
    registerGradientModels(registry);
    context.appendDialectRegistry(registry);
    context.loadAllAvailableDialects();
    context.disableMultithreading();
  }

  /// Partitions a training step of `model` and compares.
  void check(OwningOpRef<ModuleOp> model, const PlanOptions &options) {
    std::string keys;
    for (const auto &[key, value] : options.getValues())
      keys += getInfo(key).name.str() + "=" + value + " ";
    SCOPED_TRACE(keys);
    ModuleOp module = *model;
    ASSERT_TRUE(succeeded(buildPlan(module, options)));
    PassManager train(&context);
    train.addPass(createDifferentiate());
    if (options.isSet(PlanKey::Optimizer))
      train.addPass(createAddOptimizer());
    ASSERT_TRUE(succeeded(train.run(module)));
    auto main = module.lookupSymbol<func::FuncOp>("main");
    Tensors inputs = makeInputs(main);
    auto expected = reference::evaluate(main, inputs);
    ASSERT_TRUE(succeeded(expected));

    PassManager shard(&context);
    shard.addPass(createCutStages());
    shard.addPass(createAnnotateShardings());
    shard.addPass(createPropagateShardings());
    shard.addPass(createPadDimensions());
    shard.addPass(createPartition());
    shard.addPass(createOptimizeCollectives());
    shard.addPass(createVerifySpmd());
    ASSERT_TRUE(succeeded(shard.run(module)));
    auto actual =
        reference::evaluateSpmd(main, lookupMesh(module).getMesh(), inputs);
    ASSERT_TRUE(succeeded(actual));
    ASSERT_EQ(actual->size(), expected->size());
    for (size_t index = 0; index < actual->size(); ++index)
      ASSERT_LE(distance((*actual)[index], (*expected)[index]), 1e-10)
          << "result " << getResultName(main, index).str();
  }

  /// Every mesh with degrees of `degrees` that a batch is large enough for.
  template <typename Build>
  void checkMeshes(Build build, int64_t batch, ArrayRef<int64_t> degrees,
                   PlanOptions options) {
    for (int64_t microbatches : {1, 2, 3})
      for (int64_t dp : degrees)
        for (int64_t tp : degrees) {
          options.set(PlanKey::Microbatches, microbatches);
          options.set(PlanKey::Dp, dp);
          options.set(PlanKey::Tp, tp);
          if (microbatches * dp > batch)
            continue;
          check(build(), options);
          if (HasFatalFailure())
            return;
        }
  }

  MLIRContext context;
};

GptConfig smallGpt(bool tied) {
  GptConfig config;
  config.layers = 2;
  config.hidden = 8;
  config.heads = 4;
  config.seq = 4;
  config.batch = 10;
  config.vocab = 11;
  config.tied = tied;
  return config;
}

TEST_F(Training, Mlp) {
  MlpConfig config;
  config.layers = 4;
  config.input = 5;
  config.hidden = 7;
  config.classes = 4;
  config.batch = 13;
  PlanOptions options = {{PlanKey::Optimizer, "adamw"}, {PlanKey::Clip, "0.1"}};
  checkMeshes(
      [&] { return buildMlp(context, config, Float64Type::get(&context)); },
      config.batch, {1, 2, 3, 4}, options);
}

TEST_F(Training, GptGradients) {
  checkMeshes(
      [&] {
        return buildGpt(context, smallGpt(true), Float64Type::get(&context));
      },
      smallGpt(true).batch, {1, 2, 3}, {});
}

TEST_F(Training, GptUntiedWithClippedAdam) {
  PlanOptions options = {{PlanKey::Optimizer, "adam"}, {PlanKey::Clip, "0.1"}};
  checkMeshes(
      [&] {
        return buildGpt(context, smallGpt(false), Float64Type::get(&context));
      },
      smallGpt(true).batch, {1, 2, 3}, options);
}

TEST_F(Training, GptWithMomentum) {
  PlanOptions options = {{PlanKey::Optimizer, "momentum"},
                         {PlanKey::Momentum, "0.9"}};
  checkMeshes(
      [&] {
        return buildGpt(context, smallGpt(true), Float64Type::get(&context));
      },
      smallGpt(true).batch, {1, 4}, options);
}

} // namespace
