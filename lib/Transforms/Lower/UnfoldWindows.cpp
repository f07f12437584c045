//===- UnfoldWindows.cpp - convolutions become dots -----------------------===//
//
// SPDX-License-Identifier: Apache-2.0
//
//===----------------------------------------------------------------------===//
#include "UnfoldWindows.h"
#include "mlir/Dialect/Utils/IndexingUtils.h"
#include "pp/IR/Model.h"
#include "pp/IR/Values.h"
#include "pp/IR/Windows.h"
#include <limits>

using namespace mlir;
using namespace pp;

namespace {

/// What slides along a dimension of lhs, and where that is in the others.
struct Slide {
  Window window;
  int64_t lhs, rhs, result, positions;
};

class Unfolder {
public:
  explicit Unfolder(ConvolutionOp op)
      : op(op), builder(op), loc(op.getLoc()), lhs(ranked(op.getLhs())) {
    for (unsigned i = 0; i < op.getLhsWindow().size(); ++i)
      slides.push_back(
          {getWindow(op, i), op.getLhsWindow()[i], op.getRhsWindow()[i],
           op.getResultWindow()[i],
           ranked(op.getResult()).getDimSize(op.getResultWindow()[i])});
    llvm::sort(slides,
               [](const Slide &a, const Slide &b) { return a.lhs < b.lhs; });
    first = slides.empty() ? 0 : slides.front().lhs;
    end = first + slides.size();
    tapsComeFirst =
        first > 0 && llvm::is_contained(op.getLhsContract(), first - 1);
  }

  DotGeneralOp run(const pprt::KernelWishes &wishes);

private:
  bool isPossible();
  bool isWorthwhile(const pprt::KernelWishes &wishes);
  RankedTensorType paddedType();
  Value pad();
  Value countRows(ArrayRef<int64_t> sizes, ArrayRef<int64_t> padded,
                  Type element);
  Value unfold();
  /// Of the copies, the dimension that dimension `dim` of lhs has become.
  int64_t placeOf(int64_t dim) const {
    return dim < first ? dim : dim + int64_t(slides.size());
  }
  int64_t placeOfPosition(size_t slide) const {
    return first + slide + (tapsComeFirst ? slides.size() : 0);
  }
  int64_t placeOfTap(size_t slide) const {
    return first + slide + (tapsComeFirst ? 0 : slides.size());
  }

  ConvolutionOp op;
  OpBuilder builder;
  Location loc;
  RankedTensorType lhs;
  SmallVector<Slide> slides; ///< as in lhs
  int64_t first, end;        ///< of the dimensions of lhs that slide
  /// Whether what the dot contracts comes first: so lhs lies.
  bool tapsComeFirst;
};

bool Unfolder::isPossible() {
  for (auto [place, slide] : llvm::enumerate(slides))
    if (slide.lhs != first + int64_t(place))
      return false;
  return !slides.empty() &&
         llvm::none_of(
             ArrayRef<Value>{op.getLhs(), op.getRhs(), op.getResult()},
             [](Value value) { return ranked(value).getNumElements() == 0; });
}

/// Lhs with zeros around it and between its elements, as far as windows reach.
RankedTensorType Unfolder::paddedType() {
  SmallVector<int64_t> shape(lhs.getShape());
  for (const Slide &slide : slides)
    shape[slide.lhs] = std::max<int64_t>(slide.window.low, 0) +
                       std::max<int64_t>(slide.window.high, 0) +
                       (slide.window.size - 1) * slide.window.baseDilation + 1;
  return lhs.clone(shape);
}

/// In f64, in which no product of sizes overflows.
bool Unfolder::isWorthwhile(const pprt::KernelWishes &wishes) {
  auto count = [](RankedTensorType type) {
    double elements = 1;
    for (int64_t size : type.getShape())
      elements *= double(size);
    return elements;
  };
  double uses = 1, copies = count(lhs);
  for (int64_t dim : op.getRhsFree())
    uses *= double(ranked(op.getRhs()).getDimSize(dim));
  for (const Slide &slide : slides)
    copies *= double(slide.positions) * double(slide.window.taps) /
              double(slide.window.size);
  const double most =
      double(wishes.mostCopies) * (count(lhs) + count(ranked(op.getResult())));
  return wishes.leastCopyUses > 0 && uses >= double(wishes.leastCopyUses) &&
         std::max(copies, count(paddedType())) <= most;
}

Value Unfolder::pad() {
  RankedTensorType padded = paddedType();
  if (padded == lhs)
    return op.getLhs();
  SmallVector<int64_t> low(lhs.getRank()), high(low), interior(low);
  for (const Slide &slide : slides) {
    low[slide.lhs] = std::max<int64_t>(slide.window.low, 0);
    high[slide.lhs] = std::max<int64_t>(slide.window.high, 0);
    interior[slide.lhs] = slide.window.baseDilation - 1;
  }
  Type element = lhs.getElementType();
  Value zero = ConstantOp::create(
      builder, loc,
      DenseElementsAttr::get(RankedTensorType::get({}, element),
                             builder.getZeroAttr(element)));
  return PadOp::create(builder, loc, padded, op.getLhs(), zero, low, high,
                       interior);
}

/// For each element of `sizes`, which are those of the copies up to the last
/// tap, the row of lhs, padded to these sizes, that it is a copy of.
Value Unfolder::countRows(ArrayRef<int64_t> sizes, ArrayRef<int64_t> padded,
                          Type element) {
  auto rows = RankedTensorType::get(sizes, element);
  auto splat = [&](int64_t number) -> Value {
    Value scalar = ConstantOp::create(
        builder, loc,
        DenseElementsAttr::get(RankedTensorType::get({}, element),
                               builder.getIntegerAttr(element, number)));
    return BroadcastOp::create(builder, loc, rows, scalar, ArrayRef<int64_t>{});
  };
  Value row;
  auto add = [&](Value more) {
    row = row ? AddOp::create(builder, loc, row, more) : more;
  };
  auto addSteps = [&](int64_t dim, int64_t step) {
    if (sizes[dim] == 1)
      return;
    Value number = IotaOp::create(builder, loc, rows, dim);
    add(step == 1 ? number : MulOp::create(builder, loc, number, splat(step)));
  };
  int64_t rowsBehind = 1, start = 0;
  for (size_t i = slides.size(); i-- > 0;) {
    const Window &window = slides[i].window;
    const int64_t reversed =
        op.getReverse() ? (window.taps - 1) * window.dilation : 0;
    start += (std::max<int64_t>(-window.low, 0) + reversed) * rowsBehind;
    addSteps(placeOfPosition(i), window.stride * rowsBehind);
    addSteps(placeOfTap(i),
             (op.getReverse() ? -1 : 1) * window.dilation * rowsBehind);
    rowsBehind *= padded[slides[i].lhs];
  }
  for (int64_t dim = first; dim-- > 0;) {
    addSteps(dim, rowsBehind);
    rowsBehind *= padded[dim];
  }
  if (start != 0 || !row)
    add(splat(start));
  return row;
}

/// [what is before the windows, positions, taps, what is behind].
Value Unfolder::unfold() {
  Value padded = pad();
  RankedTensorType type = ranked(padded);
  ArrayRef<int64_t> shape = type.getShape(), behind = shape.drop_front(end);
  const int64_t rows = ShapedType::getNumElements(shape.take_front(end));
  SmallVector<int64_t> table{rows}, sizes(shape.take_front(first));
  llvm::append_range(table, behind);
  sizes.resize(end + slides.size());
  for (auto [i, slide] : llvm::enumerate(slides)) {
    sizes[placeOfPosition(i)] = slide.positions;
    sizes[placeOfTap(i)] = slide.window.taps;
  }
  Value numbers =
      countRows(sizes, shape,
                builder.getIntegerType(
                    rows <= std::numeric_limits<int32_t>::max() ? 32 : 64));
  llvm::append_range(sizes, behind);
  return GatherOp::create(
      builder, loc, type.clone(sizes),
      ReshapeOp::create(builder, loc, type.clone(table), padded), numbers, 0);
}

DotGeneralOp Unfolder::run(const pprt::KernelWishes &wishes) {
  if (!isPossible() || !isWorthwhile(wishes))
    return nullptr;
  Operation *before = op->getPrevNode();
  SmallVector<int64_t> lhsBatch, lhsContract, rhsContract, resultDims;
  for (int64_t dim : op.getLhsBatch())
    lhsBatch.push_back(placeOf(dim));
  // In the order of the copies: so lie what a product adds up.
  SmallVector<std::pair<int64_t, int64_t>> contract;
  for (auto [left, right] :
       llvm::zip_equal(op.getLhsContract(), op.getRhsContract()))
    contract.push_back({placeOf(left), right});
  for (auto [i, slide] : llvm::enumerate(slides))
    contract.push_back({placeOfTap(i), slide.rhs});
  llvm::sort(contract);
  for (auto [place, dim] : contract) {
    lhsContract.push_back(place);
    rhsContract.push_back(dim);
  }
  // The dot's dimensions, as the convolution's: those of the batch, of lhs in
  // the order of the copies, of rhs.
  const SmallVector<int64_t> plain = op.getResultPlain(),
                             lhsFree = op.getLhsFree();
  const size_t numBatch = lhsBatch.size();
  llvm::append_range(resultDims, ArrayRef(plain).take_front(numBatch));
  SmallVector<std::pair<int64_t, int64_t>> free;
  for (auto [i, dim] : llvm::enumerate(lhsFree))
    free.push_back({placeOf(dim), plain[numBatch + i]});
  for (auto [i, slide] : llvm::enumerate(slides))
    free.push_back({placeOfPosition(i), slide.result});
  llvm::sort(free);
  for (auto [place, dim] : free)
    resultDims.push_back(dim);
  llvm::append_range(resultDims,
                     ArrayRef(plain).drop_front(numBatch + lhsFree.size()));

  SmallVector<int64_t> shape;
  for (int64_t dim : resultDims)
    shape.push_back(op.getType().getDimSize(dim));
  auto dot = DotGeneralOp::create(builder, loc, op.getType().clone(shape),
                                  unfold(), op.getRhs(), lhsBatch,
                                  op.getRhsBatch(), lhsContract, rhsContract);
  Value result = dot;
  if (!llvm::is_sorted(resultDims))
    result = TransposeOp::create(builder, loc, op.getType(), dot,
                                 invertPermutationVector(resultDims));
  Block *block = op->getBlock();
  for (Operation &made : llvm::make_range(
           before ? std::next(before->getIterator()) : block->begin(),
           op->getIterator()))
    setKind(&made, getKind(op));
  op.getResult().replaceAllUsesWith(result);
  op.erase();
  return dot;
}

} // namespace

DotGeneralOp pp::unfoldWindows(ConvolutionOp convolution,
                               const pprt::KernelWishes &wishes) {
  return Unfolder(convolution).run(wishes);
}
