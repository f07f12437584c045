//===- AdditiveTest.cpp - what sharding rules say about partial values ----===//
//
// SPDX-License-Identifier: Apache-2.0
//
// A rule lists sets of operands in which its op is additive: partial sums pass
// through them. Here random operands are split into two addends, the reference
// interpreter computes the op of each, and the two results must add up.
//
//===----------------------------------------------------------------------===//
#include "../../Random/RandomProgram.h"
#include "pp/IR/Aspects.h"
#include "pp/Reference/Interpreter.h"
#include "llvm/ADT/StringSet.h"
#include <gtest/gtest.h>
#include <random>

using namespace mlir;
using namespace pp;
using namespace pp::testing;
using reference::HostTensor;

namespace {

class Additive : public ::testing::Test {
protected:
  Additive() {
    DialectRegistry registry;
    registry.insert<PPDialect, func::FuncDialect>();
    registerShardingModels(registry);
    context.appendDialectRegistry(registry);
    context.loadAllAvailableDialects();
  }

  HostTensor evaluate(Operation *op, ArrayRef<HostTensor> operands) {
    SmallVector<const HostTensor *> pointers;
    for (const HostTensor &operand : operands)
      pointers.push_back(&operand);
    auto results = reference::evaluateOp(op, pointers);
    EXPECT_TRUE(succeeded(results));
    return succeeded(results) ? std::move(results->front()) : HostTensor();
  }

  /// Checks each set of the op's rule at these operands.
  void check(Operation *op, ArrayRef<HostTensor> operands) {
    ShardingRule rule = cast<ShardingOpInterface>(op).getShardingRule();
    const HostTensor whole = evaluate(op, operands);
    for (ArrayRef<unsigned> set : rule.additive) {
      SmallVector<HostTensor> first(operands), second(operands);
      for (unsigned index : set) {
        const bool isFloat = isa<FloatType>(operands[index].elementType());
        const double parts = isFloat ? 8 : 1; // of one
        for (auto [a, b] :
             llvm::zip_equal(first[index].values, second[index].values)) {
          a = std::round(a * share(random) * parts) / parts;
          b -= a;
        }
      }
      const HostTensor one = evaluate(op, first), other = evaluate(op, second);
      for (auto [sum, a, b] :
           llvm::zip_equal(whole.values, one.values, other.values)) {
        double size = std::max({1.0, std::abs(sum), std::abs(a), std::abs(b)});
        if (!std::isfinite(sum) || std::abs(a + b - sum) <= 1e-9 * size)
          continue;
        ADD_FAILURE() << "expects " << sum << ", got " << a << " + " << b;
        op->dump();
        return;
      }
      tested.insert(op->getName().getStringRef());
    }
  }

  MLIRContext context;
  std::mt19937 random{0};
  std::uniform_real_distribution<double> share{-3, 3};
  llvm::StringSet<> tested;
};

TEST_F(Additive, PartialSumsPassThrough) {
  RandomProgramOptions options;
  options.numOps = 30;
  options.maxMagnitude = 100;
  for (unsigned seed = 0; seed < 200 && !HasFailure(); ++seed) {
    auto module = makeRandomProgram(context, seed, options);
    auto main = module->lookupSymbol<func::FuncOp>("main");
    std::vector<HostTensor> inputs = makeRandomInputs(main, seed);
    llvm::DenseMap<Value, HostTensor> values;
    for (auto [argument, input] : llvm::zip_equal(main.getArguments(), inputs))
      values[argument] = input;
    for (Operation &op : main.getBody().front().without_terminator()) {
      SmallVector<HostTensor> operands;
      for (Value operand : op.getOperands())
        operands.push_back(values.at(operand));
      values[op.getResult(0)] = evaluate(&op, operands);
      check(&op, operands);
    }
  }
  // All that say so were drawn.
  for (StringRef name :
       {"pp.add", "pp.sub", "pp.mul", "pp.div", "pp.neg", "pp.select",
        "pp.reduce", "pp.dot_general", "pp.cumsum", "pp.broadcast",
        "pp.reshape", "pp.transpose", "pp.slice", "pp.pad", "pp.concatenate",
        "pp.gather", "pp.scatter_add", "pp.convolution", "pp.reduce_window"})
    EXPECT_TRUE(tested.contains(name)) << name.str();
}

} // namespace
