//===- StageGraphsTest.cpp - whatever stages exchange, none waits for ever ===//
//
// SPDX-License-Identifier: Apache-2.0
//
// Draws level 3 modules: two to six stages, whose forward and backward
// fragments read what any stage before them computes, not only their
// neighbours, in tensors of many sizes; under the named schedules and under
// random orders. They must become programs that pass every check.
//
//===----------------------------------------------------------------------===//
#include "Testing.h"
#include "mlir/Parser/Parser.h"
#include "mlir/Pass/PassManager.h"
#include "pp/IR/Aspects.h"
#include "pp/Schedule/Algorithms.h"
#include "pp/Transforms/Passes.h"
#include <gtest/gtest.h>
#include <random>

using namespace mlir;
using namespace pp;
using schedule::Action;
using WorkKind = schedule::Kind;

namespace {

/// Elements of tensors; the first also of the input and the loss.
const int64_t kSizes[] = {1, 64, 192};

std::string typeOf(int64_t size) {
  return "tensor<" + std::to_string(size) + "xf32>";
}

/// One kernel per pair of sizes: @turn_A_B makes B elements of A.
std::string writeKernels() {
  std::string text;
  for (int64_t from : kSizes)
    for (int64_t to : kSizes)
      text += "func.func private @turn_" + std::to_string(from) + "_" +
              std::to_string(to) + "(%x: " + typeOf(from) + ") -> " +
              typeOf(to) +
              " attributes {pp.kernel = #pp.kernel<loops>} {\n"
              "  %0 = pp.reduce sum %x dims [0] : " +
              typeOf(from) +
              " -> tensor<f32>\n"
              "  %1 = pp.broadcast %0 dims [] : tensor<f32> -> " +
              typeOf(to) + "\n  return %1 : " + typeOf(to) + "\n}\n";
  for (int64_t size : kSizes)
    text += "func.func private @join_" + std::to_string(size) +
            "(%x: " + typeOf(size) + ", %y: " + typeOf(size) + ") -> " +
            typeOf(size) +
            " attributes {pp.kernel = #pp.kernel<loops>} {\n"
            "  %0 = pp.add %x, %y : " +
            typeOf(size) + "\n  return %0 : " + typeOf(size) + "\n}\n";
  return text;
}

/// Writes a module whose fragments exchange values at random.
class StageGraph {
public:
  explicit StageGraph(unsigned seed)
      : random(seed), numStages(2 + below(5)), numMicroBatches(1 + below(5)),
        reach(1 + below(numStages)) {}

  std::string write();
  std::string describe() const {
    return std::to_string(numStages) + " stages, " +
           std::to_string(numMicroBatches) + " micro-batches, " + order.name;
  }

private:
  /// A result of a fragment, in @main.
  struct Value {
    std::string name;
    int64_t size;
    int64_t stage;
  };

  int64_t below(int64_t bound) { return int64_t(random() % bound); }
  std::string fresh() { return "%v" + std::to_string(numNames++); }
  /// Makes `value` available to `stage`.
  Value bring(Value value, int64_t stage);
  /// What a fragment of `stage` reads of `candidates`.
  std::vector<Value> draw(const std::vector<Value> &candidates, int64_t stage);
  void addFragment(const char *phase, int64_t stage, std::vector<Value> inputs,
                   std::vector<Value> &results);
  void addUpdate(int64_t stage, const std::vector<Value> &gradients);
  void drawOrder();

  std::mt19937 random;
  int64_t numStages, numMicroBatches;
  int64_t reach; ///< how far values go, in stages
  schedule::Schedule order;
  std::vector<bool> splitsBackward;
  std::string body, results, returned, types;
  unsigned numNames = 0;
};

StageGraph::Value StageGraph::bring(Value value, int64_t stage) {
  if (value.stage == stage || value.stage < 0)
    return value;
  std::string name = fresh();
  body += name + " = pp.transfer " + value.name + " from " +
          std::to_string(value.stage) + " to " + std::to_string(stage) + " : " +
          typeOf(value.size) + "\n";
  return {name, value.size, stage};
}

std::vector<StageGraph::Value>
StageGraph::draw(const std::vector<Value> &candidates, int64_t stage) {
  std::vector<Value> drawn;
  for (const Value &value : candidates)
    if (std::abs(value.stage - stage) <= reach && below(100) < 45)
      drawn.push_back(bring(value, stage));
  return drawn;
}

/// Each result is made of all inputs, over a few values in between.
void StageGraph::addFragment(const char *phase, int64_t stage,
                             std::vector<Value> inputs,
                             std::vector<Value> &results) {
  inputs.push_back({"%x", kSizes[0], -1});
  std::string operands, operandTypes, arguments, inner, yields, resultTypes;
  std::vector<Value> pool;
  for (const Value &input : inputs) {
    const char *comma = operands.empty() ? "" : ", ";
    std::string name = fresh();
    operands += comma + input.name;
    operandTypes += comma + typeOf(input.size);
    arguments += comma + name + ": " + typeOf(input.size);
    pool.push_back({name, input.size, stage});
  }
  std::string names;
  int64_t numResults = 1 + below(2);
  for (int64_t result = 0; result < numResults; ++result) {
    Value sum{"", kSizes[below(3)], stage};
    bool passesOn = below(8) == 0;
    if (passesOn)
      sum = pool[below(int64_t(pool.size()))];
    for (const Value &input : pool) {
      if (passesOn)
        break;
      std::string turned = fresh();
      inner += turned + " = pp.launch @turn_" + std::to_string(input.size) +
               "_" + std::to_string(sum.size) + "(" + input.name + ") : (" +
               typeOf(input.size) + ") -> " + typeOf(sum.size) + "\n";
      if (!sum.name.empty()) {
        std::string joined = fresh(), type = typeOf(sum.size);
        inner += joined + " = pp.launch @join_" + std::to_string(sum.size) +
                 "(" + sum.name + ", " + turned + ") : (" + type + ", " + type +
                 ") -> " + type + "\n";
        turned = joined;
      }
      sum.name = turned;
    }
    const char *comma = result ? ", " : "";
    yields += comma + sum.name;
    resultTypes += comma + typeOf(sum.size);
    std::string name = fresh();
    names += comma + name;
    results.push_back({name, sum.size, stage});
  }
  body += names + " = pp.fragment " + phase + " stage " +
          std::to_string(stage) + " (" + operands + ") {\n^bb0(" + arguments +
          "):\n" + inner + "pp.yield " + yields + " : " + resultTypes +
          "\n} : (" + operandTypes + ") -> (" + resultTypes + ")\n";
}

/// Adds the gradients up over micro-batches and stages, and returns them.
void StageGraph::addUpdate(int64_t stage, const std::vector<Value> &gradients) {
  std::string operands, operandTypes, arguments, inner, yields;
  for (const Value &gradient : gradients) {
    const char *comma = operands.empty() ? "" : ", ";
    std::string sum = gradient.name, argument = fresh(), total = fresh();
    std::string type = typeOf(gradient.size);
    if (numMicroBatches > 1) {
      sum = fresh();
      body += sum + " = pp.accumulate " + gradient.name +
              " over \"mb\" : " + type + "\n";
    }
    operands += comma + sum;
    operandTypes += comma + type;
    arguments += comma + argument + ": " + type;
    inner += total + " = pp.launch @join_" + std::to_string(gradient.size) +
             "(" + argument + ", " + argument + ") : (" + type + ", " + type +
             ") -> " + type + "\n";
    yields += comma + total;
  }
  // One value of the same type on all stages, to be added up.
  std::string part = fresh(), all = fresh(), type = typeOf(kSizes[0]);
  inner += part + " = pp.launch @turn_" + std::to_string(gradients[0].size) +
           "_" + std::to_string(kSizes[0]) + "(" +
           arguments.substr(0, arguments.find(':')) + ") : (" +
           typeOf(gradients[0].size) + ") -> " + type + "\n" + all +
           " = pp.all_reduce sum " + part + " over @mesh [\"pp\"] : (" + type +
           ") -> " + type + "\n";
  std::string names, name = fresh();
  for (size_t i = 0; i < gradients.size(); ++i)
    names += fresh() + ", ";
  body += names + name + " = pp.fragment update position " +
          std::to_string(stage) + " (" + operands + ") {\n^bb0(" + arguments +
          "):\n" + inner + "pp.yield " + yields + ", " + all + " : " +
          operandTypes + ", " + type + "\n} : (" + operandTypes + ") -> (" +
          operandTypes + ", " + type + ")\n";
  const char *comma = returned.empty() ? "" : ", ";
  returned += comma + name;
  types += comma + type;
  results += comma + type + " {pp.role = #pp.role<" +
             (stage ? "metric" : "loss") + ">, pp.name = \"m" +
             std::to_string(stage) +
             "\", pp.sharding = #pp.sharding<@mesh, [{}]>, "
             "pp.global_shape = array<i64: " +
             std::to_string(kSizes[0]) +
             ">, pp.positions = array<i64: " + std::to_string(stage) + ">}";
}

/// The named schedules, or actions in any order in which they can run.
void StageGraph::drawOrder() {
  schedule::ScheduleProblem problem;
  problem.ranks = numStages;
  problem.microBatches = numMicroBatches;
  bool splits = llvm::is_contained(splitsBackward, true);
  int64_t choice = splits ? 2 : below(3);
  std::string error;
  if (choice < 2) {
    order = *schedule::generate(choice ? "1f1b" : "gpipe", problem, error);
    return;
  }
  order.name = "random";
  order.stages = numStages;
  order.microBatches = numMicroBatches;
  order.ranks.resize(numStages);
  std::vector<Action> left;
  for (unsigned stage = 0; stage < order.stages; ++stage)
    for (unsigned m = 0; m < order.microBatches; ++m)
      for (WorkKind kind :
           {WorkKind::Forward, WorkKind::Backward, WorkKind::Weight})
        if (kind != WorkKind::Weight || splitsBackward[stage])
          left.push_back({stage, kind, m});
  schedule::Schedule whole = order;
  whole.ranks[0] = left; // tells which backward is split
  std::vector<Action> done;
  // One direction is preferred for a while, so that runs pile up.
  while (!left.empty()) {
    WorkKind preferred = below(2) ? WorkKind::Forward : WorkKind::Backward;
    unsigned stage = below(numStages);
    std::vector<Action> ready, best;
    for (const Action &action : left) {
      auto needed = schedule::dependencies(whole, action);
      if (llvm::all_of(needed, [&](const Action &other) {
            return llvm::is_contained(done, other);
          }))
        ready.push_back(action);
    }
    for (const Action &action : ready)
      if (action.kind == preferred && action.stage == stage)
        best.push_back(action);
    const std::vector<Action> &from = best.empty() ? ready : best;
    Action next = from[below(int64_t(from.size()))];
    left.erase(llvm::find(left, next));
    done.push_back(next);
    order.ranks[next.stage].push_back(next);
  }
}

std::string StageGraph::write() {
  std::vector<Value> forward, backward;
  std::vector<std::vector<Value>> gradients(numStages);
  bool splits = below(4) == 0;
  for (int64_t stage = 0; stage < numStages; ++stage)
    splitsBackward.push_back(splits && below(2));
  for (int64_t stage = 0; stage < numStages; ++stage)
    addFragment("forward", stage, draw(forward, stage), forward);
  for (int64_t stage = numStages - 1; stage >= 0; --stage) {
    std::vector<Value> inputs = draw(forward, stage);
    llvm::append_range(inputs, draw(backward, stage));
    std::vector<Value> &own = gradients[stage];
    addFragment("backward", stage, inputs, own);
    llvm::append_range(backward, own);
    if (splitsBackward[stage])
      addFragment("weight", stage, draw(backward, stage), own);
  }
  for (int64_t stage = 0; stage < numStages; ++stage)
    addUpdate(stage, gradients[stage]);
  drawOrder();

  std::string mesh = "<[\"mb\"=" + std::to_string(numMicroBatches) +
                     " : time, \"pp\"=" + std::to_string(numStages) +
                     " : stage]>";
  std::string rows;
  for (const std::vector<Action> &actions : order.ranks) {
    rows += rows.empty() ? "\"" : ", \"";
    for (const Action &action : actions)
      rows += (&action == &actions.front() ? "" : " ") + print(action);
    rows += "\"";
  }
  std::string global = std::to_string(kSizes[0] * numMicroBatches);
  return "module attributes {pp.level = #pp.level<pipeline>, pp.plan = "
         "#pp.plan<mesh = " +
         mesh + ", threads = 1>} {\npp.mesh @mesh = " + mesh + "\n" +
         writeKernels() + "func.func @main(%x: " + typeOf(kSizes[0]) +
         " {pp.role = #pp.role<input>, pp.name = \"x\", pp.sharding = "
         "#pp.sharding<@mesh, [{\"mb\"}]>, pp.global_shape = array<i64: " +
         global + ">}) -> (" + results +
         ") attributes {pp.schedule = #pp.schedule<\"" + order.name + "\", [" +
         rows + "]>} {\n" + body + "return " + returned + " : " + types +
         "\n}\n}\n";
}

TEST(StageGraphs, BecomeProgramsThatEnd) {
  pp::testing::Context context;
  DialectRegistry registry;
  registerCostModels(registry);
  registerLinalgModels(registry);
  context.appendDialectRegistry(registry);
  for (unsigned seed = 0; seed < 400; ++seed) {
    StageGraph graph(seed);
    std::string text = graph.write();
    SCOPED_TRACE("seed " + std::to_string(seed) + ": " + graph.describe());
    auto module = parseSourceString<ModuleOp>(text, &context);
    ASSERT_TRUE(module) << text;
    PassManager passes(&context);
    passes.addPass(createLowerToPrograms());
    passes.addPass(createShareSlots());
    passes.addPass(createPlanBuffers());
    passes.addPass(createVerifyPrograms());
    ASSERT_TRUE(succeeded(passes.run(*module))) << text;
  }
}

} // namespace
