//===- RandomPlansTest.cpp - random programs under random plans -----------===//
//
// SPDX-License-Identifier: Apache-2.0
//
// Draws a training step and a plan, takes them through every pass to machine
// code, runs two steps on all ranks, for states to be read again, and compares
// loss, metrics, gradients, updated parameters and states in f64 with the
// unpartitioned step in the reference interpreter. One step in bf16 is compared
// with the program for one device, too.
//
//===----------------------------------------------------------------------===//
#include "../Random/RandomProgram.h"
#include "../Random/TrainingSteps.h"
#include "mlir/IR/Diagnostics.h"
#include "mlir/IR/MLIRContext.h"
#include "mlir/Parser/Parser.h"
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
    std::string dp = oneOf({"1", "2", "2 zero=1", "2 zero=2", "2 zero=3", "3",
                            "3 zero=1", "3 zero=2", "3 zero=3"});
    return "dp=" + dp + " tp=" + oneOf({"1", "2"}) +
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

  /// What tensor parallelism finds nothing to split in, it refuses: `plan`
  /// does without it then.
  OwningOpRef<ModuleOp> compile(ModuleOp module, std::string &plan) {
    std::string message;
    auto program = transform(module, plan, message);
    if (size_t tp = plan.find("tp=2");
        !program && tp != std::string::npos &&
        message.find("none over \"tp\"") != std::string::npos)
      program = transform(module, plan.replace(tp, 4, "tp=1"), message);
    EXPECT_TRUE(program) << message;
    return program;
  }

  static RandomProgramOptions drawSizes(std::mt19937 &random) {
    RandomProgramOptions options;
    options.batch = 12 + random() % 3;
    options.numOps = 8 + random() % 8;
    options.maxElements = 2000;
    return options;
  }

  static Arguments drawArguments(ModuleOp module, unsigned seed) {
    auto model = module.lookupSymbol<func::FuncOp>("main");
    Arguments arguments;
    for (auto [i, input] : llvm::enumerate(makeRandomInputs(model, seed))) {
      input.roundToElement();
      arguments[getArgName(model, i).str()] = input;
    }
    return arguments;
  }

  void check(unsigned seed, bool hasStates) {
    std::mt19937 random(seed);
    RandomProgramOptions options = drawSizes(random);
    options.maxMagnitude = 100;
    options.hasStates = hasStates;
    OwningOpRef<ModuleOp> module = makeRandomProgram(context, seed, options);
    std::string plan = drawPlan(random), message;
    SCOPED_TRACE("seed " + std::to_string(seed) + ": " + plan);
    auto graph = transform(*module, plan + " stop-after=graph", message);
    ASSERT_TRUE(graph) << message;
    auto program = compile(*module, plan);
    ASSERT_TRUE(program);
    run::Comparison comparison({1e-10, 1e-10, 1e-10}, /*learningRate=*/0);
    pprt::Status status = takeSteps(
        *graph, *program, drawArguments(*module, seed), /*count=*/2,
        [&](const run::StepValues &ours, const run::StepValues &judged) {
          comparison.add("loss", ours, ours, judged);
        });
    ASSERT_TRUE(status.ok()) << status.message();
    for (const run::Worst *worst :
         {&comparison.loss, &comparison.metrics, &comparison.gradients,
          &comparison.parameters, &comparison.states})
      EXPECT_LE(worst->error, 1e-10) << worst->tensor;
  }

  /// In bf16, as far from f64 as the program for one device is.
  void checkLowPrecision(unsigned seed) {
    std::mt19937 random(seed);
    RandomProgramOptions options = drawSizes(random);
    options.isSmooth = true;
    options.hasStates = seed % 2;
    std::string text;
    llvm::raw_string_ostream(text)
        << *makeRandomProgram(context, seed, options);
    for (size_t at = 0; (at = text.find("f64", at)) != std::string::npos;)
      text.replace(at, 3, "bf16");
    auto module = parseSourceString<ModuleOp>(text, &context);
    ASSERT_TRUE(module) << text;
    std::string plan = drawPlan(random), message;
    SCOPED_TRACE("seed " + std::to_string(seed) + ": " + plan);
    std::string forOneDevice = plan.substr(plan.find("optimizer="));
    auto graph = transform(*module, plan + " stop-after=graph", message);
    ASSERT_TRUE(graph) << message;
    const Arguments arguments = drawArguments(*module, seed);
    run::StepValues judged;
    auto takeOne = [&](std::string &goal, run::StepValues &told) {
      auto program = compile(*module, goal);
      ASSERT_TRUE(program);
      pprt::Status status = takeSteps(
          *graph, *program, arguments, /*count=*/1,
          [&](const run::StepValues &ours, const run::StepValues &wanted) {
            told = ours;
            judged = wanted;
          });
      ASSERT_TRUE(status.ok()) << status.message();
    };
    run::StepValues ours, yardstick;
    takeOne(plan, ours);
    takeOne(forOneDevice, yardstick);
    const bool isAdam = plan.find("adam") != std::string::npos;
    run::LowPrecisionComparison comparison(
        /*roundoff=*/0x1p-8, isAdam ? std::optional(0.1) : std::nullopt);
    comparison.add(ours, ours, yardstick, judged);
    comparison.finish();
    // Small tensors err by chance, and more so than a model's large ones.
    for (const run::Bounded *bounded :
         {&comparison.loss, &comparison.metrics, &comparison.gradients,
          &comparison.parameters, &comparison.states})
      EXPECT_LE(bounded->error, 4 * bounded->bound) << bounded->tensor;
  }

  MLIRContext context;
};

TEST_F(RandomPlans, ComputeWhatTheModelComputes) {
  for (int seed = 0; seed < 150 && !HasFatalFailure(); ++seed)
    check(seed, /*hasStates=*/false);
}

TEST_F(RandomPlans, RoundNoMoreThanOneDeviceDoes) {
  for (int seed = 0; seed < 10 && !HasFatalFailure(); ++seed)
    checkLowPrecision(seed);
}

TEST_F(RandomPlans, KeepStatesAsTheModelDoes) {
  for (int seed = 0; seed < 50 && !HasFatalFailure(); ++seed)
    check(seed, /*hasStates=*/true);
}

} // namespace
