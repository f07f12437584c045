//===- WindowOps.cpp - verifiers of convolutions and pooling --------------===//
//
// SPDX-License-Identifier: Apache-2.0
//
// WindowOps.td has the labels of constraints. ODS has checked that operands are
// tensors of static shape.
//
//===----------------------------------------------------------------------===//
#include "OpVerifiers.h"
#include "mlir/IR/Builders.h"
#include "pp/IR/Values.h"
#include "pp/IR/Windows.h"

using namespace mlir;
using namespace pp;

/// No window reaches further; products of such numbers fit into 64 bits.
static constexpr int64_t kMost = std::numeric_limits<int32_t>::max();

static bool lieWithin(ArrayRef<int64_t> values, int64_t least) {
  return llvm::all_of(values, [least](int64_t value) {
    return value >= least && value <= kMost;
  });
}

/// The extent of `size` elements that are `dilation` apart.
static int64_t windowExtent(int64_t size, int64_t dilation) {
  return size == 0 ? 0 : (size - 1) * dilation + 1;
}

int64_t pp::countPositions(const Window &window) {
  int64_t room = windowExtent(window.size, window.baseDilation) + window.low +
                 window.high - windowExtent(window.taps, window.dilation);
  return room < 0 ? 0 : room / window.stride + 1;
}

//===----------------------------------------------------------------------===//
// Convolution
//===----------------------------------------------------------------------===//

SmallVector<int64_t> ConvolutionOp::getLhsFree() {
  return othersThan(ranked(getLhs()).getRank(),
                    {getLhsBatch(), getLhsContract(), getLhsWindow()});
}
SmallVector<int64_t> ConvolutionOp::getRhsFree() {
  return othersThan(ranked(getRhs()).getRank(),
                    {getRhsBatch(), getRhsContract(), getRhsWindow()});
}
SmallVector<int64_t> ConvolutionOp::getResultPlain() {
  return othersThan(ranked(getResult()).getRank(), {getResultWindow()});
}

LogicalResult ConvolutionOp::verify() {
  auto lhs = ranked(getLhs()), rhs = ranked(getRhs()), type = getType();
  size_t windows = getLhsWindow().size();
  if (getLhsBatch().size() != getRhsBatch().size() ||
      getLhsContract().size() != getRhsContract().size() ||
      getRhsWindow().size() != windows || getResultWindow().size() != windows ||
      !areDistinct(lhs.getRank(),
                   {getLhsBatch(), getLhsContract(), getLhsWindow()}) ||
      !areDistinct(rhs.getRank(),
                   {getRhsBatch(), getRhsContract(), getRhsWindow()}) ||
      !areDistinct(type.getRank(), {getResultWindow()}))
    return emitOpError()
           << "expects paired, distinct batch, contracting and window "
              "dimensions, got batch ["
           << getLhsBatch() << "] x [" << getRhsBatch() << "], contract ["
           << getLhsContract() << "] x [" << getRhsContract() << "], window ["
           << getLhsWindow() << "] x [" << getRhsWindow() << "] -> ["
           << getResultWindow() << "] (convolution_c1)";
  if (failed(expectPairs(*this, "convolution_c2")))
    return failure();
  for (ArrayRef<int64_t> amounts :
       {getStrides(), getLow(), getHigh(), getLhsDilation(), getRhsDilation()})
    if (amounts.size() != windows || !lieWithin(amounts, -kMost))
      return emitOpError() << "expects " << windows
                           << " strides, lows, highs and dilations below 2^31, "
                              "got ["
                           << amounts << "] (convolution_c3)";
  for (ArrayRef<int64_t> amounts :
       {getStrides(), getLhsDilation(), getRhsDilation()})
    if (!lieWithin(amounts, 1))
      return emitOpError()
             << "expects strides and dilations of at least 1, got [" << amounts
             << "] (convolution_c3)";
  SmallVector<int64_t> plain = getPlainSizes(*this),
                       shape(windows + plain.size());
  if (type.getRank() != static_cast<int64_t>(shape.size()))
    return emitOpError() << "expects a result of rank " << shape.size()
                         << ", got " << type << " (convolution_c4)";
  for (auto [dim, size] : llvm::zip_equal(getResultPlain(), plain))
    shape[dim] = size;
  for (auto [index, dim] : llvm::enumerate(getResultWindow()))
    shape[dim] = countPositions(getWindow(*this, index));
  return expectShape(*this, getResult(), shape, "convolution_c4");
}

Window pp::getWindow(ConvolutionOp op, unsigned index) {
  return {ranked(op.getLhs()).getDimSize(op.getLhsWindow()[index]),
          ranked(op.getRhs()).getDimSize(op.getRhsWindow()[index]),
          op.getStrides()[index],
          op.getRhsDilation()[index],
          op.getLow()[index],
          op.getHigh()[index],
          op.getLhsDilation()[index]};
}

//===----------------------------------------------------------------------===//
// Pooling
//===----------------------------------------------------------------------===//

template <typename OpTy> static Window windowOf(OpTy op, unsigned index) {
  return {ranked(op.getOperand()).getDimSize(op.getDimensions()[index]),
          op.getSizes()[index],
          op.getStrides()[index],
          op.getDilations()[index],
          op.getLow()[index],
          op.getHigh()[index]};
}
Window pp::getWindow(ReduceWindowOp op, unsigned index) {
  return windowOf(op, index);
}
Window pp::getWindow(SelectAndScatterOp op, unsigned index) {
  return windowOf(op, index);
}

uint64_t pp::getReach(const Window &window) {
  auto size = [](int64_t number) {
    return number < 0 ? -static_cast<uint64_t>(number)
                      : static_cast<uint64_t>(number);
  };
  uint64_t reach =
      llvm::SaturatingMultiply(size(window.size), size(window.baseDilation));
  reach = llvm::SaturatingMultiplyAdd(size(window.taps), size(window.dilation),
                                      reach);
  for (int64_t more : {window.low, window.high, window.stride})
    reach = llvm::SaturatingAdd(reach, size(more));
  return reach;
}

template <typename OpTy>
static SmallVector<Window> listWindows(OpTy op, size_t count) {
  SmallVector<Window> windows;
  for (unsigned index = 0; index < count; ++index)
    windows.push_back(getWindow(op, index));
  return windows;
}
SmallVector<Window> pp::getWindows(Operation *op) {
  if (auto convolution = dyn_cast<ConvolutionOp>(op))
    return listWindows(convolution, convolution.getLhsWindow().size());
  if (auto pooling = dyn_cast<ReduceWindowOp>(op))
    return listWindows(pooling, pooling.getDimensions().size());
  if (auto pooling = dyn_cast<SelectAndScatterOp>(op))
    return listWindows(pooling, pooling.getDimensions().size());
  return {};
}

/// Checks the windows of pooling and returns the shape of their results.
template <typename OpTy>
static FailureOr<SmallVector<int64_t>> pooledShape(OpTy op, StringRef label) {
  auto type = ranked(op.getOperand());
  size_t windows = op.getDimensions().size();
  int64_t last = -1;
  bool isValid = true;
  for (int64_t dimension : op.getDimensions()) {
    isValid &= dimension > last && dimension < type.getRank();
    last = dimension;
  }
  for (ArrayRef<int64_t> amounts :
       {op.getSizes(), op.getStrides(), op.getDilations()})
    isValid &= amounts.size() == windows && lieWithin(amounts, 1);
  for (ArrayRef<int64_t> amounts : {op.getLow(), op.getHigh()})
    isValid &= amounts.size() == windows && lieWithin(amounts, -kMost);
  if (!isValid)
    return op->emitOpError()
           << "expects strictly increasing dimensions below " << type.getRank()
           << " with a size, stride and dilation of at least 1, a low and a "
              "high each, got dims ["
           << op.getDimensions() << "], sizes [" << op.getSizes()
           << "], strides [" << op.getStrides() << "], dilation ["
           << op.getDilations() << "], low [" << op.getLow() << "], high ["
           << op.getHigh() << "] (" << label << ")";
  SmallVector<int64_t> shape(type.getShape());
  for (auto [index, dimension] : llvm::enumerate(op.getDimensions()))
    shape[dimension] = countPositions(getWindow(op, index));
  return shape;
}

LogicalResult ReduceWindowOp::verify() {
  auto shape = pooledShape(*this, "reduce_window_c1");
  if (failed(shape))
    return failure();
  if (!llvm::is_contained({Reduction::Sum, Reduction::Max, Reduction::Min},
                          getReduction()))
    return emitOpError() << "expects sum, max or min, got "
                         << stringifyReduction(getReduction())
                         << " (reduce_window_c2)";
  return expectShape(*this, getResult(), *shape, "reduce_window_c3");
}

LogicalResult SelectAndScatterOp::verify() {
  auto shape = pooledShape(*this, "select_and_scatter_c1");
  if (failed(shape))
    return failure();
  if (ranked(getUpdates()).getElementType() != getType().getElementType())
    return emitOpError()
           << "expects updates of the operand's element type, got "
           << getUpdates().getType() << " (select_and_scatter_c2)";
  return expectShape(*this, getUpdates(), *shape, "select_and_scatter_c2");
}
