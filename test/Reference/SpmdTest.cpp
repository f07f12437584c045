//===- SpmdTest.cpp - collectives, layouts and micro-batches --------------===//
//
// SPDX-License-Identifier: Apache-2.0
//
// Programs of level 2, run on all ranks at once, against numbers worked out by
// hand; and what the evaluator refuses.
//
//===----------------------------------------------------------------------===//
#include "pp/Reference/Spmd.h"
#include "Testing.h"
#include <gtest/gtest.h>

using namespace pp::reference;
using pp::testing::Context;
using Values = std::vector<double>;

namespace {

std::vector<HostTensor> runSpmd(Context &context, llvm::StringRef text,
                                std::vector<HostTensor> inputs) {
  auto module = context.parse(text);
  if (!module)
    return {};
  auto mesh = *module->getOps<pp::MeshOp>().begin();
  auto results = evaluateSpmd(module->lookupSymbol<mlir::func::FuncOp>("main"),
                              mesh.getMesh(), inputs);
  if (mlir::failed(results))
    return {};
  return std::move(*results);
}

TEST(Spmd, MatmulWithShardedContraction) {
  Context context;
  auto results = runSpmd(context, R"(
    pp.mesh @mesh = <["dp"=2, "tp"=2]>
    func.func @main(%x: tensor<1x1xf64> {pp.sharding = #pp.sharding<@mesh, [{"dp"}, {"tp"}]>},
                    %w: tensor<1x2xf64> {pp.sharding = #pp.sharding<@mesh, [{"tp"}, {}]>})
        -> (tensor<1x2xf64> {pp.sharding = #pp.sharding<@mesh, [{"dp"}, {}]>},
            tensor<1x2xf64> {pp.sharding = #pp.sharding<@mesh, [{"dp"}, {}], partial = {"tp"=sum}>},
            tensor<1x1xf64> {pp.sharding = #pp.sharding<@mesh, [{"dp"}, {"tp"}]>}) {
      %p = pp.dot_general %x, %w batch [] x [] contract [1] x [0] : tensor<1x1xf64>, tensor<1x2xf64> -> tensor<1x2xf64>
      %r = pp.all_reduce sum %p over @mesh ["tp"] : (tensor<1x2xf64>) -> tensor<1x2xf64>
      %s = pp.reduce_scatter sum %p dims [1] over @mesh ["tp"] : (tensor<1x2xf64>) -> tensor<1x1xf64>
      return %r, %p, %s : tensor<1x2xf64>, tensor<1x2xf64>, tensor<1x1xf64>
    })",
                         {context.tensor("2x2xf64", {1, 2, 3, 4}),
                          context.tensor("2x2xf64", {5, 6, 7, 8})});
  ASSERT_EQ(results.size(), 3u);
  for (const HostTensor &result : results)
    EXPECT_EQ(result.values, (Values{19, 22, 43, 50}));
}

TEST(Spmd, OneCallMovesEachTensorAlongItsDimension) {
  Context context;
  auto results = runSpmd(context, R"(
    pp.mesh @mesh = <["a"=2]>
    func.func @main(
        %x: tensor<1x2xf64> {pp.sharding = #pp.sharding<@mesh, [{"a"}, {}]>},
        %y: tensor<2x1xf64> {pp.sharding = #pp.sharding<@mesh, [{}, {"a"}]>})
        -> (tensor<1x2xf64> {pp.sharding = #pp.sharding<@mesh, [{"a"}, {}]>},
            tensor<2x1xf64> {pp.sharding = #pp.sharding<@mesh, [{}, {"a"}]>}) {
      %g:2 = pp.all_gather %x, %y dims [0, 1] over @mesh ["a"] : (tensor<1x2xf64>, tensor<2x1xf64>) -> (tensor<2x2xf64>, tensor<2x2xf64>)
      %s:2 = pp.reduce_scatter sum %g#0, %g#1 dims [0, 1] over @mesh ["a"] : (tensor<2x2xf64>, tensor<2x2xf64>) -> (tensor<1x2xf64>, tensor<2x1xf64>)
      return %s#0, %s#1 : tensor<1x2xf64>, tensor<2x1xf64>
    })",
                         {context.tensor("2x2xf64", {1, 2, 3, 4}),
                          context.tensor("2x2xf64", {5, 6, 7, 8})});
  ASSERT_EQ(results.size(), 2u);
  EXPECT_EQ(results[0].values, (Values{2, 4, 6, 8}));
  EXPECT_EQ(results[1].values, (Values{10, 12, 14, 16}));
}

TEST(Spmd, LayoutsChangeThroughCollectives) {
  Context context;
  auto results =
      runSpmd(context, R"(
    pp.mesh @mesh = <["a"=2, "b"=2]>
    func.func @main(%x: tensor<1x4xf64> {pp.sharding = #pp.sharding<@mesh, [{"b", "a"}, {}]>})
        -> (tensor<4x1xf64> {pp.sharding = #pp.sharding<@mesh, [{}, {"b", "a"}]>},
            tensor<4x4xf64>,
            tensor<4x2xf64> {pp.sharding = #pp.sharding<@mesh, [{}, {"a"}]>},
            tensor<1x4xf64> {pp.sharding = #pp.sharding<@mesh, [{"a", "b"}, {}]>}) {
      %t = pp.all_to_all %x split 1 concat 0 over @mesh ["b", "a"] : tensor<1x4xf64> -> tensor<4x1xf64>
      %g = pp.all_gather %x dims [0] over @mesh ["b", "a"] : (tensor<1x4xf64>) -> tensor<4x4xf64>
      %s = pp.all_slice %g dim 1 over @mesh ["a"] : tensor<4x4xf64> -> tensor<4x2xf64>
      %p = pp.permute %x over @mesh ["b", "a"] to ["a", "b"] : tensor<1x4xf64>
      return %t, %g, %s, %p : tensor<4x1xf64>, tensor<4x4xf64>, tensor<4x2xf64>, tensor<1x4xf64>
    })",
              {context.tensor("4x4xf64", {0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11,
                                          12, 13, 14, 15})});
  ASSERT_EQ(results.size(), 4u);
  Values whole{0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15};
  for (const HostTensor &result : results)
    EXPECT_EQ(result.values, whole);
}

TEST(Spmd, TimeAxisLoopsAndAccumulates) {
  Context context;
  auto results = runSpmd(context, R"(
    pp.mesh @mesh = <["mb"=2 : time, "dp"=2]>
    func.func @main(%x: tensor<1xf64> {pp.sharding = #pp.sharding<@mesh, [{"mb", "dp"}]>})
        -> (tensor<1xf64>, tensor<1xf64> {pp.sharding = #pp.sharding<@mesh, [{"mb", "dp"}]>}) {
      %i = pp.axis_index @mesh ["mb"] : tensor<i32>
      %f = pp.convert %i : tensor<i32> -> tensor<f64>
      %b = pp.broadcast %f dims [] : tensor<f64> -> tensor<1xf64>
      %y = pp.mul %x, %b : tensor<1xf64>
      %r = pp.all_reduce sum %y over @mesh ["dp"] : (tensor<1xf64>) -> tensor<1xf64>
      %a = pp.accumulate %r over "mb" : tensor<1xf64>
      return %a, %y : tensor<1xf64>, tensor<1xf64>
    })",
                         {context.tensor("4xf64", {1, 2, 3, 4})});
  ASSERT_EQ(results.size(), 2u);
  EXPECT_EQ(results[0].values, (Values{7}));
  EXPECT_EQ(results[1].values, (Values{0, 0, 3, 4}));
}

TEST(Spmd, ReportsCopiesThatDiffer) {
  Context context;
  std::string message;
  mlir::ScopedDiagnosticHandler handler(
      &context,
      [&](mlir::Diagnostic &diagnostic) { message = diagnostic.str(); });
  auto results = runSpmd(context, R"(
    pp.mesh @mesh = <["dp"=2]>
    func.func @main(%x: tensor<1xf64> {pp.sharding = #pp.sharding<@mesh, [{"dp"}]>}) -> tensor<1xf64> {
      return %x : tensor<1xf64>
    })",
                         {context.tensor("2xf64", {1, 2})});
  EXPECT_TRUE(results.empty());
  EXPECT_NE(message.find("expects equal copies"), std::string::npos) << message;
}

} // namespace
