//===- Contractions.cpp - products and convolutions -----------------------===//
//
// SPDX-License-Identifier: Apache-2.0
//
//===----------------------------------------------------------------------===//
#include "Conversion.h"

using namespace mlir;
using namespace pp;
using namespace pp::hlo;

/// Gives both operands one element type, as pp's products have.
static void alignElements(Value &lhs, Value &rhs, Conversion &graph,
                          Type result) {
  if (graph.typeOf(lhs).getElementType() == graph.typeOf(rhs).getElementType())
    return;
  lhs = graph.convert(lhs, result);
  rhs = graph.convert(rhs, result);
}

static Value convertDotGeneral(HloOp op, Conversion &graph) {
  FailureOr<DictionaryAttr> numbers = op.getDictionary("dot_dimension_numbers");
  if (failed(numbers))
    return {};
  Value lhs = graph.operand(op, 0), rhs = graph.operand(op, 1);
  alignElements(lhs, rhs, graph, graph.resultType(op).getElementType());
  return graph.make<DotGeneralOp>(
      graph.resultType(op), lhs, rhs,
      getEntry(*numbers, "lhs_batching_dimensions"),
      getEntry(*numbers, "rhs_batching_dimensions"),
      getEntry(*numbers, "lhs_contracting_dimensions"),
      getEntry(*numbers, "rhs_contracting_dimensions"));
}

/// A product of matrices and vectors.
static Value convertDot(HloOp op, Conversion &graph) {
  Value lhs = graph.operand(op, 0), rhs = graph.operand(op, 1);
  alignElements(lhs, rhs, graph, graph.resultType(op).getElementType());
  if (!lhs || !rhs)
    return {};
  const Ints none;
  return graph.make<DotGeneralOp>(graph.resultType(op), lhs, rhs, none, none,
                                  Ints{graph.typeOf(lhs).getRank() - 1},
                                  Ints{0});
}

//===----------------------------------------------------------------------===//
// Convolution
//===----------------------------------------------------------------------===//

namespace {

/// Where the dimensions of an operand or result are.
struct Places {
  int64_t first = -1, second = -1; ///< batch and feature, or input and output
  Ints spatial;
};

/// The attributes of a convolution.
struct Window {
  Ints strides, low, high, lhsDilation, rhsDilation;
  bool reverse = false;
  int64_t groups = 1;
};

} // namespace

/// Reads labels such as `b`, `0`, `1`, `f`.
static std::optional<Places> findPlaces(ArrayRef<std::string> labels,
                                        StringRef first, StringRef second) {
  if (labels.size() < 2)
    return std::nullopt;
  Places places;
  places.spatial.assign(labels.size() - 2, -1);
  for (auto [place, label] : llvm::enumerate(labels)) {
    size_t spatial = 0;
    if (label == first)
      places.first = place;
    else if (label == second)
      places.second = place;
    else if (!StringRef(label).getAsInteger(10, spatial) &&
             spatial < places.spatial.size())
      places.spatial[spatial] = place;
  }
  if (places.first < 0 || places.second < 0 ||
      llvm::is_contained(places.spatial, -1))
    return std::nullopt;
  return places;
}

static FailureOr<Window> findWindow(HloOp op, size_t spatial) {
  FailureOr<Ints> strides = op.getIntsPer("window_strides", spatial, 1);
  FailureOr<Ints> padding = op.getIntsPer("padding", 2 * spatial, 0);
  FailureOr<Ints> lhsDilation = op.getIntsPer("lhs_dilation", spatial, 1);
  FailureOr<Ints> rhsDilation = op.getIntsPer("rhs_dilation", spatial, 1);
  FailureOr<Ints> reversal = op.getIntsPer("window_reversal", spatial, 0);
  FailureOr<int64_t> groups = op.getInt("feature_group_count", 1);
  FailureOr<int64_t> batchGroups = op.getInt("batch_group_count", 1);
  if (failed(strides) || failed(padding) || failed(lhsDilation) ||
      failed(rhsDilation) || failed(reversal) || failed(groups) ||
      failed(batchGroups))
    return failure();
  if (*batchGroups != 1)
    return op.failAt("batch_group_count", "1");
  Window window{*strides, {}, {}, *lhsDilation, *rhsDilation, false, *groups};
  for (size_t dim = 0; dim < spatial; ++dim) {
    window.low.push_back((*padding)[2 * dim]);
    window.high.push_back((*padding)[2 * dim + 1]);
  }
  window.reverse = llvm::is_contained(*reversal, 1);
  if (window.reverse && llvm::is_contained(*reversal, 0))
    return op.failAt("window_reversal", "equal in all dimensions");
  return window;
}

/// Splits dimension `dim` of `value` in two, of which the first has `groups`;
/// moves the numbers of dimensions behind it.
static Value splitGroups(Value value, int64_t dim, int64_t groups,
                         Conversion &graph) {
  Ints shape(graph.shapeOf(value));
  if (groups < 1 || shape[dim] % groups != 0)
    return emitError(graph.getLoc(), "expects a feature_group_count that "
                                     "divides the features, got ")
               << groups << " for " << shape[dim],
           Value();
  shape[dim] /= groups;
  shape.insert(shape.begin() + dim, groups);
  return graph.reshape(value, shape);
}

/// Numbers of dimensions after a split of `dim`.
static int64_t behindSplit(int64_t place, int64_t dim) {
  return place > dim ? place + 1 : place;
}

/// The sizes of the result, as StableHLO has them.
static Value convertConvolution(HloOp op, Conversion &graph) {
  FailureOr<ConvolutionLabels> labels = op.getConvolutionLabels();
  if (failed(labels))
    return {};
  std::optional<Places> lhs = findPlaces(labels->lhs, "b", "f"),
                        rhs = findPlaces(labels->rhs, "i", "o"),
                        result = findPlaces(labels->result, "b", "f");
  const int64_t rank = op.getResultType().getRank();
  if (!lhs || !rhs || !result || int64_t(labels->lhs.size()) != rank ||
      int64_t(labels->rhs.size()) != rank ||
      int64_t(labels->result.size()) != rank ||
      op.getOperandType(0).getRank() != rank ||
      op.getOperandType(1).getRank() != rank)
    return op.failAt("dimension_numbers", "those of operands and result"),
           Value();
  FailureOr<Window> window = findWindow(op, rank - 2);
  if (failed(window))
    return {};
  Value x = graph.operand(op, 0), w = graph.operand(op, 1);
  RankedTensorType type = graph.resultType(op);
  alignElements(x, w, graph, type.getElementType());
  // pp's result: groups, batch, features, then the window's dimensions.
  Ints shape, lhsBatch, rhsBatch;
  const bool isGrouped = window->groups != 1;
  int64_t input = lhs->second, kernelInput = rhs->first;
  Ints lhsWindow = lhs->spatial, rhsWindow = rhs->spatial;
  if (isGrouped && x && w) {
    x = splitGroups(x, lhs->second, window->groups, graph);
    w = splitGroups(w, rhs->second, window->groups, graph);
    lhsBatch = {input++};
    rhsBatch = {rhs->second};
    kernelInput = behindSplit(kernelInput, rhs->second);
    for (int64_t &dim : lhsWindow)
      dim = behindSplit(dim, lhs->second);
    for (int64_t &dim : rhsWindow)
      dim = behindSplit(dim, rhs->second);
    shape.push_back(window->groups);
  }
  shape.push_back(type.getShape()[result->first]);
  shape.push_back(type.getShape()[result->second] /
                  std::max<int64_t>(window->groups, 1));
  const auto windowPlaces =
      llvm::to_vector(llvm::seq<int64_t>(shape.size(), rank + isGrouped));
  for (int64_t place : result->spatial)
    shape.push_back(type.getShape()[place]);
  Value made = graph.make<ConvolutionOp>(
      type.clone(shape), x, w, lhsBatch, rhsBatch, Ints{input},
      Ints{kernelInput}, lhsWindow, rhsWindow, windowPlaces, window->strides,
      window->low, window->high, window->lhsDilation, window->rhsDilation,
      window->reverse);
  if (!made)
    return {};
  // Groups and features become one dimension, features last of all first.
  Ints permutation(rank, -1);
  if (isGrouped) {
    Ints order{1, 0, 2};
    order.append(windowPlaces.begin(), windowPlaces.end());
    made = graph.transpose(made, order);
    shape.erase(shape.begin());
    shape[1] *= window->groups;
    made = graph.reshape(made, shape);
  }
  permutation[result->first] = 0;
  permutation[result->second] = 1;
  for (auto [index, place] : llvm::enumerate(result->spatial))
    permutation[place] = 2 + index;
  return graph.transpose(made, permutation);
}

void pp::hlo::addContractions(Handlers &handlers) {
  handlers["dot_general"] = {convertDotGeneral, nullptr, 2};
  handlers["dot"] = {convertDot, nullptr, 2};
  handlers["convolution"] = {convertConvolution, nullptr, 2};
}
