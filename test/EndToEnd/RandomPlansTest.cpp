//===- RandomPlansTest.cpp - random programs under random plans -----------===//
//
// SPDX-License-Identifier: Apache-2.0
//
// Draws a training step and a plan, takes them through every pass to machine
// code, runs two steps on all ranks, for states to be read again, and compares
// loss, metrics, gradients, updated parameters and states in f64 with the
// unpartitioned step in the reference interpreter. One step in bf16 or f16 is
// compared with the program for one device, too. What goes wrong is made small.
//
//   RandomPlansTests [--count=200] [--first=0]: programs in f64
//
//===----------------------------------------------------------------------===//
#include "../Random/Flags.h"
#include "../Random/RandomOrders.h"
#include "../Random/RandomProgram.h"
#include "../Random/RandomSeeds.h"
#include "../Random/Shrink.h"
#include "../Random/TrainingSteps.h"
#include "mlir/IR/Diagnostics.h"
#include "mlir/IR/MLIRContext.h"
#include "mlir/Parser/Parser.h"
#include "mlir/Pass/PassManager.h"
#include "pp/IR/Model.h"
#include "pp/Transforms/Pipelines.h"
#include "pp/Transforms/Shard/MakePlan.h"
#include <fstream>
#include <gtest/gtest.h>
#include <random>

using namespace mlir;
using namespace pp;
using namespace pp::testing;

static Flags flags;

namespace {

/// What a plan says by keys; seeds are found by analysis, or drawn.
struct DrawnPlan {
  SmallVector<std::string> keys;
  std::optional<unsigned> seeds;
  /// Whether the step returns gradients, which hold values for its end.
  bool keepsGradients = true;

  std::string spell() const { return llvm::join(keys, " "); }
  bool says(StringRef start) const {
    return llvm::any_of(keys,
                        [&](StringRef key) { return key.starts_with(start); });
  }
  void drop(StringRef start) {
    llvm::erase_if(keys, [&](StringRef key) { return key.starts_with(start); });
  }
  /// Drops the wish that is most often refused; false if there is none.
  bool wishLess() {
    if (seeds) {
      seeds.reset();
      return true;
    }
    for (const char *wish : {"ep=", "sequence", "vocab=", "tp="})
      if (says(wish)) {
        drop(wish);
        return true;
      }
    return false;
  }
};

/// The words that ask for one of all kinds of schedules: a rule's, or a
/// table's, which is written to a file.
static std::vector<std::string>
drawSchedule(unsigned positions, unsigned microBatches, std::mt19937 &random) {
  if (microBatches == 1 && positions == 1)
    return {};
  switch (random() % 8) {
  case 0:
    return {"schedule=gpipe"};
  case 1:
    return {"schedule=1f1b"};
  case 2:
    return {"schedule=zb-h1"};
  case 3:
    return {"schedule=zb-h2"};
  case 4:
    return {"schedule=zb-v"};
  case 5:
    return {"schedule=interleaved-1f1b", "chunks=2"};
  default:
    const std::string file =
        ::testing::TempDir() + "order" + std::to_string(getpid()) + ".csv";
    std::ofstream(file) << schedule::printCsv(
        drawOrder(positions, positions + random() % 3, microBatches, random));
    return {"schedule=" + file};
  }
}

/// True if inputs look something up in a parameter, which vocab=true can split.
static bool hasLookUp(ModuleOp model) {
  auto main = model.lookupSymbol<func::FuncOp>("main");
  auto hasRole = [&](Value value, Role role) {
    auto argument = dyn_cast<BlockArgument>(value);
    return argument && getArgRole(main, argument.getArgNumber()) == role;
  };
  return llvm::any_of(main.getOps<GatherOp>(), [&](GatherOp op) {
    return hasRole(op.getOperand(), Role::Param) &&
           hasRole(op.getIndices(), Role::Input) && op.getBatchDims() == 0;
  });
}

class RandomPlans : public ::testing::Test {
protected:
  RandomPlans() { loadDialects(context); }

  /// A plan for a batch of at least 12, with nothing that `model` has no use
  /// for.
  static DrawnPlan drawPlan(ModuleOp model, std::mt19937 &random) {
    DrawnPlan plan;
    auto below = [&](unsigned limit) { return unsigned(random() % limit); };
    auto chance = [&](unsigned percent) { return below(100) < percent; };
    auto say = [&](StringRef key, StringRef value) {
      plan.keys.push_back((key + "=" + value).str());
    };
    auto sayOneOf = [&](StringRef key, ArrayRef<StringRef> values) {
      say(key, values[below(values.size())]);
    };
    const unsigned dp = 1 + below(3), microbatches = 1 + below(4);
    const bool hasTp = chance(50);
    say("dp", std::to_string(dp));
    say("microbatches", std::to_string(microbatches));
    if (hasTp)
      say("tp", "2");
    const unsigned positions = 1 + below(3);
    say("pp", std::to_string(positions));
    for (const std::string &word :
         drawSchedule(positions, microbatches, random))
      plan.keys.push_back(word);
    sayOneOf("optimizer", {"sgd", "momentum", "adam", "adamw"});
    say("lr", "0.1");
    if (chance(20))
      say("clip", "0.1");
    // tp may be dropped.
    if (dp > 1 && chance(40))
      sayOneOf("bucket", {"0", "64", "1000"});
    if (2 * dp * microbatches <= 12 && chance(40))
      say("ep", "2");
    const unsigned zero = dp > 1 ? below(4) : 0;
    if (zero > 0)
      say("zero", std::to_string(zero));
    if (zero == 3 && chance(50))
      say("zero.gather", "step");
    if (chance(50)) {
      plan.seeds = random();
    } else {
      if (hasTp && chance(50)) {
        say("sequence", "true");
        if (chance(50))
          say("sequence.gather", "keep");
      }
      if (hasTp && hasLookUp(model) && chance(60))
        say("vocab", "true");
    }
    if (dp > 1 && chance(40))
      sayOneOf("ahead", {"0", "2", "9"});
    if (chance(60))
      sayOneOf("remat", {"none", "selective", "full"});
    plan.keepsGradients = chance(50);
    return plan;
  }

  /// Runs the pipeline to a level; empty, with `message` set, if it refuses.
  OwningOpRef<ModuleOp> transform(ModuleOp module, const DrawnPlan &plan,
                                  Level level, std::string &message) {
    PipelineOptions options;
    EXPECT_TRUE(succeeded(parseParallelize(plan.spell(), options, message)));
    options.keepGradients = plan.keepsGradients;
    options.stopAfter = level;
    OwningOpRef<ModuleOp> copy = module.clone();
    ScopedDiagnosticHandler handler(&context, [&](Diagnostic &diagnostic) {
      message += diagnostic.str() + "\n";
      return success();
    });
    if (plan.seeds) {
      options.givesPlan = false;
      if (failed(buildPlan(*copy, options.plan)))
        return {};
      auto made = (*copy)->getAttrOfType<PlanAttr>(attrs::kPlan);
      std::mt19937 random(*plan.seeds);
      made = made.withSeeds(drawSeeds(copy->lookupSymbol<func::FuncOp>("main"),
                                      made.getMesh(), random));
      (*copy)->setAttr(attrs::kPlan, made);
      drawnPlan.clear();
      llvm::raw_string_ostream(drawnPlan) << "\n" << made;
    }
    PassManager passes(&context);
    buildPipeline(passes, options, std::nullopt, plan.seeds.has_value());
    if (failed(passes.run(*copy)))
      return {};
    return copy;
  }

  /// Where a plan asks for what cannot be had, it does with less.
  OwningOpRef<ModuleOp> compile(ModuleOp module, DrawnPlan plan,
                                std::string &message) {
    for (;;) {
      message.clear();
      if (auto program = transform(module, plan, Level::Program, message))
        return program;
      if (findRefusal(message).empty() || !plan.wishLess())
        return {};
    }
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

  /// What `model` does under `plan` that it should not; empty if nothing.
  std::string findFault(ModuleOp model, const DrawnPlan &plan, unsigned seed) {
    std::string message;
    auto graph = transform(model, plan, Level::Graph, message);
    auto program =
        graph ? compile(model, plan, message) : OwningOpRef<ModuleOp>();
    if (!program)
      return "refused: " + message;
    pprt::host::Comparison comparison({1e-10, 1e-10, 1e-10}, /*adam=*/{});
    pprt::Status status =
        takeSteps(*graph, *program, drawArguments(model, seed), /*count=*/2,
                  [&](const pprt::host::StepValues &ours,
                      const pprt::host::StepValues &judged) {
                    comparison.add("loss", ours, ours, judged,
                                   /*learningRate=*/0);
                  });
    if (!status.ok())
      return "does not run: " + std::string(status.message());
    for (const pprt::host::Worst *worst :
         {&comparison.loss, &comparison.metrics, &comparison.gradients,
          &comparison.parameters, &comparison.states})
      if (!(worst->error <= 1e-10))
        return "wrong values: " + worst->tensor + " by " +
               std::to_string(worst->error);
    return "";
  }

  void check(unsigned number) {
    std::mt19937 random(number);
    RandomProgramOptions options = drawSizes(random);
    options.maxMagnitude = 100;
    options.hasStates = number % 4 == 3;
    options.hasLiterals = options.stopsGradients = options.namesDims = true;
    if (number % 3 == 2) {
      options.mixesTypes = true;
      options.sizes = {0, 1, 2, 3, 4, 6};
    }
    OwningOpRef<ModuleOp> model = makeRandomProgram(context, number, options);
    const DrawnPlan plan = drawPlan(*model, random);
    const std::string fault = findFault(*model, plan, number);
    refused += !findRefusal(fault).empty();
    if (fault.empty() || !findRefusal(fault).empty())
      return;
    auto kindOf = [](StringRef text) { return text.take_front(40); };
    auto small = shrink(*model, [&](ModuleOp candidate) {
      return kindOf(findFault(candidate, plan, number)) == kindOf(fault);
    });
    std::string text;
    llvm::raw_string_ostream(text) << *small;
    // Seeds are drawn for each candidate anew: the plan is to be this one's.
    const std::string smallFault = findFault(*small, plan, number);
    FAIL() << "program " << number << ": " << fault << "\n"
           << plan.spell() << (plan.keepsGradients ? "" : ", no gradients")
           << (plan.seeds ? drawnPlan : "") << "\nshrunk to:\n"
           << text << smallFault;
  }

  /// A model of bf16 or f16, or one of f32 that the plan computes in bf16, is
  /// as far from f64 as the program for one device is.
  void checkLowPrecision(unsigned seed, bool isLowered) {
    std::mt19937 random(seed);
    RandomProgramOptions options = drawSizes(random);
    options.isSmooth = options.namesDims = true;
    options.hasConverts = !isLowered; // to f32, which is wider than both
    options.hasStates = seed % 2;
    std::string text;
    llvm::raw_string_ostream(text)
        << *makeRandomProgram(context, seed, options);
    for (size_t at = 0; (at = text.find("f64", at)) != std::string::npos;)
      text.replace(at, 3, isLowered ? "f32" : seed % 3 ? "bf16" : "f16");
    auto module = parseSourceString<ModuleOp>(text, &context);
    ASSERT_TRUE(module) << text;
    std::string message;
    DrawnPlan plan = drawPlan(*module, random);
    plan.seeds.reset();
    plan.keepsGradients = true; // their errors tell what an update's may be
    if (isLowered)
      plan.keys.push_back("precision=bf16");
    if (isLowered && seed % 3 == 0)
      plan.keys.push_back("precision.gradients=low");
    SCOPED_TRACE("seed " + std::to_string(seed) + ": " + plan.spell());
    DrawnPlan forOneDevice = plan;
    llvm::erase_if(forOneDevice.keys, [](StringRef key) {
      return !key.starts_with("optimizer=") && !key.starts_with("lr=") &&
             !key.starts_with("clip=") && !key.starts_with("precision");
    });
    auto graph = transform(*module, plan, Level::Graph, message);
    ASSERT_TRUE(graph) << message << text;
    const Arguments arguments = drawArguments(*module, seed);
    pprt::host::StepValues judged;
    auto takeOne = [&](const DrawnPlan &goal, pprt::host::StepValues &told) {
      auto program = compile(*module, goal, message);
      ASSERT_TRUE(program) << message;
      pprt::Status status =
          takeSteps(*graph, *program, arguments, /*count=*/1,
                    [&](const pprt::host::StepValues &ours,
                        const pprt::host::StepValues &wanted) {
                      told = ours;
                      judged = wanted;
                    });
      ASSERT_TRUE(status.ok()) << status.message();
    };
    pprt::host::StepValues ours, yardstick;
    takeOne(plan, ours);
    takeOne(forOneDevice, yardstick);
    const bool isAdam = plan.says("optimizer=adam");
    pprt::host::LowPrecisionComparison comparison(
        /*roundoff=*/0x1p-8,
        isAdam ? std::optional(pprt::host::Adam{1e-8}) : std::nullopt);
    comparison.add(ours, ours, yardstick, judged, /*learningRate=*/0.1);
    comparison.finish();
    // Small tensors err by chance, and more so than a model's large ones.
    for (const pprt::host::Bounded *bounded :
         {&comparison.loss, &comparison.metrics, &comparison.gradients,
          &comparison.parameters, &comparison.states})
      EXPECT_LE(bounded->error, 4 * bounded->bound) << bounded->tensor;
  }

  MLIRContext context;
  unsigned refused = 0;
  std::string drawnPlan; ///< the last
};

TEST_F(RandomPlans, ComputeWhatTheModelComputes) {
  for (unsigned number = flags.first; number < flags.end(); ++number)
    check(number);
  EXPECT_LE(refused, flags.count / 20);
}

TEST_F(RandomPlans, RoundNoMoreThanOneDeviceDoes) {
  for (int seed = 0; seed < 30 && !HasFatalFailure(); ++seed)
    checkLowPrecision(seed, /*isLowered=*/seed % 2);
}

} // namespace

int main(int argc, char **argv) {
  ::testing::InitGoogleTest(&argc, argv);
  flags.count = 200;
  if (flags.parse(argc, argv))
    return RUN_ALL_TESTS();
  llvm::errs() << "usage: RandomPlansTests [--count=N] [--first=N]\n";
  return 2;
}
