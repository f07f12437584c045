//===- PermutationTest.cpp - shardings do not depend on an order ----------===//
//
// SPDX-License-Identifier: Apache-2.0
//
// The ops and the arguments of a random program are put into another order that
// means the same. Every value gets the sharding that it had before.
//
//===----------------------------------------------------------------------===//
#include "../../Random/RandomProgram.h"
#include "../../Random/RandomSeeds.h"
#include "RandomShardings.h"
#include "mlir/IR/Verifier.h"
#include "mlir/Pass/PassManager.h"
#include "pp/IR/Aspects.h"
#include "pp/IR/Model.h"
#include "pp/Transforms/Passes.h"
#include "pp/Transforms/Shard/MakePlan.h"
#include "pp/Transforms/Sources.h"
#include <gtest/gtest.h>
#include <map>
#include <random>

using namespace mlir;
using namespace pp;
using namespace pp::testing;

namespace {

/// Shardings by argument, result and op.
using Outcome = std::map<std::string, std::string>;

class Permutation : public ::testing::Test {
protected:
  Permutation() {
    DialectRegistry registry;
    registry.insert<PPDialect, func::FuncDialect>();
    registerShardingModels(registry);
    registerCostModels(registry);
    context.appendDialectRegistry(registry);
    context.loadAllAvailableDialects();
    context.disableMultithreading();
  }

  /// Gives every op a location that is its name in the outcome.
  void nameOps(func::FuncOp main) {
    for (auto [number, op] : llvm::enumerate(main.getBody().front()))
      op.setLoc(NameLoc::get(
          StringAttr::get(&context, "op " + std::to_string(number))));
  }

  void permuteArguments(func::FuncOp main, std::mt19937 &random) {
    unsigned count = main.getNumArguments();
    auto order = llvm::to_vector(llvm::seq<unsigned>(0, count));
    llvm::shuffle(order.begin(), order.end(), random);
    for (unsigned index : order) {
      BlockArgument old = main.getArgument(index);
      unsigned end = main.getNumArguments();
      ASSERT_TRUE(succeeded(main.insertArgument(
          end, old.getType(), main.getArgAttrDict(index), old.getLoc())));
      old.replaceAllUsesWith(main.getArgument(end));
    }
    llvm::BitVector erased(2 * count);
    erased.set(0, count);
    ASSERT_TRUE(succeeded(main.eraseArguments(erased)));
  }

  /// Any order in which operands come before their users.
  void permuteOps(func::FuncOp main, std::mt19937 &random) {
    Block &body = main.getBody().front();
    SmallVector<Operation *> waiting;
    for (Operation &op : body.without_terminator())
      waiting.push_back(&op);
    llvm::DenseSet<Operation *> done;
    while (!waiting.empty()) {
      llvm::shuffle(waiting.begin(), waiting.end(), random);
      auto isReady = [&](Operation *op) {
        return llvm::all_of(op->getOperands(), [&](Value operand) {
          Operation *producer = operand.getDefiningOp();
          return !producer || done.contains(producer);
        });
      };
      Operation **next = llvm::find_if(waiting, isReady);
      (*next)->moveBefore(body.getTerminator());
      done.insert(*next);
      waiting.erase(next);
    }
  }

  Outcome run(ModuleOp module, bool annotates) {
    PassManager passes(&context);
    if (annotates) {
      passes.addPass(createSplitConstants());
      passes.addPass(createAnnotateShardings());
    }
    passes.addPass(createPropagateShardings());
    Outcome outcome;
    ScopedDiagnosticHandler handler(&context, [&](Diagnostic &diagnostic) {
      // Of several that are refused alike, the first op is named.
      const std::string text = diagnostic.str();
      const StringRef refusal = findRefusal(text);
      outcome["error"] = refusal.empty() ? text : refusal.str();
      return success();
    });
    if (failed(passes.run(module)))
      return outcome;
    auto main = module.lookupSymbol<func::FuncOp>("main");
    auto spell = [](Attribute attribute) {
      std::string text;
      llvm::raw_string_ostream os(text);
      os << attribute;
      return text;
    };
    for (unsigned index = 0; index < main.getNumArguments(); ++index)
      outcome[getArgName(main, index).str()] =
          spell(main.getArgAttr(index, attrs::kSharding));
    for (unsigned index = 0; index < main.getNumResults(); ++index)
      outcome["result " + std::to_string(index)] =
          spell(main.getResultAttr(index, attrs::kSharding));
    // Clones of a constant share a name.
    std::multimap<std::string, std::string> ofOps;
    for (Operation &op : main.getBody().front().without_terminator())
      ofOps.insert({cast<NameLoc>(dropSources(op.getLoc())).getName().str(),
                    spell(op.getAttr(attrs::kShardings))});
    for (auto &[name, text] : ofOps)
      outcome[name] += text;
    return outcome;
  }

  /// Compares the outcome of `module` with that of permuted copies.
  void check(ModuleOp module, unsigned seed, bool annotates) {
    auto main = module.lookupSymbol<func::FuncOp>("main");
    nameOps(main);
    std::string text;
    llvm::raw_string_ostream os(text);
    module.print(os);
    SCOPED_TRACE("seed " + std::to_string(seed) + "\n" + text);
    std::mt19937 random(seed);
    SmallVector<OwningOpRef<ModuleOp>> copies;
    for (int copy = 0; copy < 3; ++copy) {
      copies.push_back(module.clone());
      main = copies.back()->lookupSymbol<func::FuncOp>("main");
      permuteArguments(main, random);
      permuteOps(main, random);
      ASSERT_TRUE(succeeded(verify(*copies.back())));
    }
    const Outcome expected = run(module, annotates);
    for (OwningOpRef<ModuleOp> &copy : copies) {
      Outcome actual = run(*copy, annotates);
      ASSERT_EQ(expected.size(), actual.size());
      for (const auto &[name, sharding] : expected)
        ASSERT_EQ(sharding, actual[name]) << name;
    }
  }

  MLIRContext context;
};

TEST_F(Permutation, OfWhatIsAskedFor) {
  for (unsigned seed = 0; seed < 300 && !HasFatalFailure(); ++seed) {
    RandomProgramOptions options;
    options.numOps = 3 + seed % 15;
    options.sizes = {2, 3, 4, 6, 8};
    options.maxMagnitude = 1e4;
    options.numMetrics = 3;
    auto module = makeRandomProgram(context, seed, options);
    addRandomShardings(*module, seed);
    check(*module, seed, /*annotates=*/false);
  }
}

TEST_F(Permutation, OfWhatIsFoundByAnalysis) {
  for (unsigned seed = 0; seed < 150 && !HasFatalFailure(); ++seed) {
    RandomProgramOptions options;
    options.numOps = 5 + seed % 15;
    options.batch = 12;
    options.sizes = {2, 4};
    options.maxElements = 2000;
    auto module = makeRandomProgram(context, seed, options);
    PlanOptions plan = {{PlanKey::Dp, "2"}, {PlanKey::Tp, "2"}};
    plan.set(PlanKey::Microbatches, int64_t(1 + seed % 2));
    ASSERT_TRUE(succeeded(buildPlan(*module, plan)));
    check(*module, seed, /*annotates=*/true);
  }
}

} // namespace
