//===- ContractionCases.cpp - contractions and their results --------------===//
//
// SPDX-License-Identifier: Apache-2.0
//
//===----------------------------------------------------------------------===//
#include "ContractionCases.h"
#include "pprt/ElementFormats.h"
#include "pprt/Program.h"

#include <cmath>
#include <random>

using namespace pprt;
using namespace pprt::test;

namespace {

double read(const std::vector<std::byte> &buffer, ppx::ElementType element,
            uint64_t index) {
  return withFormat(element, [&](auto format) {
    using Format = decltype(format);
    return double(
        Format::load(reinterpret_cast<const typename Format::Stored *>(
            buffer.data())[index]));
  });
}

void write(std::vector<std::byte> &buffer, ppx::ElementType element,
           uint64_t index, double value) {
  withFormat(element, [&](auto format) {
    using Format = decltype(format);
    reinterpret_cast<typename Format::Stored *>(buffer.data())[index] =
        Format::store(typename Format::Value(value));
  });
}

double tolerance(const ppx::ContractionT &c) {
  if (c.out_element == ppx::ElementType_bf16)
    return 1e-2;
  if (c.out_element == ppx::ElementType_f16)
    return 1.25e-3;
  if (c.element == ppx::ElementType_f64)
    return 1e-13;
  return std::max(2e-5, 5e-7 * std::sqrt(double(c.k)));
}

uint64_t at(const ppx::ContractionT &c, const ppx::MatrixViewT &view,
            uint64_t item, uint64_t row, uint64_t column) {
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
  case ppx::EpilogueKind_gelu_tanh_gradient: {
    const double inner = std::sqrt(2 / M_PI), squared = operand * operand;
    const double t = std::tanh(inner * operand * (1 + 0.044715 * squared));
    return value * 0.5 *
           (1 + t +
            operand * (1 - t * t) * inner * (1 + 3 * 0.044715 * squared));
  }
  case ppx::EpilogueKind_tanh:
    return std::tanh(value);
  case ppx::EpilogueKind_relu:
    return value > 0 ? value : 0;
  case ppx::EpilogueKind_sum_lhs:
  case ppx::EpilogueKind_sum_rhs:
    return value;
  }
  return value;
}

} // namespace

View test::makeView(Layout layout, const std::vector<uint64_t> &batch,
                    uint64_t rows, uint64_t columns) {
  View result;
  ppx::MatrixViewT &view = *result.view;
  uint64_t items = 1;
  for (uint64_t extent : batch)
    items *= extent;
  uint64_t matrix = rows * columns, itemStride = 0;
  view.offset = 3;
  switch (layout) {
  case Layout::rows:
  case Layout::oneForAll:
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
  case Layout::heads:
    view.row_stride = (batch.empty() ? 1 : batch.back()) * columns;
    view.column_stride = 1;
    break;
  case Layout::broadcastRow:
    view.row_stride = 0;
    view.column_stride = 1;
    matrix = columns;
    break;
  }
  view.batch.resize(batch.size());
  if (layout == Layout::oneForAll) {
    result.elements = view.offset + matrix;
    return result;
  }
  if (layout == Layout::heads && !batch.empty()) {
    view.batch.back() = columns;
    itemStride = rows * batch.back() * columns;
    for (size_t i = batch.size() - 1; i-- > 0; itemStride *= batch[i])
      view.batch[i] = itemStride;
    result.elements = view.offset + items * matrix;
    return result;
  }
  if (itemStride == 0)
    itemStride = matrix;
  for (size_t i = batch.size(); i-- > 0; itemStride *= batch[i])
    view.batch[i] = itemStride;
  result.elements = view.offset + items * matrix;
  return result;
}

Sample::Sample(const Case &c) {
  contraction.element = c.element;
  contraction.out_element = c.outElement;
  contraction.batch = c.batch;
  contraction.m = c.m;
  contraction.n = c.n;
  contraction.k = c.k;
  contraction.alpha = c.alpha;
  contraction.accumulate = c.accumulate;
  std::vector<uint64_t> bytes;
  const auto add = [&](Layout layout, uint64_t rows, uint64_t columns) {
    View view = makeView(layout, c.batch, rows, columns);
    bytes.push_back(view.elements *
                    elementSize(bytes.size() < 2 ? c.element : c.outElement));
    return std::move(view.view);
  };
  const auto addAt = [&](Layout layout, uint64_t rows, uint64_t columns,
                         bool isAligned) {
    auto view = add(layout, rows, columns);
    const uint64_t more = isAligned ? 5 : 0; // in addition to the usual three
    bytes.back() +=
        more * elementSize(bytes.size() <= 2 ? c.element : c.outElement);
    view->offset += more;
    return view;
  };
  contraction.lhs = addAt(c.lhs, c.m, c.k, c.alignsFactors);
  contraction.rhs = addAt(c.rhs, c.k, c.n, c.alignsFactors);
  for (const auto &[kind, layout] : c.epilogues) {
    auto epilogue = std::make_unique<ppx::EpilogueT>();
    epilogue->kind = kind;
    if (readsMore(*epilogue)) {
      epilogue->parameter = uint32_t(bytes.size());
      epilogue->view =
          addAt(layout, c.m, c.n,
                c.alignsBeside || kind == ppx::EpilogueKind_gelu_tanh_gradient);
    }
    contraction.epilogues.push_back(std::move(epilogue));
  }
  contraction.out_parameter = uint32_t(bytes.size());
  contraction.out = addAt(c.out, c.m, c.n, c.alignsFactors);
  for (size_t i = 0; i < c.epilogues.size(); ++i) {
    const auto &[kind, layout] = c.epilogues[i];
    const bool isLhs = kind == ppx::EpilogueKind_sum_lhs,
               isRhs = kind == ppx::EpilogueKind_sum_rhs;
    if (!isLhs && !isRhs &&
        !(kind == ppx::EpilogueKind_gelu_tanh && c.keepsGiven))
      continue;
    contraction.epilogues[i]->parameter = uint32_t(bytes.size());
    contraction.epilogues[i]->view =
        isLhs   ? addAt(Layout::columns, c.m, 1, c.alignsBeside)
        : isRhs ? addAt(Layout::rows, 1, c.n, c.alignsBeside)
                : addAt(layout, c.m, c.n, /*isAligned=*/true);
  }
  fill(bytes);
}

Sample::Sample(const ppx::ContractionT &its, const ppx::KernelT &kernel)
    : contraction(its) {
  std::vector<uint64_t> bytes;
  for (uint32_t i = 0; i < workspaceParameter(its); ++i)
    bytes.push_back(kernel.parameters[i]->bytes);
  fill(bytes);
}

void Sample::fill(const std::vector<uint64_t> &bytes) {
  const ppx::ContractionT &c = contraction;
  std::mt19937_64 random(1);
  for (const uint64_t number : bytes) {
    const ppx::ElementType element =
        parameters.size() < 2 ? c.element : c.out_element;
    parameters.emplace_back(number);
    for (uint64_t i = 0; i < number / elementSize(element); ++i)
      write(parameters.back(), element, i, double(random() % 2001) / 1000 - 1);
  }
  // Elements outside of the view are untouched.
  expected = parameters[c.out_parameter];
  others.assign(parameters.begin() + c.out_parameter + 1, parameters.end());
  uint64_t items = 1;
  for (uint64_t extent : c.batch)
    items *= extent;
  for (uint64_t item = 0; item < items; ++item)
    for (uint64_t i = 0; i < c.m; ++i)
      for (uint64_t j = 0; j < c.n; ++j) {
        double sum = 0;
        for (uint64_t l = 0; l < c.k; ++l)
          sum += read(parameters[0], c.element, at(c, *c.lhs, item, i, l)) *
                 read(parameters[1], c.element, at(c, *c.rhs, item, l, j));
        sum *= c.alpha;
        for (const auto &epilogue : c.epilogues) {
          if (epilogue->kind == ppx::EpilogueKind_gelu_tanh && epilogue->view)
            write(others[epilogue->parameter - c.out_parameter - 1],
                  c.out_element, at(c, *epilogue->view, item, i, j), sum);
          sum =
              applied(epilogue->kind, sum,
                      readsMore(*epilogue)
                          ? read(parameters[epilogue->parameter], c.out_element,
                                 at(c, *epilogue->view, item, i, j))
                          : 0);
        }
        const uint64_t place = at(c, *c.out, item, i, j);
        if (c.accumulate)
          sum += read(expected, c.out_element, place);
        write(expected, c.out_element, place, sum);
      }
  addUp();
}

/// Computes the sums of operands.
void Sample::addUp() {
  const ppx::ContractionT &c = contraction;
  for (const auto &epilogue : c.epilogues) {
    const bool isLhs = epilogue->kind == ppx::EpilogueKind_sum_lhs;
    if (!isLhs && epilogue->kind != ppx::EpilogueKind_sum_rhs)
      continue;
    for (uint64_t i = 0; i < (isLhs ? c.m : c.n); ++i) {
      double sum = 0;
      for (uint64_t l = 0; l < c.k; ++l)
        sum += isLhs ? read(parameters[0], c.element, at(c, *c.lhs, 0, i, l))
                     : read(parameters[1], c.element, at(c, *c.rhs, 0, l, i));
      write(others[epilogue->parameter - c.out_parameter - 1], c.out_element,
            at(c, *epilogue->view, 0, isLhs ? i : 0, isLhs ? 0 : i), sum);
    }
  }
}

std::string Sample::compare(const std::vector<std::byte> &got, double slack,
                            uint32_t result) const {
  const ppx::ContractionT &c = contraction;
  const std::vector<std::byte> &wanted =
      result == 0 ? expected : others[result - 1];
  for (uint64_t i = 0; i < got.size() / elementSize(c.out_element); ++i) {
    const double mine = read(got, c.out_element, i),
                 its = read(wanted, c.out_element, i);
    if (std::abs(mine - its) <=
        slack * tolerance(c) * std::max(1.0, std::abs(its)))
      continue;
    std::string where;
    for (const uint64_t extent : c.batch)
      where += std::to_string(extent) + 'x';
    where += std::to_string(c.m) + "x" + std::to_string(c.n) + "x" +
             std::to_string(c.k) + " of " + ppx::EnumNameElementType(c.element);
    for (const ppx::MatrixViewT *view : {c.lhs.get(), c.rhs.get(), c.out.get()})
      where += ", strides " + std::to_string(view->row_stride) + " and " +
               std::to_string(view->column_stride);
    return "expects " + std::to_string(its) + " at " + std::to_string(i) +
           " of result " + std::to_string(result) + ", got " +
           std::to_string(mine) + ": " + where;
  }
  return "";
}
