//===- OptimizerTest.cpp - what an optimizer says of its steps ------------===//
//
// SPDX-License-Identifier: Apache-2.0
//
//===----------------------------------------------------------------------===//
#include "mlir/AsmParser/AsmParser.h"
#include "mlir/IR/MLIRContext.h"
#include "pp/IR/PP.h"
#include <gtest/gtest.h>

static std::vector<double> ratesOf(const char *text) {
  mlir::MLIRContext context;
  context.loadDialect<pp::PPDialect>();
  auto optimizer =
      llvm::cast<pp::OptimizerAttr>(mlir::parseAttribute(text, &context));
  std::vector<double> rates;
  for (int64_t step = 1; step <= 6; ++step)
    rates.push_back(optimizer.getRate(step));
  return rates;
}

TEST(Optimizer, RateRisesThenStaysOrFalls) {
  EXPECT_EQ(ratesOf("#pp.optimizer<sgd, lr = 0.5>"),
            std::vector<double>(6, 0.5));
  EXPECT_EQ(ratesOf("#pp.optimizer<sgd, lr = 1.0, warmup = 4>"),
            (std::vector<double>{0.25, 0.5, 0.75, 1, 1, 1}));
  EXPECT_EQ(ratesOf("#pp.optimizer<sgd, lr = 1.0, decay = linear, steps = 4, "
                    "min_lr = 0.5>"),
            (std::vector<double>{0.875, 0.75, 0.625, 0.5, 0.5, 0.5}));
  const std::vector<double> cosine = ratesOf(
      "#pp.optimizer<adam, lr = 1.0, warmup = 2, decay = cosine, steps = 4>");
  const double expected[] = {0.5, 1, 0.5, 0, 0, 0};
  for (size_t i = 0; i < cosine.size(); ++i)
    EXPECT_NEAR(cosine[i], expected[i], 1e-15) << i;
}
