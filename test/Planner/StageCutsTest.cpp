//===- StageCutsTest.cpp - chosen cuts against all cuts -------------------===//
//
// SPDX-License-Identifier: Apache-2.0
//
// The judge tries every cut and simulates the schedule for each.
//
//===----------------------------------------------------------------------===//
#include "pp/Planner/StageCuts.h"
#include "mlir/Pass/PassManager.h"
#include "pp/IR/Aspects.h"
#include "pp/IR/Model.h"
#include "pp/IR/PP.h"
#include "pp/Models/Models.h"
#include "pp/Schedule/Algorithms.h"
#include "pp/Transforms/Pipelines.h"
#include <chrono>
#include <gtest/gtest.h>

using namespace mlir;
using namespace pp;

namespace {

class StageCutsTest : public testing::Test {
protected:
  StageCutsTest() : context(registry()) { context.loadAllAvailableDialects(); }

  static DialectRegistry registry() {
    DialectRegistry registry;
    registry.insert<PPDialect, func::FuncDialect>();
    registerCostModels(registry);
    registerGradientModels(registry);
    registerShardingModels(registry);
    return registry;
  }

  /// The training step of a model, as pp-cut-stages gets it.
  func::FuncOp differentiate(OwningOpRef<ModuleOp> model) {
    PipelineOptions options;
    options.stopAfter = Level::Graph;
    PassManager passes(&context);
    buildPipeline(passes, options, std::nullopt);
    EXPECT_TRUE(succeeded(passes.run(*model)));
    module = std::move(model);
    return module->lookupSymbol<func::FuncOp>("main");
  }

  func::FuncOp makeMlp(const MlpConfig &config) {
    return differentiate(buildMlp(context, config, Float32Type::get(&context)));
  }

  static schedule::Schedule orderOf(StringRef name, int64_t stages,
                                    int64_t microBatches) {
    schedule::ScheduleProblem orders;
    orders.ranks = unsigned(stages);
    orders.microBatches = unsigned(microBatches);
    std::string error;
    return *schedule::generate(name.str(), orders, error);
  }

  /// A plan without seeds, for a mesh with the data parallelism `devices`.
  StageCutProblem
  makeProblem(int64_t stages, int64_t microBatches, int64_t devices = 1,
              StringRef order = "1f1b",
              const schedule::Topology &machine = schedule::Topology()) {
    return {makePlan({{"mb", microBatches, AxisKind::Time},
                      {"pp", stages, AxisKind::Stage},
                      {"dp", devices, AxisKind::Space}})
                .withSetting(PlanKey::Schedule, order),
            machine, orderOf(order, stages, microBatches)};
  }

  struct Axis {
    StringRef name;
    int64_t size;
    AxisKind kind;
  };

  PlanAttr makePlan(ArrayRef<Axis> axes) {
    SmallVector<MeshAxisAttr> attrs;
    for (const Axis &axis : axes)
      if (axis.size > 1)
        attrs.push_back(MeshAxisAttr::get(&context,
                                          StringAttr::get(&context, axis.name),
                                          axis.size, axis.kind));
    return PlanAttr::get(&context, MeshAttr::get(&context, attrs));
  }

  MLIRContext context;
  OwningOpRef<ModuleOp> module;
};

/// The least time over all cuts that leave no stage without work.
double searchAll(const StageCosts &costs, const StageCutProblem &problem,
                 std::vector<int64_t> &cuts) {
  if (int64_t(cuts.size()) + 1 == problem.order.stages) {
    if (costs.work[cuts.back()] == costs.work.back())
      return std::numeric_limits<double>::infinity();
    return simulateCuts(costs, cuts, problem.order, problem.microBatches());
  }
  double least = std::numeric_limits<double>::infinity();
  const int64_t begin = cuts.empty() ? 0 : cuts.back();
  for (int64_t cut = begin + 1; cut < costs.size(); ++cut) {
    if (costs.work[cut] == costs.work[begin])
      continue;
    cuts.push_back(cut);
    least = std::min(least, searchAll(costs, problem, cuts));
    cuts.pop_back();
  }
  return least;
}

/// How much longer the chosen cuts take than the best.
double findExcess(func::FuncOp main, const StageCutProblem &problem) {
  auto costs = measureStages(main, problem);
  auto chosen = chooseStageCuts(main, problem);
  EXPECT_TRUE(succeeded(costs) && succeeded(chosen));
  std::vector<int64_t> cuts;
  const double best = searchAll(*costs, problem, cuts);
  return simulateCuts(*costs, *chosen, problem.order, problem.microBatches()) /
             best -
         1;
}

} // namespace

/// What README and docs promise: within 2 % of the best of all cuts.
TEST_F(StageCutsTest, AreAlmostTheBestOfAll) {
  std::vector<schedule::Topology> machines(3);
  machines[1].links = {{1e9, 0}};    // bytes alone
  machines[2].flopsPerSecond = 1e14; // a GPU, of which little models ask little
  machines[2].bytesPerSecond = 2e12;
  for (int64_t hidden : {16, 64, 512})
    for (int64_t layers : {3, 5}) {
      func::FuncOp main = makeMlp({layers, 48, hidden, 16, 32});
      for (const schedule::Topology &machine : machines)
        for (int64_t stages : {2, 3})
          for (int64_t microBatches : {1, 2, 8})
            for (const char *order : {"gpipe", "1f1b"})
              for (int64_t devices : {1, 4})
                EXPECT_LE(
                    findExcess(main, makeProblem(stages, microBatches, devices,
                                                 order, machine)),
                    0.02)
                    << layers << " layers of " << hidden << ", " << stages
                    << " stages, " << microBatches << " micro-batches, "
                    << order << ", machine " << &machine - machines.data();
    }
}

/// Where one layer is most of the work, it alone says how long a step takes,
/// and the rest may be cut anywhere: it is cut into halves.
TEST_F(StageCutsTest, AreEvenWhereTimesAreEqual) {
  schedule::Topology machine;
  machine.links = {{std::numeric_limits<double>::infinity(), 0}};
  func::FuncOp main = makeMlp({6, 4096, 32, 16, 64});
  for (int64_t microBatches : {1, 8}) {
    StageCutProblem problem = makeProblem(3, microBatches, 1, "1f1b", machine);
    auto costs = measureStages(main, problem);
    auto chosen = chooseStageCuts(main, problem);
    ASSERT_TRUE(succeeded(costs) && succeeded(chosen));
    const std::vector<int64_t> &cuts = *chosen;
    double second = costs->compute(cuts[0], cuts[1]),
           third = costs->compute(cuts[1], costs->size());
    EXPECT_LE(std::max(second, third), 1.5 * std::min(second, third));
  }
}

/// Blocks of a transformer have values that many ops use.
TEST_F(StageCutsTest, OfATransformer) {
  func::FuncOp main = differentiate(buildGpt(
      context, {2, 64, 4, 16, 8, 64, false}, Float32Type::get(&context)));
  for (int64_t microBatches : {1, 4})
    EXPECT_LE(findExcess(main, makeProblem(2, microBatches)), 0.02);
}

/// An axis divides the ops that it will split: by default "tp" the heads and
/// the feed-forward part, but nothing of the vocabulary; "dp" both.
TEST_F(StageCutsTest, AnAxisDividesWhatItSplits) {
  constexpr int64_t kHidden = 16, kVocab = 48;
  func::FuncOp main =
      differentiate(buildGpt(context, {1, kHidden, 4, 8, 8, kVocab, false},
                             Float32Type::get(&context)));
  schedule::Topology machine; // arithmetic alone
  machine.bytesPerSecond = std::numeric_limits<double>::infinity();
  machine.launchSeconds = 0;
  // Seconds of the logits; of all else that multiplies a parameter.
  auto measure = [&](PlanAttr plan) {
    auto costs = measureStages(main, {plan, machine});
    EXPECT_TRUE(succeeded(costs));
    std::pair<double, double> seconds;
    for (auto dot : main.getOps<DotGeneralOp>()) {
      const int64_t origin = getOrigin(dot);
      if (getKind(dot) != Kind::Forward)
        continue;
      const bool isLogits = dot.getType().getShape().back() == kVocab;
      (isLogits ? seconds.first : seconds.second) +=
          costs->compute(origin, origin + 1);
    }
    return seconds;
  };
  const auto whole = measure(makePlan({}));
  auto expectParts = [&](PlanAttr plan, double logits, double layers) {
    const auto part = measure(plan);
    EXPECT_NEAR(part.first * logits, whole.first, 1e-6 * whole.first);
    EXPECT_NEAR(part.second * layers, whole.second, 1e-6 * whole.second);
  };
  const Axis tp{"tp", 2, AxisKind::Space}, dp{"dp", 4, AxisKind::Space},
      mb{"mb", 2, AxisKind::Time};
  expectParts(makePlan({tp}), 1, 2);
  expectParts(makePlan({dp}), 4, 4);
  expectParts(makePlan({mb, dp, tp}), 8, 16);
  // What a plan seeds is all there is.
  auto axis = DimShardingAttr::get(&context, StringAttr::get(&context, tp.name),
                                   /*isOpen=*/false);
  auto open = DimShardingAttr::get(&context, {}, /*isOpen=*/true);
  auto seed = SeedAttr::get(&context, StringAttr::get(&context, "lm_head.*"),
                            {axis, open}, /*priority=*/1);
  expectParts(makePlan({tp}).withSeeds(seed), 2, 1);
}

/// Time grows with stages x ops, not with the square of the ops.
TEST_F(StageCutsTest, OfADeepModelAreFast) {
  func::FuncOp main = makeMlp({300, 8, 8, 8, 64});
  const auto begin = std::chrono::steady_clock::now();
  ASSERT_TRUE(succeeded(chooseStageCuts(main, makeProblem(16, 64))));
  const std::chrono::duration<double> took =
      std::chrono::steady_clock::now() - begin;
  EXPECT_LT(took.count(), 5);
}
