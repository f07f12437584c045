//===- Matrices.cpp - a contraction as cublasLt takes it ------------------===//
//
// SPDX-License-Identifier: Apache-2.0
//
//===----------------------------------------------------------------------===//
#include "Matrices.h"
#include "pprt/Program.h"

#include <algorithm>
#include <array>
#include <limits>
#include <optional>

using namespace pprt;
using namespace pprt::cuda;

/// "Usually only values that can be expressed as int32_t are supported."
static constexpr uint64_t kLargest = std::numeric_limits<int32_t>::max();
/// Beyond this, rearranging the operands is better.
static constexpr uint64_t kMostCalls = 256;

namespace {

/// A view as columns or as rows, or both.
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
  /// Neighbouring elements lie in columns, or in rows.
  Matrix inColumns() const {
    return {rows, columns, columns == 1 ? rows : view->column_stride, false};
  }
  Matrix inRows() const {
    return {columns, rows, rows == 1 ? columns : view->row_stride, false};
  }
  /// The factor of a product, as it is or transposed.
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
                       isNarrowFloat(c.element);
  const bool isWidened =
      isNarrowFloat(c.element) && c.out_element == ppx::ElementType_f32;
  if (!isKnown || (c.out_element != c.element && !isWidened))
    return refuse("f32, f64, bf16 or f16, of which the last two may give f32",
                  std::string(ppx::EnumNameElementType(c.element)) + " to " +
                      ppx::EnumNameElementType(c.out_element));
  return {};
}

/// Maps the epilogues to one of cublasLt's, in their order; in f64 it only adds
/// a matrix.
Status verifyEpilogues(const ppx::ContractionT &c) {
  if (c.epilogues.empty())
    return {};
  using Kinds = std::vector<ppx::EpilogueKind>;
  constexpr auto add = ppx::EpilogueKind_add,
                 gelu = ppx::EpilogueKind_gelu_tanh,
                 gradient = ppx::EpilogueKind_gelu_tanh_gradient;
  const Kinds known[] = {{add},
                         {add, add},
                         {gelu},
                         {add, gelu},
                         {gradient},
                         {ppx::EpilogueKind_sum_lhs},
                         {ppx::EpilogueKind_sum_rhs}};
  Kinds kinds;
  std::string names;
  bool haveViews = true;
  for (const auto &epilogue : c.epilogues) {
    names += (names.empty() ? "" : ", ") +
             std::string(ppx::EnumNameEpilogueKind(epilogue->kind));
    kinds.push_back(epilogue->kind);
    haveViews &= epilogue->view || epilogue->kind == gelu;
  }
  if (!haveViews ||
      std::find(std::begin(known), std::end(known), kinds) == std::end(known))
    return refuse("a bias, a residual or both, gelu_tanh behind one or none, "
                  "its gradient or the sums of an operand beside a product",
                  names + (haveViews ? "" : " of no view"));
  if (c.out_element == ppx::ElementType_f64 && kinds != Kinds{add})
    return refuse("no epilogue in f64", names);
  // Out's old value is added before the activation, not after it.
  if (c.accumulate && (kinds.back() == gelu || kinds.back() == gradient))
    return refuse("a result that is not added up behind an activation", names);
  return {};
}

bool isDense(const ppx::MatrixViewT &view) {
  return view.rows.empty() && view.columns.empty() && view.windows.empty();
}

/// Vectors and matrices beside a product. The library asks less of vectors, but
/// has had algorithms that read this many bytes at once.
bool isAligned(const ppx::ContractionT &c, const ppx::MatrixViewT &view) {
  return view.offset * elementSize(c.out_element) % kTensorCoreBytes == 0;
}

/// Whether the view is one vector of neighbours along out's, for all of them;
/// `products` knows whether out^T is computed.
bool isBias(const ppx::ContractionT &c, const ppx::MatrixViewT &view,
            const MatrixProducts &products) {
  const bool isSwapped = products.isSwapped;
  const uint64_t down = isSwapped ? view.column_stride : view.row_stride,
                 across = isSwapped ? view.row_stride : view.column_stride,
                 rows = isSwapped ? c.n : c.m, columns = isSwapped ? c.m : c.n;
  bool isForAll = isDense(view) && isAligned(c, view) &&
                  view.batch.size() == c.batch.size() &&
                  (columns == 1 || across == 0) && (rows == 1 || down == 1);
  for (size_t i = 0; isForAll && i < c.batch.size(); ++i)
    isForAll = c.batch[i] == 1 || view.batch[i] == 0;
  return isForAll && c.out_element != ppx::ElementType_f64;
}

/// The view as a matrix of out's order, if cublasLt can take it as one.
std::optional<Matrix> layoutLikeOut(const ppx::ContractionT &c,
                                    const ppx::MatrixViewT &view,
                                    const MatrixProducts &products) {
  const Sides sides = {&view, c.m, c.n};
  if (!isDense(view) || !c.batch.empty() ||
      !(products.isSwapped ? sides.hasRows() : sides.hasColumns()))
    return std::nullopt;
  const Matrix layout = products.isSwapped ? sides.inRows() : sides.inColumns();
  return layout.leading <= kLargest ? std::optional(layout) : std::nullopt;
}

std::string printPlace(const ppx::MatrixViewT &view) {
  return "strides " + std::to_string(view.row_stride) + " and " +
         std::to_string(view.column_stride) + ", element " +
         std::to_string(view.offset);
}

/// Finds a bias, or a matrix that takes the place of out's old value.
Status findAddend(const ppx::ContractionT &c, const ppx::EpilogueT &epilogue,
                  MatrixProducts &products) {
  const ppx::MatrixViewT &view = *epilogue.view;
  if (products.vectorRole == MatrixProducts::Vector::none &&
      isBias(c, view, products)) {
    products.vectorRole = MatrixProducts::Vector::bias;
    products.vector = {epilogue.parameter, view.offset};
    return {};
  }
  const std::optional<Matrix> layout = layoutLikeOut(c, view, products);
  if (!layout || products.addend || c.accumulate)
    return refuse("one vector of neighbours along out's for all (not in f64, "
                  "at a multiple of 16 bytes), and one matrix as out, without "
                  "a batch, instead of what is there",
                  printPlace(view));
  products.addend = MatrixProducts::Place{epilogue.parameter, view.offset};
  products.addendLayout = *layout;
  return {};
}

/// Sums need a single product, and neighbours. The library adds up steps whose
/// elements are neighbours ("BGRADA only works with non-transposed A", "BGRADB
/// only works with transposed B"); NVIDIA's own users keep to several steps, of
/// several elements.
Status findSums(const ppx::ContractionT &c, const ppx::EpilogueT &epilogue,
                MatrixProducts &products) {
  const ppx::MatrixViewT &view = *epilogue.view;
  const bool isLhs = epilogue.kind == ppx::EpilogueKind_sum_lhs;
  const uint64_t stride = isLhs ? view.row_stride : view.column_stride,
                 extent = isLhs ? c.m : c.n;
  if (!c.batch.empty() || !isDense(view) || (extent > 1 && stride != 1) ||
      !isAligned(c, view))
    return refuse("sums of one product beside each other, at a multiple of 16 "
                  "bytes",
                  "a batch of " + std::to_string(c.batch.size()) +
                      " dimensions, stride " + std::to_string(stride) +
                      ", element " + std::to_string(view.offset));
  // No document says whether the factor applies to the sums, too.
  if (c.alpha != 1)
    return refuse("sums beside a product that is not scaled",
                  "a factor of " + std::to_string(c.alpha));
  const bool isLeft = isLhs != products.isSwapped;
  if (c.k == 1 || extent == 1 ||
      (isLeft ? products.left : products.right).isTransposed == isLeft) {
    const ppx::MatrixViewT &operand = isLhs ? *c.lhs : *c.rhs;
    return refuse("sums over several steps, of several neighbours each",
                  std::to_string(c.k) + " of " + std::to_string(extent) +
                      ", strides " + std::to_string(operand.row_stride) +
                      " and " + std::to_string(operand.column_stride));
  }
  products.vectorRole = isLeft ? MatrixProducts::Vector::leftSums
                               : MatrixProducts::Vector::rightSums;
  products.vector = {epilogue.parameter, view.offset};
  return {};
}

/// "Must be divisible by 8 and be no less than the number of rows", at an
/// address divisible by 16.
Status findActivation(const ppx::ContractionT &c,
                      const ppx::EpilogueT &epilogue,
                      MatrixProducts &products) {
  constexpr uint64_t kLeading = 8;
  products.activation = epilogue.kind == ppx::EpilogueKind_gelu_tanh
                            ? MatrixProducts::Activation::gelu
                            : MatrixProducts::Activation::geluGradient;
  if (products.activation == MatrixProducts::Activation::geluGradient &&
      c.k == 1)
    return refuse("several steps before GELU's gradient", "one");
  if (!epilogue.view)
    return {};
  const ppx::MatrixViewT &view = *epilogue.view;
  const std::optional<Matrix> layout = layoutLikeOut(c, view, products);
  if (!layout || layout->leading % kLeading != 0 || !isAligned(c, view))
    return refuse("what GELU is given as out lies, without a batch, by a "
                  "multiple of 8 elements from column to column, at one of "
                  "16 bytes",
                  printPlace(view));
  products.auxiliary = MatrixProducts::Place{epilogue.parameter, view.offset};
  products.auxiliaryLeading = layout->leading;
  return {};
}

Status findEpilogue(const ppx::ContractionT &c, const ppx::EpilogueT &epilogue,
                    MatrixProducts &products) {
  switch (epilogue.kind) {
  case ppx::EpilogueKind_add:
    return findAddend(c, epilogue, products);
  case ppx::EpilogueKind_sum_lhs:
  case ppx::EpilogueKind_sum_rhs:
    return findSums(c, epilogue, products);
  default:
    return findActivation(c, epilogue, products);
  }
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

/// Finds the fewest loops that go over all items; the longest is the last one.
std::vector<Loop> findLoops(const ppx::ContractionT &c) {
  std::vector<Loop> loops;
  for (size_t i = 0; i < c.batch.size(); ++i)
    if (c.batch[i] > 1)
      loops.push_back(
          {c.batch[i], {c.lhs->batch[i], c.rhs->batch[i], c.out->batch[i]}});
  // Items may come in any order.
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

MatrixProducts MatrixProducts::withoutEpilogues() const {
  MatrixProducts result;
  result.left = left;
  result.right = right;
  result.out = out;
  result.isSwapped = isSwapped;
  result.batch = batch;
  result.calls = calls;
  result.accumulates = accumulates;
  return result;
}

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
  // A single column is better as a column than as rows of one element.
  result.isSwapped = c.n > 1 ? out.hasRows() : !out.hasColumns();
  result.out = result.isSwapped ? out.inRows() : out.inColumns();
  result.left = (result.isSwapped ? rhs : lhs).factor(result.isSwapped);
  result.right = (result.isSwapped ? lhs : rhs).factor(result.isSwapped);

  for (const auto &epilogue : c.epilogues)
    if (Status status = findEpilogue(c, *epilogue, result); !status.ok())
      return status;

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
  result.accumulates = c.accumulate;
  result.mayUsePointers = calls > 1 && !result.hasEpilogues();
  return result;
}
