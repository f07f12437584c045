//===- Matrices.cpp - a contraction as cublasLt takes it ------------------===//
//
// SPDX-License-Identifier: Apache-2.0
//
//===----------------------------------------------------------------------===//
#include "Matrices.h"

#include <algorithm>
#include <array>
#include <limits>
#include <optional>

using namespace pprt;
using namespace pprt::cuda;

/// "Usually only values that can be expressed as int32_t are supported."
static constexpr uint64_t kLargest = std::numeric_limits<int32_t>::max();
/// Beyond, it is better to have the operands rearranged.
static constexpr uint64_t kMostCalls = 256;

namespace {

/// A view as columns or as rows, of which there may be both.
struct Sides {
  const ppx::MatrixViewT *view = nullptr;
  uint64_t rows = 0, columns = 0;

  bool hasColumns() const {
    return (rows == 1 || view->row_stride == 1) &&
           (columns == 1 || view->column_stride >= rows);
  }
  bool hasRows() const {
    return (columns == 1 || view->column_stride == 1) &&
           (rows == 1 || view->row_stride >= columns);
  }
  /// Neighbours are in columns, or in rows.
  Matrix inColumns() const {
    return {rows, columns, columns == 1 ? rows : view->column_stride, false};
  }
  Matrix inRows() const {
    return {columns, rows, rows == 1 ? columns : view->row_stride, false};
  }
  /// To be multiplied as it is, or as its transpose.
  Matrix factor(bool asTranspose) const {
    const bool useRows = asTranspose ? hasRows() : !hasColumns();
    Matrix matrix = useRows ? inRows() : inColumns();
    matrix.isTransposed = useRows != asTranspose;
    return matrix;
  }
};

/// A dimension of the batch, with the strides of lhs, rhs and out.
struct Loop {
  uint64_t extent;
  std::array<uint64_t, 3> strides;
};

Status refuse(const std::string &expected, const std::string &got) {
  return Status(ExitCode::badArtifact, "expects " + expected + ", got " + got);
}

Status verifyTypes(const ppx::ContractionT &c) {
  const bool isKnown = c.element == ppx::ElementType_f32 ||
                       c.element == ppx::ElementType_f64 ||
                       c.element == ppx::ElementType_bf16;
  const bool isWidened = c.element == ppx::ElementType_bf16 &&
                         c.out_element == ppx::ElementType_f32;
  if (!isKnown || (c.out_element != c.element && !isWidened))
    return refuse("f32, f64 or bf16, of which f32 may come",
                  std::string(ppx::EnumNameElementType(c.element)) + " to " +
                      ppx::EnumNameElementType(c.out_element));
  return {};
}

/// What cublasLt does to a result in the same call; in f64 it does nothing.
Status verifyEpilogues(const ppx::ContractionT &c) {
  if (c.epilogues.empty())
    return {};
  const ppx::EpilogueT &first = *c.epilogues.front();
  if (c.epilogues.size() > 1 || first.kind != ppx::EpilogueKind_add ||
      !first.view)
    return refuse("no epilogue but one bias",
                  std::to_string(c.epilogues.size()) + ", first " +
                      ppx::EnumNameEpilogueKind(first.kind));
  if (c.out_element == ppx::ElementType_f64)
    return refuse("no epilogue in f64", ppx::EnumNameEpilogueKind(first.kind));
  return {};
}

/// Of the operand of an epilogue. `isSwapped`: out^T is computed.
Expected<MatrixProducts::Bias> findBias(const ppx::ContractionT &c,
                                        bool isSwapped) {
  const ppx::EpilogueT &epilogue = *c.epilogues.front();
  const ppx::MatrixViewT &view = *epilogue.view;
  const uint64_t down = isSwapped ? view.column_stride : view.row_stride,
                 across = isSwapped ? view.row_stride : view.column_stride,
                 rows = isSwapped ? c.n : c.m, columns = isSwapped ? c.m : c.n;
  bool isForAll = view.rows.empty() && view.columns.empty() &&
                  view.windows.empty() && view.batch.size() == c.batch.size() &&
                  (columns == 1 || across == 0) && (rows == 1 || down == 1);
  for (size_t i = 0; isForAll && i < c.batch.size(); ++i)
    isForAll = c.batch[i] == 1 || view.batch[i] == 0;
  if (!isForAll)
    return refuse("a bias, one vector of neighbours along out's, for all",
                  "strides " + std::to_string(view.row_stride) + " and " +
                      std::to_string(view.column_stride));
  return MatrixProducts::Bias{epilogue.parameter, view.offset};
}

Status verifyExtents(const ppx::ContractionT &c) {
  std::vector<std::pair<const char *, uint64_t>> extents = {
      {"m", c.m}, {"n", c.n}, {"k", c.k}};
  for (const uint64_t extent : c.batch)
    extents.emplace_back("a batch", extent);
  for (const auto &[name, extent] : extents)
    if (extent == 0 || extent > kLargest)
      return refuse("extents of 1 to " + std::to_string(kLargest),
                    std::string(name) + " of " + std::to_string(extent));
  return {};
}

Status verifyView(const char *name, const Sides &sides, size_t batch) {
  const ppx::MatrixViewT *view = sides.view;
  if (!view || view->batch.size() != batch)
    return refuse("a view of " + std::string(name) +
                      " with a stride for each dimension of the batch",
                  view ? std::to_string(view->batch.size()) : "none");
  if (!view->rows.empty() || !view->columns.empty() || !view->windows.empty())
    return refuse(std::string("a matrix for ") + name, "loops or windows");
  if (!sides.hasColumns() && !sides.hasRows())
    return refuse(std::string("neighbours along rows or columns of ") + name,
                  "strides " + std::to_string(view->row_stride) + " and " +
                      std::to_string(view->column_stride));
  const uint64_t leading =
      (sides.hasColumns() ? sides.inColumns() : sides.inRows()).leading;
  if (leading > kLargest)
    return refuse("rows or columns of " + std::string(name) + " within " +
                      std::to_string(kLargest) + " elements",
                  "stride " + std::to_string(leading));
  return {};
}

/// The fewest loops that go over all items; the longest is the last one.
std::vector<Loop> findLoops(const ppx::ContractionT &c) {
  std::vector<Loop> loops;
  for (size_t i = 0; i < c.batch.size(); ++i)
    if (c.batch[i] > 1)
      loops.push_back(
          {c.batch[i], {c.lhs->batch[i], c.rhs->batch[i], c.out->batch[i]}});
  // Any order of items will do.
  std::stable_sort(
      loops.begin(), loops.end(),
      [](const Loop &a, const Loop &b) { return a.strides[2] > b.strides[2]; });
  const auto follow = [](const Loop &outer, const Loop &inner) {
    bool all = outer.extent * inner.extent <= kLargest;
    for (size_t i = 0; i < 3; ++i)
      all &= outer.strides[i] == inner.strides[i] * inner.extent;
    return all;
  };
  std::vector<Loop> merged;
  for (const Loop &loop : loops) {
    if (!merged.empty() && follow(merged.back(), loop))
      merged.back() = {merged.back().extent * loop.extent, loop.strides};
    else
      merged.push_back(loop);
  }
  const auto longest = std::max_element(
      merged.begin(), merged.end(),
      [](const Loop &a, const Loop &b) { return a.extent < b.extent; });
  if (longest != merged.end())
    std::rotate(longest, longest + 1, merged.end());
  return merged;
}

} // namespace

Expected<MatrixProducts>
cuda::findProducts(const ppx::ContractionT &contraction) {
  const ppx::ContractionT &c = contraction;
  const Sides lhs = {c.lhs.get(), c.m, c.k}, rhs = {c.rhs.get(), c.k, c.n},
              out = {c.out.get(), c.m, c.n};
  Status status = verifyTypes(c);
  if (status.ok())
    status = verifyEpilogues(c);
  if (status.ok())
    status = verifyExtents(c);
  for (const auto &[name, sides] :
       {std::pair("lhs", &lhs), {"rhs", &rhs}, {"out", &out}})
    if (status.ok())
      status = verifyView(name, *sides, c.batch.size());
  if (!status.ok())
    return status;

  MatrixProducts result;
  // One column is better had as a column than as rows of one element.
  result.isSwapped = c.n > 1 ? out.hasRows() : !out.hasColumns();
  result.out = result.isSwapped ? out.inRows() : out.inColumns();
  result.left = (result.isSwapped ? rhs : lhs).factor(result.isSwapped);
  result.right = (result.isSwapped ? lhs : rhs).factor(result.isSwapped);

  if (!c.epilogues.empty()) {
    Expected<MatrixProducts::Bias> bias = findBias(c, result.isSwapped);
    if (!bias)
      return bias.status();
    result.bias = *bias;
  }

  std::vector<Loop> loops = findLoops(c);
  const size_t left = result.isSwapped ? 1 : 0, right = 1 - left;
  if (!loops.empty()) {
    const Loop inner = loops.back();
    loops.pop_back();
    result.batch = inner.extent;
    result.left.batchStride = inner.strides[left];
    result.right.batchStride = inner.strides[right];
    result.out.batchStride = inner.strides[2];
  }
  uint64_t calls = 1;
  for (const Loop &loop : loops)
    if ((calls *= loop.extent) > kMostCalls)
      return refuse("strides of a batch that take " +
                        std::to_string(kMostCalls) + " calls at most",
                    std::to_string(calls) + " or more");
  const std::array<uint64_t, 3> offsets = {c.lhs->offset, c.rhs->offset,
                                           c.out->offset};
  for (uint64_t call = 0; call < calls; ++call) {
    std::array<uint64_t, 3> place = offsets;
    uint64_t rest = call;
    for (size_t i = loops.size(); i-- > 0; rest /= loops[i].extent)
      for (size_t operand = 0; operand < 3; ++operand)
        place[operand] += rest % loops[i].extent * loops[i].strides[operand];
    result.calls.push_back({place[left], place[right], place[2]});
  }
  return result;
}
