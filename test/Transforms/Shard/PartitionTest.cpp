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
#include "../../Random/Shrink.h"
#include "RandomShardings.h"
#include "mlir/IR/Verifier.h"
#include "mlir/Parser/Parser.h"
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

class PartitionOnce : public ::testing::Test {
protected:
  PartitionOnce() {
    DialectRegistry registry;
    registry.insert<PPDialect, func::FuncDialect>();
    registerShardingModels(registry);
    context.appendDialectRegistry(registry);
    context.loadAllAvailableDialects();
    context.disableMultithreading();
  }

  void check(unsigned seed, int numOps, bool regroups = false) {
    RandomProgramOptions options;
    options.regroups = regroups;
    options.numOps = numOps;
    options.sizes = {2, 3, 4, 5, 6, 8};
    if (regroups)
      options.sizes = {2, 4, 8, 2, 4, 3};
    options.maxElements = 400;
    options.maxMagnitude = 1e4;
    options.numMetrics = 3;
    OwningOpRef<ModuleOp> program = makeRandomProgram(context, seed, options);
    ModuleOp module = *program;
    addRandomShardings(module, seed, regroups ? 40 : 8);
    SCOPED_TRACE("seed " + std::to_string(seed));
    compare(module, seed);
  }

  /// Runs the module with the shardings that it has, on all devices and whole.
  void compare(ModuleOp module, unsigned seed) {
    OwningOpRef<ModuleOp> copy = module.clone();
    std::string fault = findFault(*copy, seed);
    if (fault == kRefused)
      ++refused;
    if (fault.empty() || fault == kRefused)
      return;
    auto isWrong = [&](ModuleOp candidate) {
      std::string other = findFault(candidate, seed);
      return !other.empty() && other != kRefused;
    };
    OwningOpRef<ModuleOp> small = shrink(module, isWrong);
    copy = small->clone();
    FAIL() << fault << "\nshrunk to:\n"
           << toText(*small) << findFault(*copy, seed) << "\n"
           << toText(*copy);
  }

  /// What is wrong with how `module` is partitioned; empty if nothing is.
  std::string findFault(ModuleOp module, unsigned seed) {
    std::string message;
    ScopedDiagnosticHandler handler(&context, [&](Diagnostic &diagnostic) {
      message += diagnostic.str();
      return success();
    });
    if (failed(verify(module)))
      return "invalid module: " + message;
    auto main = module.lookupSymbol<func::FuncOp>("main");
    auto inputs = makeRandomInputs(main, seed);
    auto expected = reference::evaluate(main, inputs);
    if (failed(expected))
      return "not evaluated: " + message;

    SmallVector<ShardingAttr> wanted;
    for (unsigned index = 0; index < main.getNumResults(); ++index)
      wanted.push_back(
          main.getResultAttrOfType<ShardingAttr>(index, attrs::kSharding));
    PassManager propagate(&context), passes(&context);
    propagate.addPass(createPropagateShardings());
    passes.addPass(createSplitScans());
    passes.addPass(createPadDimensions());
    passes.addPass(createPartition());
    passes.addPass(createOptimizeCollectives());
    auto isRefusedFor = [&](StringRef reason) {
      return message.find(reason) != std::string::npos;
    };
    if (failed(propagate.run(module)))
      // An axis whose every use lost to another.
      return isRefusedFor("to split some tensor") ? kRefused : message;
    // With priorities, an earlier round may take an axis first.
    bool hasPriorities =
        !module->getAttrOfType<PlanAttr>(attrs::kPlan).getSeeds().empty();
    for (auto [index, sharding] : llvm::enumerate(wanted))
      if (sharding && !hasPriorities &&
          !obeys(
              main.getResultAttrOfType<ShardingAttr>(index, attrs::kSharding),
              sharding))
        return "result " + std::to_string(index) + " has another sharding";
    if (failed(passes.run(module)))
      // The one thing a program may be refused for: padding in the middle of an
      // argument, which no file could fill.
      return isRefusedFor("to be padded at its end") ? kRefused : message;
    auto actual =
        reference::evaluateSpmd(main, lookupMesh(module).getMesh(), inputs);
    if (failed(actual))
      return "not evaluated on devices: " + message;
    for (size_t index = 0; index < actual->size(); ++index)
      if ((*actual)[index].type != (*expected)[index].type ||
          !(distance((*actual)[index], (*expected)[index]) <= 1e-10))
        return "wrong result " + std::to_string(index);
    return "";
  }

  /// A result has the axes asked for, and more only where it is open.
  static bool obeys(ShardingAttr actual, ShardingAttr wanted) {
    return llvm::all_of_zip(actual.getDims(), wanted.getDims(),
                            [](DimShardingAttr mine, DimShardingAttr theirs) {
                              return theirs.getIsOpen()
                                         ? mine.getAxes().take_front(
                                               theirs.getAxes().size()) ==
                                               theirs.getAxes()
                                         : mine.getAxes() == theirs.getAxes();
                            });
  }

  static constexpr const char *kRefused = "refused";
  MLIRContext context;
  int refused = 0;
};

class Partition : public PartitionOnce,
                  public ::testing::WithParamInterface<int> {};

TEST_P(Partition, ComputesWhatTheProgramComputes) {
  for (unsigned seed = 0; seed < 100; ++seed) {
    check(1000 * GetParam() + seed, 2 + GetParam() * 3);
    if (HasFatalFailure())
      return;
  }
  EXPECT_LT(refused, 20);
}

/// Sizes that share factors, and shardings asked for wherever they meet.
TEST_P(Partition, OfRegroupedDimensions) {
  for (unsigned seed = 0; seed < 100; ++seed) {
    check(1000 * GetParam() + seed, 3 + GetParam(), /*regroups=*/true);
    if (HasFatalFailure())
      return;
  }
}

/// Every way to split `rank` dimensions over the axes from `axis` on.
void listShardings(int64_t rank, ArrayRef<StringRef> axes,
                   std::vector<std::string> dims,
                   std::vector<std::string> &shardings) {
  if (axes.empty()) {
    shardings.push_back("[" + llvm::join(dims, ", ") + "]");
    return;
  }
  listShardings(rank, axes.drop_front(), dims, shardings);
  const std::string axis = '"' + axes.front().str() + '"';
  for (int64_t dim = 0; dim < rank; ++dim)
    for (bool isMajor : {false, true}) {
      std::vector<std::string> with = dims;
      const std::string others = dims[dim].substr(1, dims[dim].size() - 2);
      if (others.empty() && isMajor)
        continue;
      with[dim] = others.empty() ? "{" + axis + "}"
                  : isMajor      ? "{" + axis + ", " + others + "}"
                                 : "{" + others + ", " + axis + "}";
      listShardings(rank, axes.drop_front(), with, shardings);
    }
}

/// A reshape between all shapes of one number of elements, its result split in
/// every way over two axes.
TEST_F(PartitionOnce, OfReshapes) {
  const std::vector<std::vector<SmallVector<int64_t>>> groups = {
      {{8}, {2, 4}, {4, 2}, {2, 2, 2}},
      {{12}, {2, 6}, {6, 2}, {3, 4}, {4, 3}, {2, 3, 2}}};
  for (const auto &shapes : groups)
    for (ArrayRef<int64_t> from : shapes)
      for (ArrayRef<int64_t> to : shapes) {
        std::vector<std::string> shardings;
        const int64_t rank = to.size();
        listShardings(rank, {"a", "b"}, std::vector<std::string>(rank, "{}"),
                      shardings);
        for (const std::string &sharding : shardings) {
          auto typeOf = [&](ArrayRef<int64_t> shape) {
            std::string text = "tensor<";
            for (int64_t size : shape)
              text += std::to_string(size) + "x";
            return text + "f64>";
          };
          const std::string x = typeOf(from), y = typeOf(to);
          auto module = parseSourceString<ModuleOp>(
              "module attributes {pp.plan = #pp.plan<mesh = <[\"a\"=2, "
              "\"b\"=2]>, threads = 1>} { pp.mesh @mesh = <[\"a\"=2, "
              "\"b\"=2]> func.func @main(%x: " +
                  x + " {pp.name = \"x\"}) -> " + y +
                  " { %0 = pp.reshape %x : " + x + " -> " + y +
                  " %1 = pp.sharding_constraint %0 to <@mesh, " + sharding +
                  "> : " + y + " return %1 : " + y + " } }",
              &context);
          ASSERT_TRUE(module);
          compare(*module, /*seed=*/0);
          if (HasFatalFailure())
            return;
        }
      }
}

/// Padding that changes at a reshard: of what an op made that needs a dimension
/// whole, of what another reshard made, and between merged factors.
TEST_F(PartitionOnce, OfPaddedReshards) {
  for (StringRef body :
       {R"(%x: tensor<8x4xf64> {pp.name = "x",
              pp.sharding = #pp.sharding<@mesh, [{}, {"a"}]>})
            -> tensor<8x4xf64> {
          %2 = pp.neg %y : tensor<7x7xf64>
          %0 = pp.cumsum %x dim 1 : tensor<8x4xf64>
          %1 = pp.reshard %0 without ["a"] : tensor<8x4xf64>
          return %1 : tensor<8x4xf64> } })",
        R"(%x: tensor<10x5xf64> {pp.name = "x"}) -> tensor<10x5xf64> {
          %2 = pp.neg %y : tensor<7x7xf64>
          %0 = pp.reshard %x with ["b", "a"] : tensor<10x5xf64>
          %1 = pp.reshard %0 with ["a", "b"] : tensor<10x5xf64>
          return %1 : tensor<10x5xf64> } })",
        R"(%x: tensor<2x8xf64> {pp.name = "x", pp.role = #pp.role<param>})
            -> tensor<4x4xf64> {
          %0 = pp.reshard %x without ["a"] : tensor<2x8xf64>
          %1 = pp.reshape %0 : tensor<2x8xf64> -> tensor<4x4xf64>
          %2 = pp.sharding_constraint %1 to <@mesh, [{?}, {"b", ?}]>
            : tensor<4x4xf64>
          return %2 : tensor<4x4xf64> } })"}) {
    auto module = parseSourceString<ModuleOp>(
        "module attributes {pp.plan = #pp.plan<mesh = <[\"a\"=3, \"b\"=3]>>} "
        "{ pp.mesh @mesh = <[\"a\"=3, \"b\"=3]> func.func @main(%y: "
        "tensor<7x7xf64> {pp.name = \"y\", "
        "pp.sharding = #pp.sharding<@mesh, [{\"b\"}, {}]>}, " +
            body.str(),
        &context);
    ASSERT_TRUE(module);
    compare(*module, /*seed=*/0);
  }
  EXPECT_EQ(refused, 0);
}

INSTANTIATE_TEST_SUITE_P(Sizes, Partition, ::testing::Range(0, 6));

} // namespace
