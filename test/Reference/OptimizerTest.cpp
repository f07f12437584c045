//===- OptimizerTest.cpp - optimizer steps against their formulas ---------===//
//
// SPDX-License-Identifier: Apache-2.0
//
// The module's gradient is an input, so that each step is known by hand.
//
//===----------------------------------------------------------------------===//
#include "Testing.h"
#include "mlir/Pass/PassManager.h"
#include "pp/Transforms/Passes.h"
#include <cmath>
#include <gtest/gtest.h>

using namespace pp::reference;
using mlir::func::FuncOp;
using pp::testing::Context;

namespace {

/// Parameter values of one tensor over the steps, as `optimizer` updates them
/// from the gradients of each step. `metric`: its one metric, if it has any.
std::vector<std::vector<double>>
train(Context &context, std::string optimizer, std::vector<double> value,
      const std::vector<std::vector<double>> &gradients,
      std::vector<double> *metric = nullptr) {
  auto module = context.parse(
      "module attributes {pp.plan = #pp.plan<mesh = <[]>, optimizer = " +
      optimizer + R"(, threads = 1>} {
    func.func @main(%w: tensor<2xf64> {pp.role = #pp.role<param>, pp.name = "w"},
                    %g: tensor<2xf64> {pp.role = #pp.role<input>, pp.name = "g"})
        -> (tensor<f64>, tensor<2xf64> {pp.role = #pp.role<gradient>, pp.name = "w"}) {
      %l = pp.reduce sum %w dims [0] : tensor<2xf64> -> tensor<f64>
      return %l, %g : tensor<f64>, tensor<2xf64>
    }
  })");
  EXPECT_TRUE(module);
  mlir::PassManager passes(&context);
  passes.addPass(pp::createAddOptimizer());
  EXPECT_TRUE(mlir::succeeded(passes.run(*module)));
  auto main = module->lookupSymbol<FuncOp>("main");
  std::vector<HostTensor> inputs;
  for (mlir::Type type : main.getArgumentTypes())
    inputs.emplace_back(mlir::cast<mlir::RankedTensorType>(type));
  inputs[0].values = value;
  std::vector<std::vector<double>> trace;
  for (const std::vector<double> &gradient : gradients) {
    inputs[1].values = gradient;
    auto results = evaluate(main, inputs);
    // Results: loss, metric, parameter, states in the order of the arguments.
    if (metric) {
      metric->push_back((*results)[1].values.front());
      results->erase(results->begin() + 1);
    }
    inputs[0] = (*results)[1];
    for (size_t state = 2; state < inputs.size(); ++state)
      inputs[state] = (*results)[state];
    trace.push_back(inputs[0].values);
  }
  return trace;
}

const std::vector<std::vector<double>> kGradients = {
    {0.5, -2.0}, {0.25, 1.0}, {-3.0, 0.0}};
const std::vector<double> kStart = {1.0, -0.5};

/// Applies `step(t, element, value, gradient)` in plain doubles.
template <typename Step> std::vector<std::vector<double>> expected(Step step) {
  std::vector<double> value = kStart;
  std::vector<std::vector<double>> trace;
  for (size_t t = 0; t < kGradients.size(); ++t) {
    for (size_t i = 0; i < value.size(); ++i)
      value[i] = step(t + 1, i, value[i], kGradients[t][i]);
    trace.push_back(value);
  }
  return trace;
}

void expectNear(const std::vector<std::vector<double>> &actual,
                const std::vector<std::vector<double>> &wanted) {
  ASSERT_EQ(actual.size(), wanted.size());
  for (size_t t = 0; t < wanted.size(); ++t)
    for (size_t i = 0; i < wanted[t].size(); ++i)
      EXPECT_NEAR(actual[t][i], wanted[t][i], 1e-14)
          << "step " << t + 1 << ", element " << i;
}

TEST(Optimizer, SgdWithWeightDecay) {
  Context context;
  expectNear(train(context, "#pp.optimizer<sgd, lr = 0.1, weight_decay = 0.01>",
                   kStart, kGradients),
             expected([](int, size_t, double w, double g) {
               return w - 0.1 * (g + 0.01 * w);
             }));
}

TEST(Optimizer, MomentumStartsAtTheFirstGradient) {
  Context context;
  double buffer[2];
  expectNear(
      train(context, "#pp.optimizer<momentum, lr = 0.1>", kStart, kGradients),
      expected([&](int t, size_t i, double w, double g) {
        buffer[i] = t == 1 ? g : 0.9 * buffer[i] + g;
        return w - 0.1 * buffer[i];
      }));
}

/// torch.optim.Adam, or AdamW where `decoupled`.
auto adam(double lr, double decay, bool decoupled) {
  return [=, m = std::vector<double>(2), v = std::vector<double>(2)](
             int t, size_t i, double w, double g) mutable {
    if (decoupled)
      w *= 1 - lr * decay;
    else
      g += decay * w;
    m[i] = 0.9 * m[i] + 0.1 * g;
    v[i] = 0.999 * v[i] + 0.001 * g * g;
    double mean = m[i] / (1 - std::pow(0.9, t));
    double square = v[i] / (1 - std::pow(0.999, t));
    return w - lr * mean / (std::sqrt(square) + 1e-8);
  };
}

TEST(Optimizer, AdamAddsDecayToTheGradient) {
  Context context;
  expectNear(train(context,
                   "#pp.optimizer<adam, lr = 0.01, weight_decay = 0.1>", kStart,
                   kGradients),
             expected(adam(0.01, 0.1, false)));
}

TEST(Optimizer, AdamWDecaysByDefault) {
  Context context;
  expectNear(
      train(context, "#pp.optimizer<adamw, lr = 0.01>", kStart, kGradients),
      expected(adam(0.01, 0.01, true)));
}

TEST(Optimizer, ClipsTheGlobalNorm) {
  Context context;
  auto norm = [](int t) {
    const std::vector<double> &g = kGradients[t - 1];
    return std::sqrt(g[0] * g[0] + g[1] * g[1]);
  };
  std::vector<double> norms;
  // The second gradient is below the limit and stays as it is.
  expectNear(train(context, "#pp.optimizer<sgd, lr = 0.1, clip = 1.5>", kStart,
                   kGradients, &norms),
             expected([&](int t, size_t, double w, double g) {
               return w - 0.1 * g * std::min(1.0, 1.5 / (norm(t) + 1e-6));
             }));
  expectNear({norms}, {{norm(1), norm(2), norm(3)}});
}

TEST(Optimizer, RateWarmsUpAndFalls) {
  Context context;
  const auto rate = [](int t) {
    return t <= 2 ? 0.1 * t / 2 : 0.05 * (1 + std::cos(M_PI * (t - 2) / 2.0));
  };
  const std::string schedule = "lr = 0.1, warmup = 2, decay = cosine, steps = "
                               "4>";
  std::vector<double> rates;
  expectNear(train(context, "#pp.optimizer<sgd, " + schedule, kStart,
                   kGradients, &rates),
             expected([&](int t, size_t, double w, double g) {
               return w - rate(t) * g;
             }));
  expectNear({rates}, {{rate(1), rate(2), rate(3)}});
  // Along a line, to a rate that is left.
  const auto linear = [](int t) {
    return t <= 2 ? 0.1 * t / 2 : t == 3 ? 0.06 : 0.02;
  };
  expectNear(train(context,
                   "#pp.optimizer<sgd, lr = 0.1, warmup = 2, decay = linear, "
                   "steps = 4, min_lr = 0.02>",
                   kStart, kGradients, &rates),
             expected([&](int t, size_t, double w, double g) {
               return w - linear(t) * g;
             }));
  rates.clear();
  // Without what Adam makes of it.
  rates.clear();
  train(context, "#pp.optimizer<adamw, " + schedule, kStart, kGradients,
        &rates);
  expectNear({rates}, {{rate(1), rate(2), rate(3)}});
}

// The last pattern that matches counts; the other one is of no parameter.
TEST(Optimizer, ParametersHaveRatesOfTheirOwn) {
  Context context;
  const std::string plan = "#pp.optimizer<sgd, lr = 0.1, weight_decay = 0.2, "
                           "decay = linear, steps = 4, min_lr = 0.05>, ";
  for (const char *of : {"lr.of = \"*:0.7, w:0.3\", ", ""}) {
    const double lr = *of ? 0.3 : 0.1;
    for (const char *decayOf : {"weight_decay.of = \"w*:0\"", ""}) {
      const double decay = *decayOf ? 0 : 0.2;
      const std::string text = plan + of + decayOf;
      std::vector<double> rates;
      expectNear(train(context, text.substr(0, text.find_last_not_of(", ") + 1),
                       kStart, kGradients, &rates),
                 expected([&](int t, size_t, double w, double g) {
                   // Half of it is left at the end.
                   return w - lr * (1 - 0.5 * t / 4) * (g + decay * w);
                 }));
    }
  }
}

} // namespace
