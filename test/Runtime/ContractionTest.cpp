//===- ContractionTest.cpp - contractions against three plain loops -------===//
//
// SPDX-License-Identifier: Apache-2.0
//
// Every layout, shape and epilogue that an artifact may ask for, on the
// libraries of this machine.
//
//===----------------------------------------------------------------------===//
#include "backends/cpu/Contraction.h"
#include "ContractionCases.h"
#include "backends/cpu/MatrixBlocks.h"
#include "targets/Targets.h"
#include "targets/cpu/BlockedProduct.h"

#include <gtest/gtest.h>

#include <cmath>
#include <random>

using namespace pprt;
using namespace pprt::test;

namespace {

void check(const Case &c, unsigned threads, const char *target = "cpu") {
  Sample sample(c);
  ppx::ContractionT &contraction = sample.contraction;
  ASSERT_TRUE(cpu::verifyContraction(contraction).ok());
  findTarget(target)->plan(contraction, threads);
  sample.parameters.emplace_back(contraction.workspace_bytes);
  std::vector<void *> arguments;
  for (auto &parameter : sample.parameters)
    arguments.push_back(parameter.data());
  cpu::Team team(threads + 1); // one thread finds nothing to do
  const auto ours = cpu::Contraction::create(contraction, threads,
                                             contraction.workspace_bytes);
  ASSERT_NE(ours, nullptr);
  if (target == std::string("cpu") && // others may choose for other processors
      contraction.library != ppx::MatrixLibrary_onednn_matmul) // may lack it
    ASSERT_EQ(ours->library, contraction.library);
  constexpr std::byte untouched{0x5a};
  auto &workspace = sample.parameters.back();
  if (!workspace.empty())
    workspace.back() = untouched;
  ours->run(arguments.data(), team);
  if (!workspace.empty()) // or measured peaks would miss it
    ASSERT_NE(workspace.back(), untouched);
  ASSERT_EQ(sample.compare(sample.parameters[contraction.out_parameter]), "")
      << threads << " threads";
}

constexpr ppx::ElementType kFloats[] = {
    ppx::ElementType_f32, ppx::ElementType_f64, ppx::ElementType_bf16,
    ppx::ElementType_f16};

/// Small products and large ones may go to different libraries.
const std::vector<Case> kSizes = {{{2, 2}, 19, 37, 11}, {{}, 67, 80, 70}};

TEST(Contraction, TakesEveryLayout) {
  for (ppx::ElementType element : kFloats)
    for (Layout lhs : {Layout::rows, Layout::columns, Layout::gaps,
                       Layout::steps, Layout::interleaved})
      for (Layout rhs : {Layout::rows, Layout::columns, Layout::gaps,
                         Layout::steps, Layout::broadcastRow})
        for (Layout out : {Layout::rows, Layout::columns, Layout::gaps,
                           Layout::steps, Layout::interleaved})
          for (unsigned threads : {1, 2, 3})
            for (const Case &size : kSizes)
              check({size.batch, size.m, size.n, size.k, lhs, rhs, out, element,
                     element},
                    threads);
}

TEST(Contraction, TakesEveryShape) {
  for (uint64_t m : {1, 5, 16, 65, 130})
    for (uint64_t n : {1, 7, 33, 130})
      for (uint64_t k : {1, 3, 64, 600})
        for (Layout lhs : {Layout::rows, Layout::columns})
          for (unsigned threads : {1, 2, 4})
            check({{}, m, n, k, lhs, Layout::rows}, threads);
}

TEST(Contraction, RunsPlansForOtherProcessors) {
  for (const char *target : {"x86-64", "x86-64-v3", "x86-64-v4"})
    for (ppx::ElementType element : kFloats)
      for (Layout lhs : {Layout::rows, Layout::columns, Layout::gaps})
        for (const Case &size : {Case{{}, 5, 7, 9}, Case{{}, 130, 260, 70},
                                 Case{{}, 96, 600, 700}})
          check({size.batch, size.m, size.n, size.k, lhs, Layout::rows,
                 Layout::rows, element, element},
                2, target);
}

/// Processors of a level that lack the fastest way take a later one.
TEST(Contraction, PlansRoomForEveryWay) {
  for (const Case &size : {Case{{}, 130, 260, 70}, Case{{}, 512, 2048, 512},
                           Case{{3}, 64, 64, 64}})
    for (unsigned threads : {1, 4}) {
      Sample sample({size.batch, size.m, size.n, size.k, Layout::rows,
                     Layout::rows, Layout::rows, ppx::ElementType_bf16,
                     ppx::ElementType_bf16});
      ppx::ContractionT &contraction = sample.contraction;
      findTarget("x86-64-v4")->plan(contraction, threads);
      for (const cpu::Way way : cpu::waysFor(contraction, /*avx512=*/true)) {
        const cpu::BlockedProduct product(contraction, way);
        if (product.isTaken())
          EXPECT_LE(product.workspaceBytes(threads),
                    contraction.workspace_bytes)
              << ppx::EnumNameMatrixLibrary(way.library);
        if (way.isCertain)
          break;
      }
    }
}

/// A sum over all pixels of a batch, as weights of convolutions have, takes no
/// scratchpad of its length.
TEST(Contraction, CutsLongSums) {
  const Sample sample({{},
                       32,
                       4,
                       1 << 18,
                       Layout::columns,
                       Layout::rows,
                       Layout::rows,
                       ppx::ElementType_bf16,
                       ppx::ElementType_f32});
  for (const cpu::Way &way : cpu::waysFor(sample.contraction, /*avx512=*/true))
    EXPECT_LE(cpu::BlockedProduct(sample.contraction, way).workspaceBytes(1),
              16u << 20);
}

/// With AVX-512, bf16 is multiplied as it is, and dense factors are not copied.
TEST(Contraction, ReadsLowTypesWhereTheyLie) {
  const Sample sample({{},
                       512,
                       512,
                       512,
                       Layout::rows,
                       Layout::rows,
                       Layout::rows,
                       ppx::ElementType_bf16,
                       ppx::ElementType_bf16});
  const cpu::Way way =
      cpu::waysFor(sample.contraction, /*avx512=*/true).front();
  EXPECT_EQ(way.multiplied, ppx::ElementType_bf16);
  const cpu::BlockedProduct product(sample.contraction, way);
  EXPECT_TRUE(product.isTaken());
  EXPECT_EQ(product.lhsElements, 0u);
  EXPECT_EQ(product.rhsElements, 0u);
}

TEST(Contraction, CutsWhatIsLarge) {
  check({{}, 1100, 300, 40}, 2);
  check({{}, 90, 2100, 60, Layout::rows, Layout::columns}, 2);
  check({{}, 130, 150, 9000, Layout::columns, Layout::gaps}, 2);
}

TEST(Contraction, ScalesAccumulatesAndMixesTypes) {
  constexpr ppx::ElementType summedAlike[] = {
      ppx::ElementType_f32, ppx::ElementType_bf16, ppx::ElementType_f16};
  for (ppx::ElementType element : summedAlike)
    for (ppx::ElementType out : summedAlike)
      for (bool accumulate : {false, true})
        for (Case c : kSizes) {
          c.element = element;
          c.outElement = out;
          c.alpha = 0.125;
          c.accumulate = accumulate;
          check(c, 2);
          c.epilogues = {{ppx::EpilogueKind_add, Layout::rows}};
          check(c, 2);
        }
}

TEST(Contraction, AppliesEpiloguesInOrder) {
  for (Layout out : {Layout::rows, Layout::columns, Layout::interleaved})
    for (ppx::ElementType element :
         {ppx::ElementType_f32, ppx::ElementType_f64}) {
      Case c = {{2}, 43, 50, 70};
      c.out = out;
      c.element = c.outElement = element;
      c.epilogues = {{ppx::EpilogueKind_add, Layout::broadcastRow},
                     {ppx::EpilogueKind_gelu_tanh, Layout::rows},
                     {ppx::EpilogueKind_multiply, Layout::columns},
                     {ppx::EpilogueKind_add, Layout::gaps}};
      check(c, 1);
      check(c, 2);
      c.epilogues = {{ppx::EpilogueKind_tanh, Layout::rows}};
      check(c, 2);
      c.epilogues = {{ppx::EpilogueKind_relu, Layout::rows}};
      check(c, 2);
    }
}

TEST(Contraction, ThreadsDoNotChangeTheBits) {
  constexpr uint64_t m = 130, n = 150, k = 700;
  ppx::ContractionT contraction;
  contraction.m = m;
  contraction.n = n;
  contraction.k = k;
  contraction.alpha = 0.3;
  contraction.out_parameter = 2;
  contraction.lhs = std::move(makeView(Layout::columns, {}, m, k).view);
  contraction.rhs = std::move(makeView(Layout::rows, {}, k, n).view);
  contraction.out = std::move(makeView(Layout::rows, {}, m, n).view);
  std::mt19937 random(1);
  std::vector<float> lhs(m * k + 3), rhs(k * n + 3), expected;
  for (auto *values : {&lhs, &rhs})
    for (float &value : *values)
      value = float(random()) / float(random.max()) - 0.5f;
  for (unsigned threads : {1, 2, 3, 5}) {
    std::vector<float> out(m * n + 3);
    const auto created = cpu::Contraction::create(contraction, threads);
    std::vector<std::byte> workspace(created->workspaceBytes());
    void *arguments[] = {lhs.data(), rhs.data(), out.data(), workspace.data()};
    cpu::Team team(threads);
    created->run(arguments, team);
    if (expected.empty())
      expected = out;
    EXPECT_TRUE(out == expected) << threads << " threads";
  }
}

/// The library has buffers for some calls at a time, and makes more.
TEST(Contraction, TakesManyThreadsAtATime) { check({{128}, 32, 32, 32}, 64); }

TEST(Contraction, ApproximatesTanhClosely) {
  std::vector<float> values;
  for (int i = -1200; i <= 1200; ++i)
    values.push_back(float(i) / 100);
  std::vector<float> results = values;
  cpu::finish(
      ppx::EpilogueKind_tanh, {},
      cpu::Block<float>{results.data(), 1, results.size(), results.size()});
  for (size_t i = 0; i < values.size(); ++i)
    ASSERT_NEAR(results[i], std::tanh(double(values[i])), 3e-7)
        << "at " << values[i];
}

TEST(Contraction, RefusesIntegers) {
  ppx::ContractionT contraction;
  contraction.element = ppx::ElementType_i32;
  EXPECT_EQ(cpu::verifyContraction(contraction).message(),
            "contraction expects floats, got i32");
}

} // namespace
