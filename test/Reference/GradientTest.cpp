//===- GradientTest.cpp - every gradient against central differences ------===//
//
// SPDX-License-Identifier: Apache-2.0
//
// pp-differentiate builds the gradient, the reference interpreter evaluates it
// and the loss around the same point.
//
//===----------------------------------------------------------------------===//
#include "../Random/RandomProgram.h"
#include "Testing.h"
#include "mlir/IR/Verifier.h"
#include "mlir/Pass/PassManager.h"
#include "pp/IR/Aspects.h"
#include "pp/IR/Model.h"
#include "pp/Models/Models.h"
#include "pp/Transforms/Passes.h"
#include <cmath>
#include <gtest/gtest.h>

using namespace pp::reference;
using mlir::func::FuncOp;
using pp::testing::Context;

namespace {

class Gradient : public ::testing::Test {
protected:
  void SetUp() override {
    mlir::DialectRegistry registry;
    pp::registerGradientModels(registry);
    context.appendDialectRegistry(registry);
  }

  /// Loss and gradients at `inputs`; empty when the pass fails.
  std::vector<HostTensor> differentiate(mlir::ModuleOp module,
                                        const std::vector<HostTensor> &inputs) {
    mlir::PassManager passes(&context);
    passes.addPass(pp::createDifferentiate());
    if (mlir::failed(passes.run(module)))
      return {};
    auto results = evaluate(module.lookupSymbol<FuncOp>("main"), inputs);
    if (mlir::failed(results))
      return {};
    return std::move(*results);
  }

  /// Compares every parameter's gradient, at no more than `limit` elements.
  void check(mlir::ModuleOp module, std::vector<HostTensor> inputs,
             int64_t limit = 1000) {
    mlir::OwningOpRef<mlir::ModuleOp> forward(module.clone());
    auto main = forward->lookupSymbol<FuncOp>("main");
    auto loss = [&] { return (*evaluate(main, inputs))[0].values[0]; };
    std::vector<HostTensor> results = differentiate(module, inputs);
    ASSERT_FALSE(results.empty());
    ASSERT_TRUE(std::isfinite(results[0].values[0]));
    size_t next = main.getNumResults();
    for (unsigned index = 0; index < inputs.size(); ++index) {
      if (pp::getArgRole(main, index) != pp::Role::Param)
        continue;
      const HostTensor &gradient = results.at(next++);
      ASSERT_EQ(gradient.type, inputs[index].type);
      int64_t stride = std::max<int64_t>(1, gradient.size() / limit);
      for (int64_t i = 0; i < gradient.size(); i += stride) {
        const double step = 1e-5;
        double &slot = inputs[index].values[i];
        double centre = slot;
        slot = centre + step;
        double above = loss();
        slot = centre - step;
        double below = loss();
        slot = centre;
        double expected = (above - below) / (2 * step);
        EXPECT_NEAR(gradient.values[i], expected,
                    1e-6 * std::max(1.0, std::fabs(expected)))
            << "parameter " << index << ", element " << i;
      }
    }
  }

  Context context;
};

/// `body` computes %y, of type `result`, from parameters whose types are given
/// in order as %a, %b, %c. The loss is the sum of sin(%y).
struct Case {
  const char *name;
  std::vector<std::string> parameters;
  std::string body;
  std::string result;
};

std::string spell(const Case &test) {
  std::string text = "func.func @main(", shape = test.result;
  for (size_t i = 0; i < test.parameters.size(); ++i)
    text += std::string(i ? ", " : "") + "%" + char('a' + i) + ": tensor<" +
            test.parameters[i] + "> {pp.role = #pp.role<param>, pp.name = \"" +
            char('a' + i) + "\"}";
  text += ") -> tensor<f64> {\n" + test.body + "\n";
  std::string dims;
  for (size_t i = 0, rank = std::count(shape.begin(), shape.end(), 'x');
       i < rank; ++i)
    dims += (i ? ", " : "") + std::to_string(i);
  text += "%wave = pp.sin %y : tensor<" + shape + ">\n";
  text += "%loss = pp.reduce sum %wave dims [" + dims + "] : tensor<" + shape +
          "> -> tensor<f64>\n";
  return text + "return %loss : tensor<f64>\n}";
}

std::vector<Case> cases() {
  std::vector<Case> all;
  for (std::string op :
       {"neg", "abs", "exp", "tanh", "erf", "logistic", "sin", "cos", "sign"})
    all.push_back(
        {"", {"5xf64"}, "%y = pp." + op + " %a : tensor<5xf64>", "5xf64"});
  for (std::string op : {"log", "log1p", "sqrt", "rsqrt"})
    all.push_back({"",
                   {"5xf64"},
                   "%e = pp.exp %a : tensor<5xf64>\n"
                   "%y = pp." +
                       op + " %e : tensor<5xf64>",
                   "5xf64"});
  for (std::string op : {"add", "sub", "mul", "max", "min"})
    all.push_back({"",
                   {"5xf64", "5xf64"},
                   "%y = pp." + op + " %a, %b : tensor<5xf64>",
                   "5xf64"});
  all.push_back({"div",
                 {"5xf64", "5xf64"},
                 R"(
    %e = pp.exp %b : tensor<5xf64>
    %y = pp.div %a, %e : tensor<5xf64>)",
                 "5xf64"});
  all.push_back({"pow",
                 {"5xf64", "5xf64"},
                 R"(
    %e = pp.exp %a : tensor<5xf64>
    %y = pp.pow %e, %b : tensor<5xf64>)",
                 "5xf64"});
  all.push_back({"power of zero",
                 {"2xf64"},
                 R"(
    %z = pp.sub %a, %a : tensor<2xf64>
    %two = pp.constant dense<2.0> : tensor<2xf64>
    %p = pp.pow %z, %two : tensor<2xf64>
    %y = pp.add %p, %a : tensor<2xf64>)",
                 "2xf64"});
  // Every element ties with itself: half to each use.
  all.push_back({"ties",
                 {"4xf64"},
                 R"(
    %m = pp.max %a, %a : tensor<4xf64>
    %n = pp.min %a, %m : tensor<4xf64>
    %y = pp.mul %m, %n : tensor<4xf64>)",
                 "4xf64"});
  all.push_back({"select",
                 {"4xf64", "4xf64"},
                 R"(
    %m = pp.compare lt %a, %b : tensor<4xf64> -> tensor<4xi1>
    %n = pp.not %m : tensor<4xi1>
    %s = pp.select %m, %a, %b : tensor<4xi1>, tensor<4xf64>
    %t = pp.select %n, %a, %b : tensor<4xi1>, tensor<4xf64>
    %y = pp.mul %s, %t : tensor<4xf64>)",
                 "4xf64"});
  all.push_back({"convert",
                 {"4xf64"},
                 R"(
    %n = pp.convert %a : tensor<4xf64> -> tensor<4xf32>
    %e = pp.exp %n : tensor<4xf32>
    %y = pp.convert %e : tensor<4xf32> -> tensor<4xf64>)",
                 "4xf64"});
  all.push_back({"broadcast",
                 {"3xf64", "f64"},
                 R"(
    %b1 = pp.broadcast %a dims [1] : tensor<3xf64> -> tensor<2x3x2xf64>
    %b2 = pp.broadcast %b dims [] : tensor<f64> -> tensor<2x3x2xf64>
    %y = pp.mul %b1, %b2 : tensor<2x3x2xf64>)",
                 "2x3x2xf64"});
  all.push_back({"moves",
                 {"2x3x4xf64"},
                 R"(
    %f = pp.reverse %a dims [0, 2] : tensor<2x3x4xf64>
    %t = pp.transpose %f perm [2, 0, 1] : tensor<2x3x4xf64> -> tensor<4x2x3xf64>
    %r = pp.reshape %t : tensor<4x2x3xf64> -> tensor<8x3xf64>
    %s = pp.slice %r [1, 0], [8, 3], [3, 2] : tensor<8x3xf64> -> tensor<3x2xf64>
    %u = pp.slice %r [0, 1], [3, 3], [1, 1] : tensor<8x3xf64> -> tensor<3x2xf64>
    %y = pp.concatenate %s, %u, %s dim 1 : tensor<3x2xf64>, tensor<3x2xf64>, tensor<3x2xf64> -> tensor<3x6xf64>)",
                 "3x6xf64"});
  all.push_back({"pad",
                 {"2x3xf64", "f64"},
                 R"(
    %y = pp.pad %a, %b low [1, 0] high [0, 2] interior [2, 1] : tensor<2x3xf64>, tensor<f64> -> tensor<5x7xf64>)",
                 "5x7xf64"});
  all.push_back({"computed boxes",
                 {"3x4xf64", "2x2xf64"},
                 R"(
    %i = pp.constant dense<1> : tensor<i32>
    %j = pp.constant dense<7> : tensor<i32>
    %s = pp.dynamic_slice %a [%i, %j] : tensor<3x4xf64>, tensor<i32>, tensor<i32> -> tensor<2x2xf64>
    %m = pp.mul %s, %b : tensor<2x2xf64>
    %y = pp.dynamic_update_slice %a, %m [%j, %i] : tensor<3x4xf64>, tensor<2x2xf64>, tensor<i32>, tensor<i32>)",
                 "3x4xf64"});
  for (std::string op : {"sum", "max", "min", "prod"})
    all.push_back({"",
                   {"2x3x2xf64"},
                   "%y = pp.reduce " + op +
                       " %a dims [0, 2] : tensor<2x3x2xf64> -> tensor<3xf64>",
                   "3xf64"});
  all.push_back({"product with zeros",
                 {"3x4xf64"},
                 R"(
    %mask = pp.constant dense<[[true, true, true, true], [true, false, true, true], [false, true, false, true]]> : tensor<3x4xi1>
    %z = pp.sub %a, %a : tensor<3x4xf64>
    %x = pp.select %mask, %a, %z : tensor<3x4xi1>, tensor<3x4xf64>
    %y = pp.reduce prod %x dims [1] : tensor<3x4xf64> -> tensor<3xf64>)",
                 "3xf64"});
  all.push_back({"cumsum",
                 {"2x3xf64"},
                 R"(
    %f = pp.cumsum %a dim 1 : tensor<2x3xf64>
    %y = pp.cumsum %f dim 0 reverse : tensor<2x3xf64>)",
                 "2x3xf64"});
  // Batch dimensions that come last, two contracted ones, transposed operands.
  all.push_back({"dot_general",
                 {"2x3x4x5xf64", "5x6x2x3xf64"},
                 R"(
    %y = pp.dot_general %a, %b batch [1] x [3] contract [3, 0] x [0, 2]
      : tensor<2x3x4x5xf64>, tensor<5x6x2x3xf64> -> tensor<3x4x6xf64>)",
                 "3x4x6xf64"});
  all.push_back({"linear",
                 {"2x3x4xf64", "4x5xf64"},
                 R"(
    %y = pp.dot_general %a, %b batch [] x [] contract [2] x [0]
      : tensor<2x3x4xf64>, tensor<4x5xf64> -> tensor<2x3x5xf64>)",
                 "2x3x5xf64"});
  // As images have it, with holes in the windows.
  all.push_back({"convolution",
                 {"2x5x6x2xf64", "3x2x2x3xf64"},
                 R"(
    %y = pp.convolution %a, %b batch [] x [] contract [3] x [2] window [1, 2] x [0, 1] -> [1, 2]
      strides [2, 1] low [1, 1] high [2, 0] dilation [1, 1] x [1, 2]
      : tensor<2x5x6x2xf64>, tensor<3x2x2x3xf64> -> tensor<2x3x5x3xf64>)",
                 "2x3x5x3xf64"});
  // Groups, transposed kernels, a window between other dimensions.
  all.push_back({"grouped convolution",
                 {"3x4x2x3xf64", "2x3x2x3xf64"},
                 R"(
    %y = pp.convolution %a, %b batch [2] x [0] contract [3] x [1] window [1] x [3] -> [1]
      strides [1] low [0] high [1] dilation [2] x [1]
      : tensor<3x4x2x3xf64>, tensor<2x3x2x3xf64> -> tensor<2x6x3x2xf64>)",
                 "2x6x3x2xf64"});
  all.push_back({"reversed convolution",
                 {"2x3x4x2xf64", "3x2x3x2xf64"},
                 R"(
    %y = pp.convolution %a, %b batch [] x [] contract [3] x [3] window [1, 2] x [0, 1] -> [1, 2]
      strides [1, 2] low [1, 2] high [2, 1] dilation [2, 1] x [1, 1] reverse
      : tensor<2x3x4x2xf64>, tensor<3x2x3x2xf64> -> tensor<2x6x3x3xf64>)",
                 "2x6x3x3xf64"});
  // More is cut off than a window is wide.
  all.push_back({"cut convolution",
                 {"2x6x2xf64", "2x2x2xf64"},
                 R"(
    %y = pp.convolution %a, %b batch [] x [] contract [2] x [1] window [1] x [0] -> [2]
      strides [1] low [-2] high [3] dilation [1] x [1]
      : tensor<2x6x2xf64>, tensor<2x2x2xf64> -> tensor<2x2x6xf64>)",
                 "2x2x6xf64"});
  for (std::string op : {"sum", "max", "min"})
    all.push_back({"",
                   {"2x5x6xf64"},
                   "%y = pp.reduce_window " + op +
                       " %a dims [1, 2] sizes [3, 2] strides [2, 3] dilation "
                       "[1, 2] low [1, 0] high [1, -1] : tensor<2x5x6xf64> -> "
                       "tensor<2x3x1xf64>",
                   "2x3x1xf64"});
  all.push_back({"indexing",
                 {"4x2xf64", "3x2xf64"},
                 R"(
    %i = pp.constant dense<[2, -1, 9]> : tensor<3xi32>
    %g = pp.gather %a[%i] batch 0 : tensor<4x2xf64>, tensor<3xi32> -> tensor<3x2xf64>
    %m = pp.mul %g, %b : tensor<3x2xf64>
    %y = pp.scatter_add %a[%i], %m batch 0 : tensor<4x2xf64>, tensor<3xi32>, tensor<3x2xf64>)",
                 "4x2xf64"});
  all.push_back({"labels",
                 {"2x3x4xf64"},
                 R"(
    %i = pp.constant dense<[[0, 3, 3], [1, 2, 0]]> : tensor<2x3xi32>
    %y = pp.gather %a[%i] batch 2 : tensor<2x3x4xf64>, tensor<2x3xi32> -> tensor<2x3xf64>)",
                 "2x3xf64"});
  // A softmax whose masked scores are -inf: their gradient is 0, not NaN.
  all.push_back({"masked softmax",
                 {"3x3xf64"},
                 R"(
    %r = pp.iota dim 0 : tensor<3x3xi32>
    %c = pp.iota dim 1 : tensor<3x3xi32>
    %m = pp.compare ge %r, %c : tensor<3x3xi32> -> tensor<3x3xi1>
    %inf = pp.constant dense<0xFFF0000000000000> : tensor<3x3xf64>
    %s = pp.select %m, %a, %inf : tensor<3x3xi1>, tensor<3x3xf64>
    %x = pp.reduce max %s dims [1] : tensor<3x3xf64> -> tensor<3xf64>
    %xb = pp.broadcast %x dims [0] : tensor<3xf64> -> tensor<3x3xf64>
    %d = pp.sub %s, %xb : tensor<3x3xf64>
    %e = pp.exp %d : tensor<3x3xf64>
    %t = pp.reduce sum %e dims [1] : tensor<3x3xf64> -> tensor<3xf64>
    %tb = pp.broadcast %t dims [0] : tensor<3xf64> -> tensor<3x3xf64>
    %y = pp.div %e, %tb : tensor<3x3xf64>)",
                 "3x3xf64"});
  return all;
}

TEST_F(Gradient, EveryOp) {
  for (const Case &test : cases()) {
    SCOPED_TRACE(test.body);
    auto module = context.parse(spell(test));
    ASSERT_TRUE(module);
    check(*module, pp::testing::makeRandomInputs(
                       module->lookupSymbol<FuncOp>("main"), 7));
  }
}

TEST_F(Gradient, WholeModels) {
  pp::GptConfig config;
  config.layers = 2;
  config.hidden = 8;
  config.heads = 2;
  config.seq = 4;
  config.batch = 2;
  config.vocab = 8;
  for (bool tied : {false, true}) {
    SCOPED_TRACE(tied ? "tied" : "untied");
    config.tied = tied;
    auto module =
        pp::buildGpt(context, config, mlir::Float64Type::get(&context));
    ASSERT_TRUE(module);
    check(
        *module,
        pp::testing::makeRandomInputs(module->lookupSymbol<FuncOp>("main"), 3),
        /*limit=*/6);
  }
}

TEST_F(Gradient, ThreeTiesShareEqually) {
  auto module = context.parse(R"(
    func.func @main(%a: tensor<4xf64> {pp.role = #pp.role<param>, pp.name = "a"}) -> tensor<f64> {
      %l = pp.reduce max %a dims [0] : tensor<4xf64> -> tensor<f64>
      return %l : tensor<f64>
    })");
  auto results =
      differentiate(*module, {context.tensor("4xf64", {2, 5, 5, 5})});
  ASSERT_EQ(results.size(), 2u);
  EXPECT_EQ(results[1].values,
            (std::vector<double>{0, 1. / 3, 1. / 3, 1. / 3}));
}

TEST_F(Gradient, StopGradientStops) {
  auto module = context.parse(R"(
    func.func @main(%a: tensor<f64> {pp.role = #pp.role<param>, pp.name = "a"}) -> tensor<f64> {
      %s = pp.stop_gradient %a : tensor<f64>
      %l = pp.mul %a, %s : tensor<f64>
      return %l : tensor<f64>
    })");
  auto results = differentiate(*module, {context.tensor("f64", {3})});
  ASSERT_EQ(results.size(), 2u);
  EXPECT_EQ(results[1].values, (std::vector<double>{3}));
}

TEST_F(Gradient, RandomPrograms) {
  for (unsigned seed = 0; seed < 60; ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    auto module = pp::testing::makeRandomProgram(context, seed);
    auto main = module->lookupSymbol<FuncOp>("main");
    ASSERT_TRUE(mlir::succeeded(mlir::verify(*module)));
    check(*module, pp::testing::makeRandomInputs(main, seed));
  }
}

} // namespace
