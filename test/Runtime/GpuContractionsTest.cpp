//===- GpuContractionsTest.cpp - which contractions a GPU takes -----------===//
//
// SPDX-License-Identifier: Apache-2.0
//
// Everything that a GPU's target refuses, with its reason, and beside it what
// it just accepts. Accepted contractions are checked by addresses: the products
// of their calls combine the same elements as the contraction.
//
//===----------------------------------------------------------------------===//
#include "ContractionCases.h"
#include "pprt/Target.h"
#include "targets/cuda/Remainders.h"

#include <algorithm>
#include <array>
#include <functional>
#include <gtest/gtest.h>
#include <random>
#include <tuple>

using namespace pprt;
using namespace pprt::test;

namespace {

constexpr uint64_t kLargest = 2147483647;

/// 3 x 4 products of 5x6 over 7, in rows.
ppx::ContractionT makeContraction() {
  ppx::ContractionT c;
  c.batch = {3, 4};
  c.m = 5;
  c.n = 6;
  c.k = 7;
  c.lhs = std::move(makeView(Layout::rows, c.batch, 5, 7).view);
  c.rhs = std::move(makeView(Layout::rows, c.batch, 7, 6).view);
  c.out = std::move(makeView(Layout::rows, c.batch, 5, 6).view);
  return c;
}

struct Row {
  const char *name;
  std::function<void(ppx::ContractionT &)> change;
  std::string reason; ///< empty if it is accepted
};

void setStrides(ppx::MatrixViewT &view, uint64_t row, uint64_t column) {
  view.row_stride = row;
  view.column_stride = column;
}

/// A single product of this shape, without a batch.
void setShape(ppx::ContractionT &c, uint64_t m, uint64_t n, uint64_t k) {
  c.batch.clear();
  for (ppx::MatrixViewT *view : {c.lhs.get(), c.rhs.get(), c.out.get()})
    view->batch.clear();
  c.m = m;
  c.n = n;
  c.k = k;
  setStrides(*c.lhs, k, 1);
  setStrides(*c.rhs, n, 1);
  setStrides(*c.out, n, 1);
}

using C = ppx::ContractionT;
constexpr auto f32 = ppx::ElementType_f32, f64 = ppx::ElementType_f64,
               bf16 = ppx::ElementType_bf16, i32 = ppx::ElementType_i32;

ppx::EpilogueT *addEpilogue(C &c, uint64_t rowStride, uint64_t columnStride) {
  c.epilogues.push_back(std::make_unique<ppx::EpilogueT>());
  ppx::EpilogueT *epilogue = c.epilogues.back().get();
  epilogue->parameter = 2;
  epilogue->view = std::make_unique<ppx::MatrixViewT>();
  epilogue->view->batch = {0, 0};
  setStrides(*epilogue->view, rowStride, columnStride);
  return epilogue;
}

constexpr auto kGradient = ppx::EpilogueKind_gelu_tanh_gradient;
const std::string kAddend =
    "expects one vector of neighbours along out's for all (not in f64, at a "
    "multiple of 16 bytes), and one matrix as out, without a batch, instead of "
    "what is there, got strides ";
const std::string kSums = "expects sums of one product beside each other, at a "
                          "multiple of 16 bytes, got a batch of ",
                  kSteps = "expects sums over several steps, of several "
                           "neighbours each, got ";
const std::string kGiven =
    "expects what GELU is given as out lies, without a batch, by a multiple of "
    "8 elements from column to column, at one of 16 bytes, got strides ";

/// GELU with rows of eight, written or read.
ppx::EpilogueT *addGelu(C &c) {
  ppx::EpilogueT *epilogue = addEpilogue(c, 8, 1);
  epilogue->kind = ppx::EpilogueKind_gelu_tanh;
  epilogue->view->batch.clear();
  return epilogue;
}

void addSums(C &c, ppx::EpilogueKind kind, uint64_t stride) {
  ppx::EpilogueT *epilogue = addEpilogue(c, stride, stride);
  epilogue->kind = kind;
  epilogue->view->batch.clear();
}

// clang-format off
const Row rows[] = {
  {"as it is", [](C &) {}, ""},
  // Types.
  {"f64", [](C &c) { c.element = c.out_element = f64; }, ""},
  {"bf16", [](C &c) { c.element = c.out_element = bf16; }, ""},
  {"bf16 to f32", [](C &c) { c.element = bf16; }, ""},
  {"f32 to bf16", [](C &c) { c.out_element = bf16; }, "expects f32, f64, bf16 or f16, of which the last two may give f32, got f32 to bf16"},
  {"f32 to f64", [](C &c) { c.out_element = f64; }, "expects f32, f64, bf16 or f16, of which the last two may give f32, got f32 to f64"},
  {"bf16 to f64", [](C &c) { c.element = bf16; c.out_element = f64; }, "expects f32, f64, bf16 or f16, of which the last two may give f32, got bf16 to f64"},
  {"integers", [](C &c) { c.element = c.out_element = i32; }, "expects f32, f64, bf16 or f16, of which the last two may give f32, got i32 to i32"},
  // Computation.
  {"scaled and added", [](C &c) { c.alpha = 0.5; c.accumulate = true; }, ""},
  {"another activation", [](C &c) { addEpilogue(c, 0, 1)->kind = ppx::EpilogueKind_relu; }, "expects a bias, a residual or both, gelu_tanh behind one or none, its gradient or the sums of an operand beside a product, got relu"},
  {"GELU", [](C &c) { addGelu(c)->view.reset(); }, ""},
  {"GELU and what it is given", [](C &c) { setShape(c, 5, 8, 7); addGelu(c); }, ""},
  {"GELU's gradient", [](C &c) { setShape(c, 5, 8, 7); addGelu(c)->kind = kGradient; }, ""},
  {"GELU's gradient of one step", [](C &c) { setShape(c, 5, 8, 1); addGelu(c)->kind = kGradient; }, "expects several steps before GELU's gradient, got one"},
  {"GELU's gradient nowhere", [](C &c) { setShape(c, 5, 8, 7); addGelu(c)->kind = kGradient; c.epilogues[0]->view.reset(); }, "expects a bias, a residual or both, gelu_tanh behind one or none, its gradient or the sums of an operand beside a product, got gelu_tanh_gradient of no view"},
  {"GELU of columns", [](C &c) { setShape(c, 8, 5, 7); setStrides(*c.out, 1, 8); setStrides(*addGelu(c)->view, 1, 16); }, ""},
  {"GELU of a biased product", [](C &c) { setShape(c, 5, 8, 7); addEpilogue(c, 0, 1)->view->batch.clear(); addGelu(c); }, ""},
  {"a bias behind GELU", [](C &c) { setShape(c, 5, 8, 7); addGelu(c); addEpilogue(c, 0, 1)->view->batch.clear(); }, "expects a bias, a residual or both, gelu_tanh behind one or none, its gradient or the sums of an operand beside a product, got gelu_tanh, add"},
  {"GELU in f64", [](C &c) { addGelu(c)->view.reset(); c.element = c.out_element = f64; }, "expects no epilogue in f64, got gelu_tanh"},
  {"GELU added up", [](C &c) { addGelu(c)->view.reset(); c.accumulate = true; }, "expects a result that is not added up behind an activation, got gelu_tanh"},
  {"GELU given a batch", [](C &c) { c.n = 8; addGelu(c)->view->batch = {160, 40}; setStrides(*c.rhs, 8, 1); setStrides(*c.out, 8, 1); }, kGiven + "8 and 1, element 0"},
  {"GELU given columns", [](C &c) { setShape(c, 8, 8, 7); setStrides(*addGelu(c)->view, 1, 8); }, kGiven + "1 and 8, element 0"},
  {"GELU given six columns", [](C &c) { setShape(c, 5, 6, 7); setStrides(*addGelu(c)->view, 6, 1); }, kGiven + "6 and 1, element 0"},
  {"GELU given at an odd place", [](C &c) { setShape(c, 5, 8, 7); addGelu(c)->view->offset = 2; }, kGiven + "8 and 1, element 2"},
  {"GELU given in bf16", [](C &c) { setShape(c, 5, 8, 7); addGelu(c)->view->offset = 8; c.element = c.out_element = bf16; }, ""},
  {"GELU given in bf16 at an odd place", [](C &c) { setShape(c, 5, 8, 7); addGelu(c)->view->offset = 4; c.element = c.out_element = bf16; }, kGiven + "8 and 1, element 4"},
  {"sums of lhs", [](C &c) { setShape(c, 5, 6, 7); setStrides(*c.lhs, 1, 5); addSums(c, ppx::EpilogueKind_sum_lhs, 1); }, ""},
  {"sums of lhs along its rows", [](C &c) { setShape(c, 5, 6, 7); addSums(c, ppx::EpilogueKind_sum_lhs, 1); }, kSteps + "7 of 5, strides 7 and 1"},
  {"sums of rhs along its columns", [](C &c) { setShape(c, 5, 6, 7); setStrides(*c.rhs, 1, 7); addSums(c, ppx::EpilogueKind_sum_rhs, 1); }, kSteps + "7 of 6, strides 1 and 7"},
  {"the sum of one column", [](C &c) { setShape(c, 5, 1, 7); addSums(c, ppx::EpilogueKind_sum_rhs, 1); }, kSteps + "7 of 1, strides 1 and 1"},
  {"the sum of one row", [](C &c) { setShape(c, 1, 6, 7); addSums(c, ppx::EpilogueKind_sum_lhs, 1); }, kSteps + "7 of 1, strides 7 and 1"},
  {"sums of one step", [](C &c) { setShape(c, 5, 6, 1); addSums(c, ppx::EpilogueKind_sum_rhs, 1); }, kSteps + "1 of 6, strides 6 and 1"},
  {"sums at an odd place", [](C &c) { setShape(c, 5, 6, 7); addSums(c, ppx::EpilogueKind_sum_rhs, 1); c.epilogues[0]->view->offset = 2; }, kSums + "0 dimensions, stride 1, element 2"},
  {"sums of rhs, added up", [](C &c) { setShape(c, 5, 6, 7); addSums(c, ppx::EpilogueKind_sum_rhs, 1); c.accumulate = true; }, ""},
  {"sums of both", [](C &c) { setShape(c, 5, 6, 7); addSums(c, ppx::EpilogueKind_sum_lhs, 1); addSums(c, ppx::EpilogueKind_sum_rhs, 1); }, "expects a bias, a residual or both, gelu_tanh behind one or none, its gradient or the sums of an operand beside a product, got sum_lhs, sum_rhs"},
  {"sums of a batch", [](C &c) { addSums(c, ppx::EpilogueKind_sum_rhs, 1); }, kSums + "2 dimensions, stride 1, element 0"},
  {"sums apart", [](C &c) { setShape(c, 5, 6, 7); addSums(c, ppx::EpilogueKind_sum_rhs, 2); }, kSums + "0 dimensions, stride 2, element 0"},
  {"sums beside a scaled product", [](C &c) { setShape(c, 5, 6, 7); addSums(c, ppx::EpilogueKind_sum_rhs, 1); c.alpha = 0.5; }, "expects sums beside a product that is not scaled, got a factor of 0.500000"},
  {"sums of bf16 in f32", [](C &c) { setShape(c, 5, 6, 7); addSums(c, ppx::EpilogueKind_sum_rhs, 1); c.element = bf16; }, ""},
  {"a bias", [](C &c) { addEpilogue(c, 0, 1); }, ""},
  {"a bias at a multiple of 16 bytes", [](C &c) { addEpilogue(c, 0, 1)->view->offset = 4; }, ""},
  {"a bias at an odd place", [](C &c) { addEpilogue(c, 0, 1)->view->offset = 2; }, kAddend + "0 and 1, element 2"},
  {"a bias of columns", [](C &c) { setStrides(*c.out, 1, 5); addEpilogue(c, 1, 0); }, ""},
  {"two biases", [](C &c) { addEpilogue(c, 0, 1); addEpilogue(c, 0, 1); }, kAddend + "0 and 1, element 0"},
  {"three addends", [](C &c) { setShape(c, 5, 6, 7); for (int i = 0; i < 3; ++i) addEpilogue(c, 0, 1)->view->batch.clear(); }, "expects a bias, a residual or both, gelu_tanh behind one or none, its gradient or the sums of an operand beside a product, got add, add, add"},
  {"a bias in f64", [](C &c) { c.element = c.out_element = f64; addEpilogue(c, 0, 1); }, kAddend + "0 and 1, element 0"},
  {"a bias for each row", [](C &c) { addEpilogue(c, 1, 0); }, kAddend + "1 and 0, element 0"},
  {"a bias for each item", [](C &c) { addEpilogue(c, 0, 1)->view->batch = {6, 0}; }, kAddend + "0 and 1, element 0"},
  {"steps between biases", [](C &c) { addEpilogue(c, 0, 2); }, kAddend + "0 and 2, element 0"},
  {"a residual", [](C &c) { setShape(c, 5, 6, 7); addEpilogue(c, 6, 1)->view->batch.clear(); }, ""},
  {"a residual in f64", [](C &c) { setShape(c, 5, 6, 7); c.element = c.out_element = f64; addEpilogue(c, 9, 1)->view->batch.clear(); }, ""},
  {"a residual and a bias", [](C &c) { setShape(c, 5, 6, 7); addEpilogue(c, 9, 1)->view->batch.clear(); addEpilogue(c, 0, 1)->view->batch.clear(); }, ""},
  {"a residual and a bias in f64", [](C &c) { setShape(c, 5, 6, 7); c.element = c.out_element = f64; addEpilogue(c, 9, 1)->view->batch.clear(); addEpilogue(c, 0, 1)->view->batch.clear(); }, "expects no epilogue in f64, got add, add"},
  {"two residuals", [](C &c) { setShape(c, 5, 6, 7); addEpilogue(c, 6, 1)->view->batch.clear(); addEpilogue(c, 6, 1)->view->batch.clear(); }, kAddend + "6 and 1, element 0"},
  {"a residual of columns", [](C &c) { setShape(c, 5, 6, 7); addEpilogue(c, 1, 5)->view->batch.clear(); }, kAddend + "1 and 5, element 0"},
  {"a residual of a batch", [](C &c) { addEpilogue(c, 6, 1)->view->batch = {120, 30}; }, kAddend + "6 and 1, element 0"},
  {"a residual that is added up", [](C &c) { setShape(c, 5, 6, 7); c.accumulate = true; addEpilogue(c, 6, 1)->view->batch.clear(); }, kAddend + "6 and 1, element 0"},
  // Extents.
  {"no rows", [](C &c) { c.m = 0; }, "expects extents of 1 to 2147483647, got m of 0"},
  {"no columns", [](C &c) { c.n = 0; }, "expects extents of 1 to 2147483647, got n of 0"},
  {"no steps", [](C &c) { c.k = 0; }, "expects extents of 1 to 2147483647, got k of 0"},
  {"no items", [](C &c) { c.batch[1] = 0; }, "expects extents of 1 to 2147483647, got a batch of 0"},
  {"the most rows", [](C &c) { setShape(c, kLargest, 6, 7); }, ""},
  {"too many rows", [](C &c) { setShape(c, kLargest + 1, 6, 7); }, "expects extents of 1 to 2147483647, got m of 2147483648"},
  {"the most columns", [](C &c) { setShape(c, 5, kLargest, 7); }, ""},
  {"too many columns", [](C &c) { setShape(c, 5, kLargest + 1, 7); }, "expects extents of 1 to 2147483647, got n of 2147483648"},
  {"the most steps", [](C &c) { setShape(c, 5, 6, kLargest); }, ""},
  {"too many steps", [](C &c) { setShape(c, 5, 6, kLargest + 1); }, "expects extents of 1 to 2147483647, got k of 2147483648"},
  // Views.
  {"no lhs", [](C &c) { c.lhs.reset(); }, "expects a view of lhs with a stride for each dimension of the batch, got none"},
  {"no rhs", [](C &c) { c.rhs.reset(); }, "expects a view of rhs with a stride for each dimension of the batch, got none"},
  {"no out", [](C &c) { c.out.reset(); }, "expects a view of out with a stride for each dimension of the batch, got none"},
  {"too few strides", [](C &c) { c.rhs->batch.pop_back(); }, "expects a view of rhs with a stride for each dimension of the batch, got 1"},
  {"loops for rows", [](C &c) { c.lhs->rows.push_back(std::make_unique<ppx::ViewLoopT>()); }, "expects a matrix for lhs, got loops or windows"},
  {"loops for columns", [](C &c) { c.rhs->columns.push_back(std::make_unique<ppx::ViewLoopT>()); }, "expects a matrix for rhs, got loops or windows"},
  {"windows", [](C &c) { c.rhs->windows.push_back(std::make_unique<ppx::WindowT>()); }, "expects a matrix for rhs, got loops or windows"},
  {"columns", [](C &c) { setStrides(*c.lhs, 1, 5); setStrides(*c.rhs, 1, 7); setStrides(*c.out, 1, 5); }, ""},
  {"longer rows", [](C &c) { setStrides(*c.lhs, 100, 1); }, ""},
  {"shorter rows", [](C &c) { setStrides(*c.lhs, 6, 1); }, "expects neighbours along rows or columns of lhs, got strides 6 and 1"},
  {"shorter columns", [](C &c) { setStrides(*c.rhs, 1, 6); }, "expects neighbours along rows or columns of rhs, got strides 1 and 6"},
  {"rows that are all alike", [](C &c) { setStrides(*c.rhs, 0, 1); }, "expects neighbours along rows or columns of rhs, got strides 0 and 1"},
  {"columns that are all alike", [](C &c) { setStrides(*c.lhs, 1, 0); }, "expects neighbours along rows or columns of lhs, got strides 1 and 0"},
  {"one value for all", [](C &c) { setStrides(*c.lhs, 0, 0); }, "expects neighbours along rows or columns of lhs, got strides 0 and 0"},
  {"steps between neighbours", [](C &c) { setStrides(*c.out, 12, 2); }, "expects neighbours along rows or columns of out, got strides 12 and 2"},
  {"one step, rows apart", [](C &c) { setShape(c, 5, 6, 1); setStrides(*c.lhs, 9, 3); }, ""},
  {"one step, rows alike", [](C &c) { setShape(c, 5, 6, 1); setStrides(*c.lhs, 0, 1); }, "expects neighbours along rows or columns of lhs, got strides 0 and 1"},
  {"one row, columns apart", [](C &c) { setShape(c, 1, 6, 7); setStrides(*c.out, 1, 3); }, ""},
  {"one row, columns alike", [](C &c) { setShape(c, 1, 6, 7); setStrides(*c.lhs, 7, 0); }, "expects neighbours along rows or columns of lhs, got strides 7 and 0"},
  {"one of each, any strides", [](C &c) { setShape(c, 1, 1, 1); setStrides(*c.lhs, 0, 0); setStrides(*c.rhs, 9, 8); }, ""},
  {"rows far apart", [](C &c) { setStrides(*c.lhs, kLargest, 1); }, ""},
  {"rows too far apart", [](C &c) { setStrides(*c.lhs, kLargest + 1, 1); }, "expects rows or columns of lhs within 2147483647 elements, got stride 2147483648"},
  {"columns too far apart", [](C &c) { setStrides(*c.out, 1, kLargest + 1); }, "expects rows or columns of out within 2147483647 elements, got stride 2147483648"},
  // Batches.
  {"a factor for all items", [](C &c) { c.rhs->batch = {0, 0}; }, ""},
  {"a factor for some items", [](C &c) { c.rhs->batch = {42, 0}; }, ""},
  {"256 calls", [](C &c) { c.batch = {256, 300}; c.lhs->batch = {35, 0}; }, ""},
  {"257 calls", [](C &c) { c.batch = {257, 300}; c.lhs->batch = {35, 0}; }, "expects strides of a batch that take 256 calls at most, got 257 or more"},
  {"calls beyond all numbers", [](C &c) {
     c.batch = {kLargest, kLargest, kLargest, kLargest, kLargest};
     for (ppx::MatrixViewT *view : {c.lhs.get(), c.rhs.get(), c.out.get()}) view->batch = {5, 4, 3, 2, 1};
   }, "expects strides of a batch that take 256 calls at most, got 2147483647 or more"},
};
// clang-format on

/// Elements of lhs, rhs and out that meet.
using CommOp = std::array<uint64_t, 3>;

std::vector<CommOp> findCommOps(const ppx::ContractionT &c) {
  std::vector<CommOp> commOps;
  uint64_t items = 1;
  for (const uint64_t extent : c.batch)
    items *= extent;
  for (uint64_t item = 0; item < items; ++item) {
    CommOp place = {c.lhs->offset, c.rhs->offset, c.out->offset};
    uint64_t rest = item;
    for (size_t i = c.batch.size(); i-- > 0; rest /= c.batch[i]) {
      place[0] += rest % c.batch[i] * c.lhs->batch[i];
      place[1] += rest % c.batch[i] * c.rhs->batch[i];
      place[2] += rest % c.batch[i] * c.out->batch[i];
    }
    for (uint64_t i = 0; i < c.m; ++i)
      for (uint64_t j = 0; j < c.n; ++j)
        for (uint64_t l = 0; l < c.k; ++l)
          commOps.push_back(
              {place[0] + i * c.lhs->row_stride + l * c.lhs->column_stride,
               place[1] + l * c.rhs->row_stride + j * c.rhs->column_stride,
               place[2] + i * c.out->row_stride + j * c.out->column_stride});
  }
  std::sort(commOps.begin(), commOps.end());
  return commOps;
}

/// Returns them in cublasLt's order.
std::vector<CommOp> findCommOps(const cuda::MatrixProducts &p) {
  std::vector<CommOp> commOps;
  const uint64_t steps = p.left.isTransposed ? p.left.rows : p.left.columns;
  const auto at = [](const cuda::Matrix &matrix, uint64_t row,
                     uint64_t column) {
    if (matrix.isTransposed)
      std::swap(row, column);
    EXPECT_LT(row, matrix.rows);
    EXPECT_LT(column, matrix.columns);
    return column * matrix.leading + row;
  };
  for (const cuda::MatrixProducts::Call &call : p.calls)
    for (uint64_t item = 0; item < p.batch; ++item)
      for (uint64_t row = 0; row < p.out.rows; ++row)
        for (uint64_t column = 0; column < p.out.columns; ++column)
          for (uint64_t step = 0; step < steps; ++step) {
            const uint64_t left = call.left + item * p.left.batchStride +
                                  at(p.left, row, step),
                           right = call.right + item * p.right.batchStride +
                                   at(p.right, step, column),
                           out = call.out + item * p.out.batchStride +
                                 at(p.out, row, column);
            commOps.push_back(
                {p.isSwapped ? right : left, p.isSwapped ? left : right, out});
          }
  std::sort(commOps.begin(), commOps.end());
  return commOps;
}

/// Epilogues beside products, by kind, with the elements that meet there.
std::vector<CommOp> findBeside(const cuda::MatrixProducts &p) {
  using Vector = cuda::MatrixProducts::Vector;
  enum : uint64_t { bias, addend, auxiliary, leftSums, rightSums };
  std::vector<CommOp> commOps;
  for (uint64_t row = 0; row < p.out.rows; ++row)
    for (uint64_t column = 0; column < p.out.columns; ++column) {
      const uint64_t out = p.calls.front().out + column * p.out.leading + row;
      if (p.vectorRole == Vector::bias)
        commOps.push_back({bias, out, p.vector.offset + row});
      if (p.addend)
        commOps.push_back(
            {addend, out,
             p.addend->offset + column * p.addendLayout.leading + row});
      if (p.auxiliary)
        commOps.push_back(
            {auxiliary, out,
             p.auxiliary->offset + column * p.auxiliaryLeading + row});
    }
  const bool isLeft = p.vectorRole == Vector::leftSums;
  if (isLeft || p.vectorRole == Vector::rightSums)
    for (uint64_t i = 0; i < (isLeft ? p.out.rows : p.out.columns); ++i)
      for (uint64_t step = 0; step < p.steps(); ++step) {
        const cuda::Matrix &its = isLeft ? p.left : p.right;
        const bool isDown = isLeft == its.isTransposed;
        const auto &call = p.calls.front();
        commOps.push_back(
            {isLeft ? leftSums : rightSums, p.vector.offset + i,
             (isLeft ? call.left : call.right) +
                 (isDown ? i * its.leading + step : step * its.leading + i)});
      }
  std::sort(commOps.begin(), commOps.end());
  return commOps;
}

/// Rows, or columns, usually at multiples of 16 bytes.
template <typename Draw>
void drawStrides(ppx::MatrixViewT &view, uint64_t rows, uint64_t columns,
                 Draw draw) {
  const bool isRows = draw(2);
  const uint64_t neighbours = isRows ? columns : rows,
                 others = isRows ? rows : columns;
  const uint64_t leading = (neighbours + 7) / 8 * 8 + (draw(8) == 0);
  setStrides(view, isRows ? leading : 1, isRows ? 1 : leading);
  view.offset = draw(8) == 0 ? 3 : 8;
  uint64_t stride = leading * others;
  for (size_t i = view.batch.size(); i-- > 0; stride *= 3)
    view.batch[i] = (stride + 7) / 8 * 8;
}

} // namespace

TEST(GpuContractions, RefusesWithAReason) {
  for (const char *name : {"sm_80", "sm_90", "sm_100"})
    for (const Row &row : rows) {
      ppx::ContractionT contraction = makeContraction();
      row.change(contraction);
      const Status status = findTarget(name)->verify(contraction);
      EXPECT_EQ(status.message(), row.reason) << row.name;
      if (!row.reason.empty()) {
        EXPECT_EQ(status.code(), ExitCode::badArtifact) << row.name;
      }
    }
}

TEST(GpuContractions, PlansAWorkspaceForAll) {
  ppx::ContractionT contraction = makeContraction();
  constexpr uint64_t mebibyte = 1 << 20;
  for (const auto &[target, rows, bytes] :
       {std::tuple("sm_90", 16, 4 * mebibyte),
        {"sm_80", 1 << 20, 4 * mebibyte},
        {"sm_90", 1 << 20, 32 * mebibyte},
        {"sm_100", 1 << 20, 32 * mebibyte}}) {
    contraction.m = uint64_t(rows);
    contraction.n = 16;
    findTarget(target)->plan(contraction, 3);
    EXPECT_EQ(contraction.workspace_bytes, bytes) << target;
  }
  EXPECT_EQ(contraction.library, ppx::MatrixLibrary_any);
}

TEST(GpuContractions, ProductsMeetTheElementsOfTheContraction) {
  std::mt19937 random(1);
  const auto draw = [&](size_t below) { return random() % below; };
  int taken = 0, swapped = 0, severalCalls = 0, batches = 0;
  for (int number = 0; number < 3000; ++number) {
    ppx::ContractionT c;
    for (size_t i = draw(4); i > 0; --i)
      c.batch.push_back(1 + draw(3));
    c.m = 1 + draw(4);
    c.n = 1 + draw(4);
    c.k = 1 + draw(4);
    const auto drawView = [&](uint64_t rowCount, uint64_t columnCount) {
      auto view = std::move(
          makeView(Layout(draw(8)), c.batch, rowCount, columnCount).view);
      // The stride of a single element is arbitrary.
      if (rowCount == 1 && draw(2))
        view->row_stride = draw(9);
      if (columnCount == 1 && draw(2))
        view->column_stride = draw(9);
      return view;
    };
    c.lhs = drawView(c.m, c.k);
    c.rhs = drawView(c.k, c.n);
    c.out = drawView(c.m, c.n);
    // The first two dimensions of the batch in reverse order.
    if (c.batch.size() > 1 && draw(2))
      for (ppx::MatrixViewT *view : {c.lhs.get(), c.rhs.get(), c.out.get()})
        if (c.batch[0] == c.batch[1])
          std::swap(view->batch[0], view->batch[1]);
    const Expected<cuda::MatrixProducts> products = cuda::findProducts(c);
    if (!products)
      continue;
    ++taken;
    swapped += products->isSwapped;
    severalCalls += products->calls.size() > 1;
    batches += products->batch > 1;
    for (const cuda::Matrix *matrix :
         {&products->left, &products->right, &products->out})
      EXPECT_GE(matrix->leading, matrix->rows);
    ASSERT_EQ(findCommOps(*products), findCommOps(c)) << number;
  }
  // All variants occurred.
  EXPECT_GT(taken, 500);
  EXPECT_GT(swapped, 300);
  EXPECT_GT(taken - swapped, 50);
  EXPECT_GT(severalCalls, 50);
  EXPECT_GT(batches, 200);
}

TEST(GpuContractions, PartsAreTheWholeAndTheLargestIsOfMultiples) {
  std::mt19937 random(1);
  const auto draw = [&](size_t below) { return random() % below; };
  const ppx::EpilogueKind kinds[] = {
      ppx::EpilogueKind_add, ppx::EpilogueKind_gelu_tanh,
      ppx::EpilogueKind_gelu_tanh_gradient, ppx::EpilogueKind_sum_lhs,
      ppx::EpilogueKind_sum_rhs};
  int severalParts = 0, besides = 0;
  for (int number = 0; number < 3000; ++number) {
    ppx::ContractionT c = makeContraction();
    c.element = c.out_element = draw(4) ? bf16 : f32;
    c.tf32 = draw(2);
    c.accumulate = draw(2);
    setShape(c, 1 + draw(20), 1 + draw(20), 1 + draw(20));
    c.batch.assign(draw(3), 2);
    for (auto [view, rows, columns] : {std::tuple(c.lhs.get(), c.m, c.k),
                                       {c.rhs.get(), c.k, c.n},
                                       {c.out.get(), c.m, c.n}}) {
      view->batch.assign(c.batch.size(), 0);
      drawStrides(*view, rows, columns, draw);
    }
    if (c.batch.empty() && draw(2)) {
      const auto &out = *c.out;
      ppx::EpilogueT *its = addEpilogue(c, out.row_stride, out.column_stride);
      its->kind = kinds[draw(5)];
      its->view->batch.clear();
      if (its->kind == ppx::EpilogueKind_sum_lhs)
        setStrides(*its->view, 1, 0);
      else if (its->kind == ppx::EpilogueKind_sum_rhs ||
               (its->kind == ppx::EpilogueKind_add && draw(2)))
        setStrides(*its->view, 0, 1);
    }
    const Expected<cuda::MatrixProducts> products = cuda::findProducts(c);
    if (!products)
      continue;
    const std::vector<cuda::MatrixProducts> parts =
        cuda::findParts(c, *products, 0);
    std::vector<CommOp> commOps, beside;
    for (const cuda::MatrixProducts &part : parts) {
      for (auto [all, its] : {std::pair(&commOps, findCommOps(part)),
                              {&beside, findBeside(part)}})
        all->insert(all->end(), its.begin(), its.end());
      EXPECT_LE(part.tableBytes(), products->tableBytes());
    }
    std::sort(commOps.begin(), commOps.end());
    std::sort(beside.begin(), beside.end());
    ASSERT_EQ(commOps, findCommOps(*products)) << number;
    ASSERT_EQ(beside, findBeside(*products)) << number;
    // A part that adds comes after the part that writes.
    EXPECT_EQ(parts.front().accumulates, c.accumulate) << number;
    severalParts += parts.size() > 1;
    besides += parts.size() > 1 && !beside.empty();
    if (c.element == f32 && !c.tf32) {
      EXPECT_EQ(parts.size(), 1u);
    }
  }
  EXPECT_GT(severalParts, 500);
  EXPECT_GT(besides, 40);
  // Small products are left as they are: 8 x 768 x 50257 has 308 million steps.
  ppx::ContractionT c = makeContraction();
  c.element = c.out_element = bf16;
  for (const auto &[rows, count] : {std::pair(8, 1), {8192, 2}}) {
    setShape(c, uint64_t(rows), 50257, 768);
    for (ppx::MatrixViewT *view : {c.lhs.get(), c.rhs.get(), c.out.get()})
      view->offset = 0;
    setStrides(*c.rhs, 1, 768);
    setStrides(*c.out, 50304, 1);
    const auto products = cuda::findProducts(c);
    ASSERT_TRUE(products.ok()) << products.status().message();
    EXPECT_EQ(cuda::findParts(c, *products).size(), size_t(count));
  }
}
