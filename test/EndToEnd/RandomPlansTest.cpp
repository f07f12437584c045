//===- RandomPlansTest.cpp - random programs under random plans -----------===//
//
// SPDX-License-Identifier: Apache-2.0
//
// Draws a training step and a plan, takes them through every pass to machine
// code, runs two steps on all ranks, for states to be read again, and compares
// loss, metrics, gradients, updated parameters and states in f64 with the
// unpartitioned step in the reference interpreter.
//
//===----------------------------------------------------------------------===//
#include "../Random/RandomProgram.h"
#include "../Random/TrainingSteps.h"
#include "mlir/IR/Diagnostics.h"
#include "mlir/IR/MLIRContext.h"
#include "mlir/Pass/PassManager.h"
#include "pp/IR/Model.h"
#include "pp/Transforms/Pipelines.h"
#include <gtest/gtest.h>
#include <random>

using namespace mlir;
using namespace pp;
using namespace pp::testing;

namespace {

class RandomPlans : public ::testing::Test {
protected:
  RandomPlans() { loadDialects(context); }

  /// A plan for a batch of at least 12.
  std::string drawPlan(std::mt19937 &random) {
    auto oneOf = [&](std::initializer_list<const char *> choices) {
      return std::string(choices.begin()[random() % choices.size()]);
    };
    return "dp=" + oneOf({"1", "2", "3"}) + " tp=" + oneOf({"1", "2"}) +
           " pp=" + oneOf({"1", "2", "3"}) +
           " microbatches=" + oneOf({"1", "2", "3", "4"}) +
           " schedule=" + oneOf({"gpipe", "1f1b"}) + " optimizer=" +
           oneOf({"sgd", "momentum", "adam", "adamw", "sgd clip=0.1"}) +
           " lr=0.1 threads=1";
  }

  /// Runs the pipeline to a level; empty, with `message` set, if it refuses.
  OwningOpRef<ModuleOp> transform(ModuleOp module, const std::string &plan,
                                  std::string &message) {
    PipelineOptions options;
    EXPECT_TRUE(succeeded(parseParallelize(plan, options, message)));
    options.keepGradients = true;
    OwningOpRef<ModuleOp> copy = module.clone();
    PassManager passes(&context);
    buildPipeline(passes, options, std::nullopt);
    ScopedDiagnosticHandler handler(&context, [&](Diagnostic &diagnostic) {
      message += diagnostic.str() + "\n";
      return success();
    });
    if (failed(passes.run(*copy)))
      return {};
    return copy;
  }

  void check(unsigned seed, bool hasStates) {
    std::mt19937 random(seed);
    RandomProgramOptions options;
    options.batch = 12 + random() % 3;
    options.numOps = 8 + random() % 8;
    options.maxMagnitude = 100;
    options.maxElements = 2000;
    options.hasStates = hasStates;
    OwningOpRef<ModuleOp> module = makeRandomProgram(context, seed, options);
    auto model = module->lookupSymbol<func::FuncOp>("main");
    std::string plan = drawPlan(random), message;
    SCOPED_TRACE("seed " + std::to_string(seed) + ": " + plan);
    Arguments arguments;
    for (auto [i, input] : llvm::enumerate(makeRandomInputs(model, seed)))
      arguments[getArgName(model, i).str()] = input;

    auto graph = transform(*module, plan + " stop-after=graph", message);
    ASSERT_TRUE(graph) << message;
    auto program = transform(*module, plan, message);
    // What tensor parallelism finds nothing to split in, it refuses.
    if (size_t tp = plan.find("tp=2");
        !program && tp != std::string::npos &&
        message.find("none over \"tp\"") != std::string::npos)
      program = transform(*module, plan.replace(tp, 4, "tp=1"), message);
    ASSERT_TRUE(program) << message;
    run::Comparison comparison({1e-10, 1e-10, 1e-10}, /*learningRate=*/0);
    pprt::Status status =
        takeSteps(*graph, *program, arguments, /*count=*/2,
                  [&](const auto &ours, const auto &judged) {
                    comparison.add("loss", ours, ours, judged);
                  });
    ASSERT_TRUE(status.ok()) << status.message();
    for (const run::Worst *worst :
         {&comparison.loss, &comparison.metrics, &comparison.gradients,
          &comparison.parameters, &comparison.states})
      EXPECT_LE(worst->error, 1e-10) << worst->tensor;
  }

  MLIRContext context;
};

TEST_F(RandomPlans, ComputeWhatTheModelComputes) {
  for (int seed = 0; seed < 150 && !HasFatalFailure(); ++seed)
    check(seed, /*hasStates=*/false);
}

TEST_F(RandomPlans, KeepStatesAsTheModelDoes) {
  for (int seed = 0; seed < 50 && !HasFatalFailure(); ++seed)
    check(seed, /*hasStates=*/true);
}

} // namespace
