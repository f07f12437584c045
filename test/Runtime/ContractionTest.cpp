//===- ContractionTest.cpp - contractions against three plain loops -------===//
//
// SPDX-License-Identifier: Apache-2.0
//
// Every layout, shape and epilogue that an artifact may ask for, on the
// libraries of this machine.
//
//===----------------------------------------------------------------------===//
#include "backends/cpu/Contraction.h"
#include "backends/cpu/MatrixBlocks.h"

#include "pprt/BFloat16.h"
#include "pprt/Program.h"

#include <gtest/gtest.h>

#include <cmath>
#include <cstring>
#include <random>

using namespace pprt;

namespace {

double read(const std::vector<std::byte> &buffer, ppx::ElementType element,
            uint64_t index) {
  if (element == ppx::ElementType_f64)
    return reinterpret_cast<const double *>(buffer.data())[index];
  if (element == ppx::ElementType_f32)
    return reinterpret_cast<const float *>(buffer.data())[index];
  return fromBFloat16(reinterpret_cast<const uint16_t *>(buffer.data())[index]);
}

void write(std::vector<std::byte> &buffer, ppx::ElementType element,
           uint64_t index, double value) {
  if (element == ppx::ElementType_f64)
    reinterpret_cast<double *>(buffer.data())[index] = value;
  else if (element == ppx::ElementType_f32)
    reinterpret_cast<float *>(buffer.data())[index] = float(value);
  else
    reinterpret_cast<uint16_t *>(buffer.data())[index] =
        toBFloat16(float(value));
}

/// How a matrix lies in memory.
enum class Layout {
  rows,         ///< row-major
  columns,      ///< column-major
  gaps,         ///< row-major with a longer row stride
  steps,        ///< no unit stride at all
  interleaved,  ///< [row, batch, column]: the batch between the dimensions
  broadcastRow, ///< row stride 0
};

struct View {
  std::unique_ptr<ppx::MatrixViewT> view = std::make_unique<ppx::MatrixViewT>();
  uint64_t elements = 0;
};

View makeView(Layout layout, const std::vector<uint64_t> &batch, uint64_t rows,
              uint64_t columns) {
  View result;
  ppx::MatrixViewT &view = *result.view;
  uint64_t items = 1;
  for (uint64_t extent : batch)
    items *= extent;
  uint64_t matrix = rows * columns, itemStride = 0;
  view.offset = 3;
  switch (layout) {
  case Layout::rows:
    view.row_stride = columns;
    view.column_stride = 1;
    break;
  case Layout::columns:
    view.row_stride = 1;
    view.column_stride = rows;
    break;
  case Layout::gaps:
    view.row_stride = columns + 5;
    view.column_stride = 1;
    matrix = rows * (columns + 5);
    break;
  case Layout::steps:
    view.row_stride = 2 * columns;
    view.column_stride = 2;
    matrix = 2 * rows * columns;
    break;
  case Layout::interleaved:
    view.row_stride = items * columns;
    view.column_stride = 1;
    itemStride = columns;
    break;
  case Layout::broadcastRow:
    view.row_stride = 0;
    view.column_stride = 1;
    matrix = columns;
    break;
  }
  if (itemStride == 0)
    itemStride = matrix;
  view.batch.resize(batch.size());
  for (size_t i = batch.size(); i-- > 0; itemStride *= batch[i])
    view.batch[i] = itemStride;
  result.elements = view.offset + items * matrix;
  return result;
}

struct Case {
  std::vector<uint64_t> batch;
  uint64_t m, n, k;
  Layout lhs = Layout::rows, rhs = Layout::rows, out = Layout::rows;
  ppx::ElementType element = ppx::ElementType_f32,
                   outElement = ppx::ElementType_f32;
  double alpha = 1;
  bool accumulate = false;
  std::vector<std::pair<ppx::EpilogueKind, Layout>> epilogues = {};
};

double tolerance(const Case &c) {
  if (c.outElement == ppx::ElementType_bf16)
    return 1e-2;
  if (c.element == ppx::ElementType_f64)
    return 1e-13;
  return std::max(2e-5, 5e-7 * std::sqrt(double(c.k)));
}

uint64_t at(const Case &c, const ppx::MatrixViewT &view, uint64_t item,
            uint64_t row, uint64_t column) {
  uint64_t index =
      view.offset + row * view.row_stride + column * view.column_stride;
  for (size_t i = c.batch.size(); i-- > 0; item /= c.batch[i])
    index += item % c.batch[i] * view.batch[i];
  return index;
}

double applied(ppx::EpilogueKind kind, double value, double operand) {
  switch (kind) {
  case ppx::EpilogueKind_add:
    return value + operand;
  case ppx::EpilogueKind_multiply:
    return value * operand;
  case ppx::EpilogueKind_gelu_tanh:
    return 0.5 * value *
           (1 + std::tanh(std::sqrt(2 / M_PI) *
                          (value + 0.044715 * value * value * value)));
  case ppx::EpilogueKind_tanh:
    return std::tanh(value);
  case ppx::EpilogueKind_relu:
    return value > 0 ? value : 0;
  }
  return value;
}

void check(const Case &c, unsigned threads) {
  ppx::ContractionT contraction;
  contraction.element = c.element;
  contraction.out_element = c.outElement;
  contraction.batch = c.batch;
  contraction.m = c.m;
  contraction.n = c.n;
  contraction.k = c.k;
  contraction.alpha = c.alpha;
  contraction.accumulate = c.accumulate;

  std::mt19937_64 random(1);
  std::vector<std::vector<std::byte>> buffers;
  const auto add = [&](View &view, ppx::ElementType element) {
    buffers.emplace_back(view.elements * elementSize(element));
    for (uint64_t i = 0; i < view.elements; ++i)
      write(buffers.back(), element, i, double(random() % 2001) / 1000 - 1);
  };
  View lhs = makeView(c.lhs, c.batch, c.m, c.k);
  View rhs = makeView(c.rhs, c.batch, c.k, c.n);
  View out = makeView(c.out, c.batch, c.m, c.n);
  add(lhs, c.element);
  add(rhs, c.element);
  contraction.lhs = std::move(lhs.view);
  contraction.rhs = std::move(rhs.view);
  for (const auto &[kind, layout] : c.epilogues) {
    auto epilogue = std::make_unique<ppx::EpilogueT>();
    epilogue->kind = kind;
    if (kind == ppx::EpilogueKind_add || kind == ppx::EpilogueKind_multiply) {
      View view = makeView(layout, c.batch, c.m, c.n);
      epilogue->parameter = uint32_t(buffers.size());
      add(view, c.outElement);
      epilogue->view = std::move(view.view);
    }
    contraction.epilogues.push_back(std::move(epilogue));
  }
  contraction.out_parameter = uint32_t(buffers.size());
  add(out, c.outElement);
  contraction.out = std::move(out.view);

  // The expected output: untouched where the view does not reach.
  std::vector<std::byte> expected = buffers.back();
  uint64_t items = 1;
  for (uint64_t extent : c.batch)
    items *= extent;
  for (uint64_t item = 0; item < items; ++item)
    for (uint64_t i = 0; i < c.m; ++i)
      for (uint64_t j = 0; j < c.n; ++j) {
        double sum = 0;
        for (uint64_t l = 0; l < c.k; ++l)
          sum +=
              read(buffers[0], c.element, at(c, *contraction.lhs, item, i, l)) *
              read(buffers[1], c.element, at(c, *contraction.rhs, item, l, j));
        sum *= c.alpha;
        for (const auto &epilogue : contraction.epilogues)
          sum = applied(epilogue->kind, sum,
                        epilogue->view
                            ? read(buffers[epilogue->parameter], c.outElement,
                                   at(c, *epilogue->view, item, i, j))
                            : 0);
        const uint64_t place = at(c, *contraction.out, item, i, j);
        if (c.accumulate)
          sum += read(expected, c.outElement, place);
        write(expected, c.outElement, place, sum);
      }

  ASSERT_TRUE(cpu::verifyContraction(contraction).ok());
  cpu::planContraction(contraction, threads);
  buffers.emplace_back(contraction.workspace_bytes);
  std::vector<void *> arguments;
  for (auto &buffer : buffers)
    arguments.push_back(buffer.data());
  cpu::Team team(threads + 1); // one thread finds nothing to do
  cpu::Contraction::create(contraction, threads)->run(arguments.data(), team);

  const std::vector<std::byte> &got = buffers[contraction.out_parameter];
  for (uint64_t i = 0; i < got.size() / elementSize(c.outElement); ++i)
    ASSERT_NEAR(read(got, c.outElement, i), read(expected, c.outElement, i),
                tolerance(c) *
                    std::max(1.0, std::abs(read(expected, c.outElement, i))))
        << "at " << i << " of " << c.m << "x" << c.n << "x" << c.k << ", lhs "
        << int(c.lhs) << ", rhs " << int(c.rhs) << ", out " << int(c.out)
        << ", " << ppx::EnumNameElementType(c.element) << ", " << threads
        << " threads";
}

/// Small products and large ones may go to different libraries.
const std::vector<Case> kSizes = {{{2, 2}, 19, 37, 11}, {{}, 67, 80, 70}};

TEST(Contraction, TakesEveryLayout) {
  for (ppx::ElementType element :
       {ppx::ElementType_f32, ppx::ElementType_f64, ppx::ElementType_bf16})
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

TEST(Contraction, CutsWhatIsLarge) {
  check({{}, 1100, 300, 40}, 2);
  check({{}, 90, 2100, 60, Layout::rows, Layout::columns}, 2);
  check({{}, 130, 150, 9000, Layout::columns, Layout::gaps}, 2);
}

TEST(Contraction, ScalesAccumulatesAndMixesTypes) {
  for (ppx::ElementType element : {ppx::ElementType_f32, ppx::ElementType_bf16})
    for (ppx::ElementType out : {ppx::ElementType_f32, ppx::ElementType_bf16})
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
            "contraction expects f32, f64 or bf16, got i32");
}

} // namespace
