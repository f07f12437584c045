//===- Contractions.cpp - products and convolutions -----------------------===//
//
// SPDX-License-Identifier: Apache-2.0
//
// A convolution of groups is one with a batch dimension: pp's result has
// groups, then images, then features, and gets the order of StableHLO's.
//
//===----------------------------------------------------------------------===//
#include "Conversion.h"

using namespace mlir;
using namespace pp;
using namespace pp::hlo;

/// Gives both operands one element type, as pp's products have. Reports
/// unsigned ones that the result widens.
static LogicalResult alignElements(HloOp op, Value &lhs, Value &rhs,
                                   Conversion &graph) {
  auto bitsOf = [](RankedTensorType type) {
    return type.getElementType().getIntOrFloatBitWidth();
  };
  const unsigned bits = bitsOf(op.getResultType());
  if ((bits > bitsOf(op.getOperandType(0)) ||
       bits > bitsOf(op.getOperandType(1))) &&
      failed(verifySigned(op)))
    return failure();
  if (graph.typeOf(lhs).getElementType() == graph.typeOf(rhs).getElementType())
    return success();
  const Type element = graph.resultType(op).getElementType();
  lhs = graph.convert(lhs, element);
  rhs = graph.convert(rhs, element);
  return success(lhs && rhs);
}

static Value convertDotGeneral(HloOp op, Conversion &graph) {
  FailureOr<DictionaryAttr> numbers = op.getDictionary("dot_dimension_numbers");
  if (failed(numbers))
    return {};
  Value lhs = graph.operand(op, 0), rhs = graph.operand(op, 1);
  if (failed(alignElements(op, lhs, rhs, graph)))
    return {};
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
  if (failed(alignElements(op, lhs, rhs, graph)))
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
  int64_t groups = 1, batchGroups = 1;
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
  if (*batchGroups != 1 && *groups != 1)
    return op.failAt("batch_group_count", "1 beside a feature_group_count");
  Window window{*strides,     {},    {},      *lhsDilation,
                *rhsDilation, false, *groups, *batchGroups};
  for (size_t dim = 0; dim < spatial; ++dim) {
    window.low.push_back((*padding)[2 * dim]);
    window.high.push_back((*padding)[2 * dim + 1]);
  }
  window.reverse = llvm::is_contained(*reversal, 1);
  if (window.reverse && llvm::is_contained(*reversal, 0))
    return op.failAt("window_reversal", "equal in all dimensions");
  return window;
}

namespace {

/// An operand and where its dimensions are.
struct Convolved {
  Value value;
  Places places;
};

} // namespace

/// Splits dimension `dim` in two, of which the first has `groups`; moves the
/// numbers of the dimensions behind it.
static LogicalResult splitGroups(Convolved &operand, int64_t dim,
                                 int64_t groups, Conversion &graph) {
  Ints shape(graph.shapeOf(operand.value));
  if (groups < 1 || shape[dim] % groups != 0)
    return emitError(graph.getLoc(),
                     "expects a number of groups that divides the features or "
                     "images, got ")
           << groups << " for " << shape[dim];
  shape[dim] /= groups;
  shape.insert(shape.begin() + dim, groups);
  operand.value = graph.reshape(operand.value, shape);
  auto move = [&](int64_t &place) { place += place >= dim; };
  move(operand.places.first);
  move(operand.places.second);
  llvm::for_each(operand.places.spatial, move);
  return success(bool(operand.value));
}

/// Moves the groups, which stand before the images, before the features.
static LogicalResult moveGroups(Convolved &operand, Conversion &graph) {
  const int64_t from = operand.places.first - 1;
  int64_t to = operand.places.second;
  auto order = llvm::to_vector(
      llvm::seq<int64_t>(0, graph.typeOf(operand.value).getRank()));
  order.erase(order.begin() + from);
  to -= to > from;
  order.insert(order.begin() + to, from);
  operand.value = graph.transpose(operand.value, order);
  auto move = [&](int64_t &place) {
    place = llvm::find(order, place) - order.begin();
  };
  move(operand.places.first);
  move(operand.places.second);
  llvm::for_each(operand.places.spatial, move);
  return success(bool(operand.value));
}

/// Where operands and result have their dimensions; reports other labels.
static FailureOr<std::array<Places, 3>> findAllPlaces(HloOp op) {
  FailureOr<ConvolutionLabels> labels = op.getConvolutionLabels();
  if (failed(labels))
    return failure();
  std::optional<Places> lhs = findPlaces(labels->lhs, "b", "f"),
                        rhs = findPlaces(labels->rhs, "i", "o"),
                        result = findPlaces(labels->result, "b", "f");
  auto fits = [](const SmallVector<std::string> &list, RankedTensorType type) {
    return int64_t(list.size()) == type.getRank();
  };
  if (lhs && rhs && result && fits(labels->lhs, op.getOperandType(0)) &&
      fits(labels->rhs, op.getOperandType(1)) &&
      fits(labels->result, op.getResultType()) &&
      lhs->spatial.size() == rhs->spatial.size() &&
      lhs->spatial.size() == result->spatial.size())
    return std::array{*lhs, *rhs, *result};
  return op.failAt("dimension_numbers", "those of operands and result");
}

/// pp's result: [groups,] images, features, then the window's dimensions.
static Value makeConvolution(const Convolved &x, const Convolved &kernel,
                             const Window &window, ArrayRef<int64_t> shape,
                             RankedTensorType type, Conversion &graph) {
  const bool isGrouped = window.groups != 1 || window.batchGroups != 1;
  // Groups stand before the features.
  const Ints lhsBatch = isGrouped ? Ints{x.places.second - 1} : Ints();
  const Ints rhsBatch = isGrouped ? Ints{kernel.places.second - 1} : Ints();
  const auto places = llvm::to_vector(
      llvm::seq<int64_t>(shape.size() - x.places.spatial.size(), shape.size()));
  return graph.make<ConvolutionOp>(
      type.clone(shape), x.value, kernel.value, lhsBatch, rhsBatch,
      Ints{x.places.second}, Ints{kernel.places.first}, x.places.spatial,
      kernel.places.spatial, places, window.strides, window.low, window.high,
      window.lhsDilation, window.rhsDilation, window.reverse);
}

/// [groups, images, features, ...] as [images, features, ...].
static Value mergeGroups(Value value, Conversion &graph) {
  if (!value)
    return {};
  auto order =
      llvm::to_vector(llvm::seq<int64_t>(0, graph.typeOf(value).getRank()));
  std::swap(order[0], order[1]);
  Ints shape(graph.shapeOf(value));
  shape[2] *= shape[0];
  shape.erase(shape.begin());
  return graph.reshape(graph.transpose(value, order), shape);
}

static Value convertConvolution(HloOp op, Conversion &graph) {
  FailureOr<std::array<Places, 3>> places = findAllPlaces(op);
  if (failed(places))
    return {};
  const auto &[ofX, ofKernel, ofResult] = *places;
  FailureOr<Window> window = findWindow(op, ofX.spatial.size());
  if (failed(window))
    return {};
  Convolved x{graph.operand(op, 0), ofX},
      kernel{graph.operand(op, 1), ofKernel};
  RankedTensorType type = graph.resultType(op);
  if (failed(alignElements(op, x.value, kernel.value, graph)))
    return {};
  // Groups of images convolve with groups of features as groups of features do.
  const int64_t ofImages = window->batchGroups;
  if (ofImages != 1 && (failed(splitGroups(x, ofX.first, ofImages, graph)) ||
                        failed(moveGroups(x, graph))))
    return {};
  const int64_t groups = std::max(window->groups, ofImages);
  if ((window->groups != 1 &&
       failed(splitGroups(x, ofX.second, groups, graph))) ||
      (groups != 1 &&
       failed(splitGroups(kernel, ofKernel.second, groups, graph))))
    return {};
  Ints shape{type.getDimSize(ofResult.first),
             type.getDimSize(ofResult.second) / groups};
  for (int64_t place : ofResult.spatial)
    shape.push_back(type.getDimSize(place));
  if (groups != 1)
    shape.insert(shape.begin(), groups);
  Value made = makeConvolution(x, kernel, *window, shape, type, graph);
  if (groups != 1)
    made = mergeGroups(made, graph);
  Ints order(type.getRank());
  order[ofResult.first] = 0;
  order[ofResult.second] = 1;
  for (auto [index, place] : llvm::enumerate(ofResult.spatial))
    order[place] = 2 + index;
  return graph.transpose(made, order);
}

void pp::hlo::addContractions(Handlers &handlers) {
  handlers["dot_general"] = {convertDotGeneral, nullptr, 2};
  handlers["dot"] = {convertDot, nullptr, 2};
  handlers["convolution"] = {convertConvolution, nullptr, 2};
}
