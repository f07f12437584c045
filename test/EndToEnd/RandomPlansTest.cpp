//===- RandomPlansTest.cpp - random programs under random plans -----------===//
//
// SPDX-License-Identifier: Apache-2.0
//
// Draws a training step and a plan, takes them through every pass to machine
// code, runs a step or two on all ranks, and compares loss, metrics, gradients,
// updated parameters and states in f64 with the unpartitioned step in the
// reference interpreter.
//
//===----------------------------------------------------------------------===//
#include "../Random/RandomProgram.h"
#include "mlir/IR/Diagnostics.h"
#include "mlir/IR/MLIRContext.h"
#include "mlir/Pass/PassManager.h"
#include "pp/IR/Aspects.h"
#include "pp/IR/Kernel.h"
#include "pp/IR/Model.h"
#include "pp/Reference/Interpreter.h"
#include "pp/Target/Artifact.h"
#include "pp/Target/KernelCompiler.h"
#include "pp/Transforms/Pipelines.h"
#include "pprt/Session.h"
#include <cmath>
#include <gtest/gtest.h>
#include <map>
#include <random>

using namespace mlir;
using namespace pp;
using namespace pp::testing;

namespace {

/// Tensors by role and name.
using Tensors = std::map<std::string, std::vector<double>>;

/// The error as `pp-run --verify` defines it.
double distance(const std::vector<double> &a, const std::vector<double> &b) {
  if (a.size() != b.size())
    return INFINITY;
  double difference = 0, size = 0;
  for (size_t i = 0; i < a.size(); ++i) {
    difference += (a[i] - b[i]) * (a[i] - b[i]);
    size += b[i] * b[i];
  }
  return std::sqrt(difference) / std::max(std::sqrt(size), 1e-6);
}

class RandomPlans : public ::testing::Test {
protected:
  RandomPlans() {
    DialectRegistry registry;
    registry.insert<PPDialect, func::FuncDialect>();
    registerCostModels(registry);
    registerGradientModels(registry);
    registerShardingModels(registry);
    registerLinalgModels(registry);
    context.appendDialectRegistry(registry);
    context.loadAllAvailableDialects();
  }

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

  /// Steps in the interpreter: loss, metrics and gradients of the last, new
  /// parameters and states.
  Tensors interpret(func::FuncOp main,
                    const std::vector<reference::HostTensor> &inputs) {
    std::vector<reference::HostTensor> all(inputs);
    for (size_t i = all.size(); i < main.getNumArguments(); ++i)
      all.emplace_back(cast<RankedTensorType>(main.getArgumentTypes()[i]));
    Tensors tensors;
    for (int step = 0; step < numSteps; ++step) {
      auto results = reference::evaluate(main, all);
      EXPECT_TRUE(succeeded(results));
      for (auto [index, tensor] : llvm::enumerate(*results)) {
        Role role = *getResultRole(main, index);
        StringRef name = getResultName(main, index);
        tensors[stringifyRole(role).str() + " " + name.str()] = tensor.values;
        if (role == Role::Param || role == Role::State)
          all[findArg(main, name)] = tensor;
      }
    }
    return tensors;
  }

  /// The same on all ranks. `names` and `inputs` are the model's arguments.
  void execute(ModuleOp module, const std::vector<std::string> &names,
               const std::vector<reference::HostTensor> &inputs,
               Tensors &tensors) {
    auto artifact = buildArtifact(module);
    ASSERT_TRUE(succeeded(artifact));
    SmallVector<func::FuncOp> loops;
    for (auto function : module.getOps<func::FuncOp>())
      if (getKernelKind(function) == KernelKind::Loops)
        loops.push_back(function);
    auto kernels = CompiledKernels::compile(loops);
    ASSERT_TRUE(succeeded(kernels) && succeeded(kernels->load()));
    pprt::SessionOptions options;
    options.resolver = [&](const std::string &symbol) {
      return reinterpret_cast<void *>(kernels->lookup(symbol));
    };
    auto created = pprt::Session::create(
        std::shared_ptr<const pprt::ppx::ArtifactT>(std::move(*artifact)),
        options);
    ASSERT_TRUE(created) << created.status().message();
    pprt::Session &session = **created;
    session.initialize(/*seed=*/0); // states are zero
    std::vector<std::vector<char>> batch;
    for (auto [name, input] : llvm::zip_equal(names, inputs)) {
      uint32_t index = *session.findArgument(name);
      std::vector<char> &bytes =
          batch.emplace_back(session.argumentBytes(index));
      for (auto [i, value] : llvm::enumerate(input.values)) {
        if (input.elementType().isF64())
          reinterpret_cast<double *>(bytes.data())[i] = value;
        else
          reinterpret_cast<int32_t *>(bytes.data())[i] = value;
      }
      pprt::ppx::Role role = session.artifact().arguments[index]->role;
      bool isHeld =
          role == pprt::ppx::Role_param || role == pprt::ppx::Role_state;
      pprt::Status status =
          isHeld ? session.setArgument(index, bytes.data(), bytes.size())
                 : session.setInput(index, bytes.data(), bytes.size());
      ASSERT_TRUE(status.ok()) << status.message();
    }
    ASSERT_TRUE(session.begin().ok());
    for (int step = 0; step < numSteps; ++step)
      if (pprt::Status status = session.step(); !status.ok())
        FAIL() << status.message();
    for (auto [i, output] : llvm::enumerate(session.artifact().outputs)) {
      const auto *values = static_cast<const double *>(session.output(i));
      std::string role = output->role == pprt::ppx::OutputRole_loss ? "loss "
                         : output->role == pprt::ppx::OutputRole_metric
                             ? "metric "
                             : "gradient ";
      tensors[role + output->name].assign(
          values, values + session.outputBytes(i) / sizeof(double));
    }
    for (auto [i, argument] : llvm::enumerate(session.artifact().arguments)) {
      bool isParam = argument->role == pprt::ppx::Role_param;
      // A step count is no f64; what it does is seen in parameters.
      if ((!isParam && argument->role != pprt::ppx::Role_state) ||
          argument->element != pprt::ppx::ElementType_f64)
        continue;
      std::vector<double> &values =
          tensors[(isParam ? "param " : "state ") + argument->name];
      values.resize(session.argumentBytes(i) / sizeof(double));
      ASSERT_TRUE(
          session.getArgument(i, values.data(), values.size() * sizeof(double))
              .ok());
    }
  }

  void check(unsigned seed, bool hasStates) {
    std::mt19937 random(seed);
    RandomProgramOptions options;
    options.batch = 12 + random() % 3;
    options.numOps = 8 + random() % 8;
    options.maxMagnitude = 100;
    options.maxElements = 2000;
    options.hasStates = hasStates;
    numSteps = hasStates ? 2 : 1;
    OwningOpRef<ModuleOp> module = makeRandomProgram(context, seed, options);
    auto model = module->lookupSymbol<func::FuncOp>("main");
    std::string plan = drawPlan(random), message;
    SCOPED_TRACE("seed " + std::to_string(seed) + ": " + plan);
    auto inputs = makeRandomInputs(model, seed);
    std::vector<std::string> names;
    for (unsigned i = 0; i < model.getNumArguments(); ++i)
      names.push_back(getArgName(model, i).str());

    auto graph = transform(*module, plan + " stop-after=graph", message);
    ASSERT_TRUE(graph) << message;
    Tensors expected =
        interpret(graph->lookupSymbol<func::FuncOp>("main"), inputs);
    auto program = transform(*module, plan, message);
    // What tensor parallelism finds nothing to split in, it refuses.
    if (size_t tp = plan.find("tp=2");
        !program && tp != std::string::npos &&
        message.find("none over \"tp\"") != std::string::npos)
      program = transform(*module, plan.replace(tp, 4, "tp=1"), message);
    ASSERT_TRUE(program) << message;
    Tensors actual;
    execute(*program, names, inputs, actual);
    for (const auto &[name, values] : expected)
      if (name != "state optimizer.step")
        EXPECT_LE(distance(actual[name], values), 1e-10) << name;
  }

  MLIRContext context;
  /// Two, for states to be read again. Programs without states do one: a second
  /// may meet a kink on either side, by rounding.
  int numSteps = 1;
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
