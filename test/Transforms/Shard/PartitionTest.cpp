//===- PartitionTest.cpp - small programs, partitioned and simulated ------===//
//
// SPDX-License-Identifier: Apache-2.0
//
// Programs of a few ops in all the shardings that there are, where random ones
// hardly ever meet what matters.
//
//===----------------------------------------------------------------------===//
#include "ShardingJudge.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Parser/Parser.h"
#include "pp/IR/Aspects.h"
#include "pp/IR/PP.h"
#include <gtest/gtest.h>

using namespace mlir;
using namespace pp;
using namespace pp::testing;

namespace {

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

  /// Runs the module with the shardings that it has, on all devices and whole.
  void compare(ModuleOp module) {
    OwningOpRef<ModuleOp> copy = module.clone();
    refused += !judgeShardings(*copy, /*seed=*/0).refusal.empty();
    EXPECT_EQ(findFault(module, /*seed=*/0), "");
  }

  MLIRContext context;
  int refused = 0;
};

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
TEST(ShardingJudge, FindsFaultWithPassesThatFailWithoutAWord) {
  EXPECT_EQ(judgeFailure("expects \"tp\" to split some tensor").fault, "");
  EXPECT_EQ(judgeFailure("expects f64, got f32").fault, "expects f64, got f32");
  EXPECT_NE(judgeFailure("").fault, "");
}

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
          compare(*module);
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
    compare(*module);
  }
  EXPECT_EQ(refused, 0);
}

/// Micro-batches below an axis that splits another dimension before.
TEST_F(PartitionOnce, OfMicroBatches) {
  auto module = parseSourceString<ModuleOp>(
      R"(module attributes {pp.plan = #pp.plan<mesh = <["t"=3 : time, "b"=2]>>} {
        pp.mesh @mesh = <["t"=3 : time, "b"=2]>
        func.func @main(%x: tensor<6x4xf64> {pp.name = "x",
            pp.sharding = #pp.sharding<@mesh, [{}, {"b"}]>}) -> tensor<f64> {
          %0 = pp.sharding_constraint %x to <@mesh, [{"b", "t"}, {}]>
            : tensor<6x4xf64>
          %1 = pp.sin %0 : tensor<6x4xf64>
          %2 = pp.reduce sum %1 dims [0, 1] : tensor<6x4xf64> -> tensor<f64>
          return %2 : tensor<f64> } })",
      &context);
  ASSERT_TRUE(module);
  compare(*module);
  EXPECT_EQ(refused, 0);
}

} // namespace
