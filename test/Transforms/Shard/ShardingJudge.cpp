//===- ShardingJudge.cpp - a partitioned module against itself ------------===//
//
// SPDX-License-Identifier: Apache-2.0
//
//===----------------------------------------------------------------------===//
#include "ShardingJudge.h"
#include "../../Random/RandomProgram.h"
#include "../../Random/RandomSeeds.h"
#include "../../Random/Shrink.h"
#include "mlir/IR/Verifier.h"
#include "mlir/Pass/PassManager.h"
#include "pp/IR/Model.h"
#include "pp/Reference/Spmd.h"
#include "pp/Transforms/Passes.h"
#include <cmath>

using namespace mlir;
using namespace pp;
using namespace pp::testing;

std::string pp::testing::toText(ModuleOp module) {
  std::string text;
  llvm::raw_string_ostream os(text);
  module.print(os);
  return text;
}

/// Largest difference relative to the tensor's largest element, or to what is
/// small beside the arguments, which are about 1: a sum that cancels leaves
/// their rounding.
static double distance(const reference::HostTensor &a,
                       const reference::HostTensor &b) {
  double largest = 1e-4, worst = 0;
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

/// An update lies as its argument does, whatever is asked for.
static bool isUpdate(func::FuncOp main, unsigned result) {
  std::optional<Role> role = getResultRole(main, result);
  return role == Role::Param || role == Role::State;
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

/// Inputs, with states as an optimizer leaves them: squares and a step.
static std::vector<reference::HostTensor> makeInputs(func::FuncOp main,
                                                     unsigned seed) {
  auto inputs = makeRandomInputs(main, seed);
  for (auto [index, input] : llvm::enumerate(inputs))
    if (getArgRole(main, index) == Role::State)
      for (double &value : input.values)
        value = input.elementType().isInteger() ? 3 : std::abs(value);
  return inputs;
}

Verdict pp::testing::judgeFailure(StringRef message) {
  if (StringRef reason = findRefusal(message); !reason.empty())
    return {reason.str(), ""};
  return {"", message.empty() ? "fails without a word" : message.str()};
}

Verdict pp::testing::judgeShardings(ModuleOp module, unsigned seed,
                                    function_ref<void(ModuleOp)> onPropagated) {
  MLIRContext *context = module.getContext();
  std::string message;
  ScopedDiagnosticHandler handler(context, [&](Diagnostic &diagnostic) {
    message += diagnostic.str();
    return success();
  });
  if (failed(verify(module)))
    return {"", "invalid module: " + message};
  auto main = module.lookupSymbol<func::FuncOp>("main");
  auto inputs = makeInputs(main, seed);
  auto expected = reference::evaluate(main, inputs);
  if (failed(expected))
    return {"", "not evaluated: " + message};

  SmallVector<ShardingAttr> wanted;
  for (unsigned index = 0; index < main.getNumResults(); ++index)
    wanted.push_back(
        main.getResultAttrOfType<ShardingAttr>(index, attrs::kSharding));
  PassManager propagate(context), passes(context);
  propagate.addPass(createPropagateShardings());
  passes.addPass(createSplitScans());
  passes.addPass(createPadDimensions());
  passes.addPass(createPartition());
  passes.addPass(createOptimizeCollectives());
  if (failed(propagate.run(module)))
    return judgeFailure(message);
  if (onPropagated)
    onPropagated(module);
  // With priorities, an earlier round may take an axis first.
  auto plan = module->getAttrOfType<PlanAttr>(attrs::kPlan);
  for (auto [index, sharding] : llvm::enumerate(wanted))
    if (sharding && plan.getSeeds().empty() && !isUpdate(main, index) &&
        !obeys(main.getResultAttrOfType<ShardingAttr>(index, attrs::kSharding),
               sharding))
      return {"", "result " + std::to_string(index) + " has another sharding"};
  if (failed(passes.run(module)))
    return judgeFailure(message);
  auto actual =
      reference::evaluateSpmd(main, lookupMesh(module).getMesh(), inputs);
  if (failed(actual))
    return {"", "not evaluated on devices: " + message};
  for (size_t index = 0; index < actual->size(); ++index)
    if ((*actual)[index].type != (*expected)[index].type ||
        !(distance((*actual)[index], (*expected)[index]) <= 1e-10))
      return {"", "wrong result " + std::to_string(index)};
  return {};
}

std::string pp::testing::findFault(ModuleOp module, unsigned seed) {
  OwningOpRef<ModuleOp> copy = module.clone();
  const std::string fault = judgeShardings(*copy, seed).fault;
  if (fault.empty())
    return "";
  OwningOpRef<ModuleOp> small = shrink(module, [&](ModuleOp candidate) {
    return !judgeShardings(candidate, seed).fault.empty();
  });
  copy = small->clone();
  const std::string remains = judgeShardings(*copy, seed).fault;
  return fault + "\nshrunk to:\n" + toText(*small) + remains + "\n" +
         toText(*copy);
}
