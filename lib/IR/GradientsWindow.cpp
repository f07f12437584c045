//===- GradientsWindow.cpp - gradients of convolutions and pooling --------===//
//
// SPDX-License-Identifier: Apache-2.0
//
// The gradients of a convolution are convolutions: the upstream gradient by the
// other operand, over the other's free dimensions, with strides and dilations
// of lhs exchanged. Tensors without elements have none.
//
//===----------------------------------------------------------------------===//
#include "GradientModels.h"
#include "mlir/Dialect/Utils/IndexingUtils.h"
#include "pp/IR/Windows.h"

using namespace mlir;
using namespace pp;

namespace {

int64_t extentOf(int64_t size, int64_t dilation) {
  return (size - 1) * dilation + 1;
}

//===----------------------------------------------------------------------===//
// Convolution
//===----------------------------------------------------------------------===//

/// A convolution under construction, whose result is the gradient of `like`.
struct Product {
  Value lhs, rhs, like;
  SmallVector<int64_t> lhsBatch, rhsBatch, lhsContract, rhsContract;
  SmallVector<int64_t> lhsWindow, rhsWindow, likeWindow;
  SmallVector<int64_t> strides, low, high, lhsDilation, rhsDilation;
  bool reverse = false;
  /// Dimensions of `like`, in the order in which batch and free ones come out.
  SmallVector<int64_t> plain;

  Product(Value lhs, Value rhs, Value like) : lhs(lhs), rhs(rhs), like(like) {}

  /// Adds a window; the result has `positions`.
  void slide(const Window &window, int64_t positions) {
    strides.push_back(window.stride);
    rhsDilation.push_back(window.dilation);
    lhsDilation.push_back(window.baseDilation);
    low.push_back(window.low);
    high.push_back((positions - 1) * window.stride +
                   extentOf(window.taps, window.dilation) - window.low -
                   extentOf(window.size, window.baseDilation));
  }
  Value build(Vjp &vjp) const;
};

Value Product::build(Vjp &vjp) const {
  auto type = ranked(like);
  SmallVector<int64_t> order(type.getRank()), places(plain), shape;
  llvm::sort(places);
  for (int64_t dim : likeWindow)
    order[dim] = dim;
  for (auto [place, dim] : llvm::zip_equal(places, plain))
    order[place] = dim;
  for (int64_t dim : order)
    shape.push_back(type.getDimSize(dim));
  Value gradient = vjp.make<ConvolutionOp>(
      type.clone(shape), lhs, rhs, lhsBatch, rhsBatch, lhsContract, rhsContract,
      lhsWindow, rhsWindow, likeWindow, strides, low, high, lhsDilation,
      rhsDilation, reverse);
  return vjp.transpose(gradient, invertPermutationVector(order));
}

/// A convolution and the dimensions of its result.
struct Convolution {
  ConvolutionOp op;
  Value upstream;
  SmallVector<int64_t> lhsFree, rhsFree;
  /// Dimensions of the result.
  SmallVector<int64_t> batch, left, right;

  explicit Convolution(ConvolutionOp op)
      : op(op), lhsFree(op.getLhsFree()), rhsFree(op.getRhsFree()) {
    SmallVector<int64_t> plain = op.getResultPlain();
    size_t numBatch = op.getLhsBatch().size();
    batch.assign(plain.begin(), plain.begin() + numBatch);
    left.assign(plain.begin() + numBatch,
                plain.begin() + numBatch + lhsFree.size());
    right.assign(plain.begin() + numBatch + lhsFree.size(), plain.end());
  }
  int64_t positions(unsigned index) {
    return ranked(op.getResult()).getDimSize(op.getResultWindow()[index]);
  }
  /// The partners of `from` in `to`, in ascending order of `from`.
  static SmallVector<int64_t> partners(ArrayRef<int64_t> from,
                                       ArrayRef<int64_t> to) {
    SmallVector<int64_t> ascending(from), result;
    llvm::sort(ascending);
    for (int64_t dim : ascending)
      result.push_back(to[llvm::find(from, dim) - from.begin()]);
    return result;
  }
  static SmallVector<int64_t> join(ArrayRef<int64_t> a, ArrayRef<int64_t> b,
                                   ArrayRef<int64_t> c) {
    return llvm::to_vector(llvm::concat<const int64_t>(a, b, c));
  }
  Product lhsGradient();
  Product rhsGradient();
  Product reversedRhsGradient();
};

/// Lhs element i meets position p at i * lhs_dilation = p * stride + t *
/// dilation - low, so p * stride is found from i by going through t backwards.
Product Convolution::lhsGradient() {
  Product product(upstream, op.getRhs(), op.getLhs());
  product.lhsBatch = batch;
  llvm::append_range(product.rhsBatch, op.getRhsBatch());
  product.lhsContract = right;
  product.rhsContract = rhsFree;
  llvm::append_range(product.lhsWindow, op.getResultWindow());
  llvm::append_range(product.rhsWindow, op.getRhsWindow());
  llvm::append_range(product.likeWindow, op.getLhsWindow());
  product.plain = join(op.getLhsBatch(), lhsFree,
                       partners(op.getRhsContract(), op.getLhsContract()));
  product.reverse = !op.getReverse();
  for (unsigned index = 0; index < op.getStrides().size(); ++index) {
    Window window = getWindow(op, index);
    product.slide(
        {positions(index), window.taps, window.baseDilation, window.dilation,
         (window.taps - 1) * window.dilation - window.low, 0, window.stride},
        window.size);
  }
  return product;
}

Product Convolution::rhsGradient() {
  Product product(op.getLhs(), upstream, op.getRhs());
  llvm::append_range(product.lhsBatch, op.getLhsBatch());
  product.rhsBatch = batch;
  product.lhsContract = lhsFree;
  product.rhsContract = left;
  llvm::append_range(product.lhsWindow, op.getLhsWindow());
  llvm::append_range(product.rhsWindow, op.getResultWindow());
  llvm::append_range(product.likeWindow, op.getRhsWindow());
  product.plain =
      join(op.getRhsBatch(), partners(op.getLhsContract(), op.getRhsContract()),
           rhsFree);
  for (unsigned index = 0; index < op.getStrides().size(); ++index) {
    Window window = getWindow(op, index);
    product.slide({window.size, positions(index), window.dilation,
                   window.stride, window.low, 0, window.baseDilation},
                  window.taps);
  }
  return product;
}

/// Through `rhs` backwards, positions grow with t: the upstream slides over
/// lhs.
Product Convolution::reversedRhsGradient() {
  Product product(upstream, op.getLhs(), op.getRhs());
  product.lhsBatch = batch;
  llvm::append_range(product.rhsBatch, op.getLhsBatch());
  product.lhsContract = left;
  product.rhsContract = lhsFree;
  llvm::append_range(product.lhsWindow, op.getResultWindow());
  llvm::append_range(product.rhsWindow, op.getLhsWindow());
  llvm::append_range(product.likeWindow, op.getRhsWindow());
  product.plain = join(op.getRhsBatch(), rhsFree,
                       partners(op.getLhsContract(), op.getRhsContract()));
  for (unsigned index = 0; index < op.getStrides().size(); ++index) {
    Window window = getWindow(op, index);
    product.slide(
        {positions(index), window.size, window.dilation, window.baseDilation,
         (window.taps - 1) * window.dilation - window.low, 0, window.stride},
        window.taps);
  }
  return product;
}

void convolution(ConvolutionOp op, Vjp &vjp) {
  bool isEmpty =
      llvm::any_of(ArrayRef<Value>{op.getLhs(), op.getRhs(), op.getResult()},
                   [](Value value) {
                     return llvm::is_contained(ranked(value).getShape(), 0);
                   });
  for (unsigned operand : {0u, 1u}) {
    if (!vjp.needs(operand))
      continue;
    Type type = op->getOperand(operand).getType();
    if (isEmpty) {
      vjp.set(operand, vjp.fill(0.0, type));
      continue;
    }
    Convolution convolution(op);
    convolution.upstream =
        vjp.convert(vjp.upstream, ranked(op.getLhs()).getElementType());
    Product product = operand == 0      ? convolution.lhsGradient()
                      : op.getReverse() ? convolution.reversedRhsGradient()
                                        : convolution.rhsGradient();
    vjp.set(operand, product.build(vjp));
  }
}

//===----------------------------------------------------------------------===//
// Pooling
//===----------------------------------------------------------------------===//

/// An element gets the upstreams of the windows it is in, which are themselves
/// a window over the upstream with zeros between its elements.
Value sumWindow(ReduceWindowOp op, Vjp &vjp) {
  auto type = ranked(op.getOperand()), pooled = ranked(op.getResult());
  SmallVector<int64_t> none(type.getRank(), 0), interior(none), low, high, ones;
  SmallVector<int64_t> spread(pooled.getShape());
  for (auto [index, dim] : llvm::enumerate(op.getDimensions())) {
    Window window = getWindow(op, index);
    int64_t reach = (window.taps - 1) * window.dilation;
    interior[dim] = window.stride - 1;
    spread[dim] = extentOf(pooled.getDimSize(dim), window.stride);
    low.push_back(reach - window.low);
    high.push_back(window.size + window.low - spread[dim]);
    ones.push_back(1);
  }
  Value upstream = vjp.upstream;
  if (pooled.clone(spread) != pooled)
    upstream = vjp.make<PadOp>(pooled.clone(spread), upstream,
                               vjp.scalar(0.0, type.getElementType()), none,
                               none, interior);
  return vjp.make<ReduceWindowOp>(type, Reduction::Sum, upstream,
                                  op.getDimensions(), op.getSizes(), ones,
                                  op.getDilations(), low, high);
}

void reduceWindow(ReduceWindowOp op, Vjp &vjp) {
  if (!vjp.needs(0))
    return;
  Value x = op.getOperand();
  if (llvm::is_contained(ranked(op.getResult()).getShape(), 0) ||
      llvm::is_contained(ranked(x).getShape(), 0))
    return vjp.set(0, vjp.fill(0.0, x.getType()));
  if (op.getReduction() == Reduction::Sum)
    return vjp.set(0, sumWindow(op, vjp));
  if (op.getReduction() == Reduction::Min)
    x = vjp.unary<NegOp>(x);
  vjp.set(0, vjp.make<SelectAndScatterOp>(x.getType(), x, vjp.upstream,
                                          op.getDimensions(), op.getSizes(),
                                          op.getStrides(), op.getDilations(),
                                          op.getLow(), op.getHigh()));
}

/// The places of updates do not depend on the operand's values; a gradient with
/// respect to the updates would need another op, which no model has needed.
struct SelectAndScatterGradient
    : GradientOpInterface::ExternalModel<SelectAndScatterGradient,
                                         SelectAndScatterOp> {
  LogicalResult buildGradient(Operation *op, OpBuilder &,
                              ValueRange resultGradients,
                              const llvm::SmallBitVector &needed,
                              MutableArrayRef<Value>) const {
    if (!resultGradients[0] || !needed.test(1))
      return success();
    return op->emitOpError("expects updates that depend on no parameter: it "
                           "has no gradient for them");
  }
};

} // namespace

void pp::registerWindowGradients(MLIRContext *context) {
  attachGradient<ConvolutionOp, convolution>(context);
  attachGradient<ReduceWindowOp, reduceWindow>(context);
  SelectAndScatterOp::attachInterface<SelectAndScatterGradient>(*context);
}
