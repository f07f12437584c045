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
    registerCostModels(registry);
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

/// Two axes whose nine parts all change places.
TEST_F(PartitionOnce, OfNinePartsOfAxes) {
  const std::string parts = "tensor<2x2x2x2x2x2x2x2x2xf64>";
  auto module = parseSourceString<ModuleOp>(
      "module attributes {pp.plan = #pp.plan<mesh = <[\"a\"=16, \"b\"=32]>>} "
      "{ pp.mesh @mesh = <[\"a\"=16, \"b\"=32]> func.func @main(%x: "
      "tensor<512xf64> {pp.name = \"x\", pp.sharding = "
      "#pp.sharding<@mesh, [{\"a\", \"b\"}]>}) -> tensor<512xf64> { "
      "%0 = pp.reshape %x : tensor<512xf64> -> " +
          parts + " %1 = pp.tanh %0 : " + parts +
          " %2 = pp.transpose %1 perm [8, 7, 6, 5, 4, 3, 2, 1, 0] : " + parts +
          " -> " + parts + " %3 = pp.reshape %2 : " + parts +
          " -> tensor<512xf64> %4 = pp.sharding_constraint %3 to <@mesh, "
          "[{\"b\", \"a\"}]> : tensor<512xf64> return %4 : tensor<512xf64> } }",
      &context);
  ASSERT_TRUE(module);
  const Verdict verdict = judgeShardings(*module, /*seed=*/0);
  EXPECT_EQ(verdict.refusal + verdict.fault, "");
}

/// Padding in the middle of a dimension that an argument has whole, here one
/// that is updated: its form at rest has none.
TEST_F(PartitionOnce, OfArgumentsPaddedWhereUsed) {
  auto module = parseSourceString<ModuleOp>(
      R"(module attributes {pp.plan = #pp.plan<mesh = <["a"=3]>>} {
        pp.mesh @mesh = <["a"=3]>
        func.func @main(%w: tensor<3x4xf64> {pp.name = "w",
            pp.role = #pp.role<param>}) -> (tensor<3xf64>, tensor<3x4xf64>
            {pp.name = "w", pp.role = #pp.role<param>}) {
          %0 = pp.reshape %w : tensor<3x4xf64> -> tensor<3x2x2xf64>
          %1 = pp.sharding_constraint %0 to <@mesh, [{}, {}, {"a"}]>
            : tensor<3x2x2xf64>
          %2 = pp.exp %w : tensor<3x4xf64>
          %3 = pp.reshape %1 : tensor<3x2x2xf64> -> tensor<3x4xf64>
          %4 = pp.add %2, %3 : tensor<3x4xf64>
          %5 = pp.reduce prod %4 dims [1] : tensor<3x4xf64> -> tensor<3xf64>
          return %5, %2 : tensor<3xf64>, tensor<3x4xf64> } })",
      &context);
  ASSERT_TRUE(module);
  compare(*module);
  EXPECT_EQ(refused, 0);
}

/// Sums over a dimension that reshapes split in ways that do not refine each
/// other; and a largest element, which is no sum: its negative is the least
/// one.
TEST_F(PartitionOnce, OfReductions) {
  for (StringRef body : {R"(%x: tensor<4x6xf64> {pp.name = "x",
              pp.sharding = #pp.sharding<@mesh, [{"a"}, {}]>},
            %y: tensor<6x4xf64> {pp.name = "y",
              pp.sharding = #pp.sharding<@mesh, [{}, {"a"}]>}) -> tensor<f64> {
          %0 = pp.exp %x : tensor<4x6xf64>
          %1 = pp.reshape %0 : tensor<4x6xf64> -> tensor<24xf64>
          %2 = pp.exp %y : tensor<6x4xf64>
          %3 = pp.reshape %2 : tensor<6x4xf64> -> tensor<24xf64>
          %4 = pp.dot_general %1, %3 batch [] x [] contract [0] x [0]
            : tensor<24xf64>, tensor<24xf64> -> tensor<f64>
          return %4 : tensor<f64> } })",
                         R"(%x: tensor<4x6xf64> {pp.name = "x",
              pp.sharding = #pp.sharding<@mesh, [{}, {"a"}]>})
            -> tensor<4xf64> {
          %0 = pp.reduce max %x dims [1] : tensor<4x6xf64> -> tensor<4xf64>
          %1 = pp.neg %0 : tensor<4xf64>
          return %1 : tensor<4xf64> } })"}) {
    auto module = parseSourceString<ModuleOp>(
        "module attributes {pp.plan = #pp.plan<mesh = <[\"a\"=3]>>} { pp.mesh "
        "@mesh = <[\"a\"=3]> func.func @main(" +
            body.str(),
        &context);
    ASSERT_TRUE(module);
    compare(*module);
  }
  EXPECT_EQ(refused, 0);
}

/// Scans along dimensions that are split, padded, or padded in their middle, as
/// what shares them is split otherwise. Logarithms of some numbers are NaN, of
/// which the first comes before all others.
TEST_F(PartitionOnce, OfScans) {
  for (int64_t size : {12, 10, 7})
    for (int64_t dim : {0, 1}) {
      std::vector<std::string> shardings;
      listShardings(2, {"a", "b"}, {"{}", "{}"}, shardings);
      for (StringRef scanned : shardings)
        for (StringRef other : shardings) {
          const std::string n = std::to_string(size), d = std::to_string(dim);
          auto typeOf = [&](const std::string &along, StringRef element) {
            return "tensor<" + (dim ? "5x" + along : along + "x5") + "x" +
                   element.str() + ">";
          };
          const std::string x = typeOf(n, "f64"), top = typeOf("2", "i32"),
                            places = "tensor<5xi32>";
          auto module = parseSourceString<ModuleOp>(
              "module attributes {pp.plan = #pp.plan<mesh = <[\"a\"=2, "
              "\"b\"=3]>, threads = 1>} { pp.mesh @mesh = <[\"a\"=2, "
              "\"b\"=3]> func.func @main(%x: " +
                  x + " {pp.name = \"x\"}) -> (" + x + ", " + x + ", " +
                  places + ", " + top + ") { %0 = pp.log %x : " + x +
                  " %1 = pp.sharding_constraint %0 to <@mesh, " +
                  scanned.str() + "> : " + x +
                  " %2 = pp.sharding_constraint %x to <@mesh, " + other.str() +
                  "> : " + x + " %3 = pp.exp %2 : " + x +
                  " %4 = pp.cumsum %1 dim " + d + " : " + x +
                  " %5 = pp.argmax %1 dim " + d + " : " + x + " -> " + places +
                  " %6 = pp.top_k %1 dim " + d + " : " + x + " -> " + top +
                  " return %3, %4, %5, %6 : " + x + ", " + x + ", " + places +
                  ", " + top + " } }",
              &context);
          ASSERT_TRUE(module);
          compare(*module);
          if (HasFailure())
            return;
        }
    }
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
