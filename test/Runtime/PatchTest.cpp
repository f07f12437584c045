//===- PatchTest.cpp - contractions that read patches of tensors ----------===//
//
// SPDX-License-Identifier: Apache-2.0
//
// Convolutions as products, and the operands of their gradients: compared with
// plain loops over the same record.
//
//===----------------------------------------------------------------------===//
#include "backends/cpu/Contraction.h"

#include "pprt/NarrowFloats.h"
#include "pprt/Program.h"
#include "targets/Targets.h"

#include <gtest/gtest.h>

#include <cmath>
#include <random>

using namespace pprt;

namespace {

using Loops = std::vector<std::unique_ptr<ppx::ViewLoopT>>;

struct Loop {
  uint64_t extent, stride;
  int window = -1;
  int64_t step = 0;
};

Loops makeLoops(const std::vector<Loop> &loops) {
  Loops result;
  for (const Loop &loop : loops) {
    result.push_back(std::make_unique<ppx::ViewLoopT>());
    result.back()->extent = loop.extent;
    result.back()->stride = loop.stride;
    result.back()->window = loop.window;
    result.back()->step = loop.step;
  }
  return result;
}

uint64_t countOf(const std::vector<Loop> &loops) {
  uint64_t count = 1;
  for (const Loop &loop : loops)
    count *= loop.extent;
  return count;
}

struct Window {
  uint64_t size, stride;
  int64_t offset;
  uint64_t divisor = 1;
};

struct Case {
  const char *name;
  std::vector<Loop> rows, steps, rhsSteps, columns;
  std::vector<Window> windows;
  uint64_t lhsElements, rhsElements;
};

/// Returns an element of a view; 0 outside of a window.
double elementOf(const std::vector<double> &tensor,
                 const ppx::MatrixViewT &view, uint64_t row, uint64_t column) {
  std::vector<int64_t> coordinates;
  for (const auto &window : view.windows)
    coordinates.push_back(window->offset);
  uint64_t place = view.offset;
  const auto go = [&](const Loops &loops, uint64_t at, uint64_t stride) {
    if (loops.empty())
      place += at * stride;
    for (size_t i = loops.size(); i-- > 0; at /= loops[i]->extent)
      if (loops[i]->window < 0)
        place += at % loops[i]->extent * loops[i]->stride;
      else
        coordinates[size_t(loops[i]->window)] +=
            int64_t(at % loops[i]->extent) * loops[i]->step;
  };
  go(view.rows, row, view.row_stride);
  go(view.columns, column, view.column_stride);
  for (size_t w = 0; w < coordinates.size(); ++w) {
    const auto &window = *view.windows[w];
    const int64_t x = coordinates[w];
    if (x < 0 || x % int64_t(window.divisor) != 0 ||
        uint64_t(x) / window.divisor >= window.size)
      return 0;
    place += uint64_t(x) / window.divisor * window.stride;
  }
  return tensor.at(place);
}

template <typename T>
void check(const Case &c, ppx::ElementType element, unsigned threads,
           bool isTransposed) {
  ppx::ContractionT contraction;
  contraction.element = contraction.out_element = element;
  const uint64_t m = contraction.m = countOf(c.rows),
                 n = contraction.n = countOf(c.columns),
                 k = contraction.k = countOf(c.steps);
  ASSERT_EQ(k, countOf(c.rhsSteps));
  contraction.lhs = std::make_unique<ppx::MatrixViewT>();
  contraction.lhs->offset = 2;
  contraction.lhs->rows = makeLoops(c.rows);
  contraction.lhs->columns = makeLoops(c.steps);
  for (const Window &window : c.windows) {
    auto entry = std::make_unique<ppx::WindowT>();
    entry->size = window.size;
    entry->stride = window.stride;
    entry->offset = window.offset;
    entry->divisor = window.divisor;
    contraction.lhs->windows.push_back(std::move(entry));
  }
  contraction.rhs = std::make_unique<ppx::MatrixViewT>();
  contraction.rhs->rows = makeLoops(c.rhsSteps);
  contraction.rhs->columns = makeLoops(c.columns);
  contraction.out = std::make_unique<ppx::MatrixViewT>();
  contraction.out->row_stride = isTransposed ? 1 : n;
  contraction.out->column_stride = isTransposed ? m : 1;
  contraction.out_parameter = 2;

  std::mt19937 random(1);
  std::vector<double> lhs(c.lhsElements + 2), rhs(c.rhsElements);
  std::vector<T> lhsData, rhsData, out(m * n);
  for (auto &[values, data] :
       {std::pair(&lhs, &lhsData), std::pair(&rhs, &rhsData)})
    for (double &value : *values) {
      value = double(random() % 17) / 8 - 1;
      data->push_back(T(value));
    }
  ASSERT_TRUE(cpu::verifyContraction(contraction).ok());
  findTarget("cpu")->plan(contraction, threads);
  std::vector<std::byte> workspace(contraction.workspace_bytes);
  void *arguments[] = {lhsData.data(), rhsData.data(), out.data(),
                       workspace.data()};
  cpu::Team team(threads);
  cpu::Contraction::create(contraction, threads)->run(arguments, team);
  for (uint64_t i = 0; i < m; ++i)
    for (uint64_t j = 0; j < n; ++j) {
      double sum = 0;
      for (uint64_t l = 0; l < k; ++l)
        sum += elementOf(lhs, *contraction.lhs, i, l) *
               elementOf(rhs, *contraction.rhs, l, j);
      ASSERT_NEAR(out[isTransposed ? j * m + i : i * n + j], sum,
                  1e-5 * std::max(1.0, std::abs(sum)))
          << c.name << " at " << i << ", " << j << ", " << threads
          << " threads";
    }
}

/// Images of [2, 5, 6, channels], kernels of [3, 3, channels, 24].
std::vector<Case> cases() {
  std::vector<Case> all;
  for (uint64_t c : {1, 3, 20}) {
    const uint64_t pixels = 60, image = 30 * c;
    const std::vector<Loop> positions = {
        {2, image}, {5, 0, 0, 1}, {6, 0, 1, 1}};
    const std::vector<Loop> taps = {{3, 0, 0, 1}, {3, 0, 1, 1}, {c, 1}},
                            back = {{3, 0, 0, -1}, {3, 0, 1, -1}, {c, 1}};
    const std::vector<Window> windows = {{5, 6 * c, -1}, {6, c, -1}};
    const std::vector<Loop> tapByTap = {{9, 24 * c}, {c, 1}};
    // Patches along rows; neighbouring ones are contiguous.
    all.push_back({"forward",
                   positions,
                   taps,
                   {{9 * c, 24}},
                   {{24, 1}},
                   windows,
                   pixels * c,
                   9 * c * 24});
    all.push_back({"forward, two steps at a time",
                   {{2, image}, {3, 0, 0, 2}, {3, 0, 1, 2}},
                   taps,
                   {{9 * c, 24}},
                   {{24, 1}},
                   windows,
                   pixels * c,
                   9 * c * 24});
    // Backwards through a kernel, whose steps have one stride tap by tap.
    all.push_back({"gradient of the image",
                   positions,
                   back,
                   tapByTap,
                   {{24, c}},
                   {{5, 6 * c, 1}, {6, c, 1}},
                   pixels * c,
                   9 * c * 24});
    all.push_back({"gradient of the image, with holes",
                   {{2, image}, {9, 0, 0, 1}, {12, 0, 1, 1}},
                   back,
                   tapByTap,
                   {{24, c}},
                   {{5, 6 * c, 1, 2}, {6, c, 1, 2}},
                   pixels * c,
                   9 * c * 24});
    all.push_back({"gradient of the kernel",
                   taps,
                   positions,
                   {{pixels, 24}},
                   {{24, 1}},
                   windows,
                   pixels * c,
                   pixels * 24});
  }
  // No images, no channels (all sums are zero), or no outputs.
  for (size_t without : {0, 1, 2}) {
    Case none = all.front();
    none.name = "of nothing";
    (without == 0   ? none.rows.front()
     : without == 1 ? none.steps.back()
                    : none.columns.front())
        .extent = 0;
    if (without == 1)
      none.rhsSteps = {{0, 24}, {20, 24}};
    all.push_back(none);
  }
  return all;
}

TEST(Patches, AreMultiplied) {
  for (const Case &c : cases())
    for (bool isTransposed : {false, true}) {
      check<float>(c, ppx::ElementType_f32, isTransposed ? 1 : 3, isTransposed);
      check<double>(c, ppx::ElementType_f64, 2, isTransposed);
    }
}

} // namespace
