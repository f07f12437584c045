//===- UnfoldWindows.cpp - convolutions become dots -----------------------===//
//
// SPDX-License-Identifier: Apache-2.0
//
// In: a convolution on one device's shapes. Out: a gather of patches and a
// dot_general.
//
//===----------------------------------------------------------------------===//
#include "FormKernels.h"
#include "mlir/Dialect/Utils/IndexingUtils.h"
#include "pp/IR/Model.h"
#include "pp/IR/Values.h"
#include "pp/IR/Windows.h"
#include <limits>

using namespace mlir;
using namespace pp;

namespace {

/// A window along a dimension of lhs, and its dimensions in the others.
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

  DotGeneralOp run(const pprt::KernelTuning &tuning);

private:
  using Pairs = SmallVector<std::pair<int64_t, int64_t>>;

  bool isPossible();
  bool areDimensions();
  static bool isFree(const Slide &slide) {
    return slide.window.taps == 1 && slide.positions == slide.window.size;
  }
  int64_t findTail(Value lhs, const Pairs &contract, const Pairs &free);
  Value mergeTail(Value lhs, int64_t tail);
  DotGeneralOp multiply(Value lhs, ArrayRef<int64_t> lhsBatch, Pairs contract,
                        Pairs free);
  bool isWorthwhile(const pprt::KernelTuning &tuning);
  RankedTensorType paddedType();
  Value pad();
  Value countRows(ArrayRef<int64_t> sizes, ArrayRef<int64_t> padded,
                  Type element);
  Value unfold();
  /// The dimension of the copies that dimension `dim` of lhs becomes.
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
  /// Whether the contracted dimensions come first, as in lhs.
  bool tapsComeFirst;
};

bool Unfolder::isPossible() {
  for (auto [place, slide] : llvm::enumerate(slides))
    if (slide.lhs != first + int64_t(place))
      return false;
  return !slides.empty() && isa<FloatType>(lhs.getElementType()) &&
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
bool Unfolder::isWorthwhile(const pprt::KernelTuning &tuning) {
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
      double(tuning.mostCopies) * (count(lhs) + count(ranked(op.getResult())));
  return tuning.leastCopyUses > 0 && uses >= double(tuning.leastCopyUses) &&
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

/// [dimensions before the windows, positions, taps, dimensions behind].
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

/// Whether windows are no more than dimensions: of one tap each, or of one
/// position that sees all.
bool Unfolder::areDimensions() {
  return llvm::all_of(slides, [&](const Slide &slide) {
    const Window &window = slide.window;
    return window.low == 0 && window.high == 0 && window.baseDilation == 1 &&
           (isFree(slide) ? window.stride == 1
                          : slide.positions == 1 && window.dilation == 1 &&
                                window.taps == window.size && !op.getReverse());
  });
}

/// The dimension of lhs that those behind it may be merged with, to be a row
/// that can be padded where they are few elements: copies are contracted all
/// alike, or not at all. The last one if there is no use in it.
int64_t Unfolder::findTail(Value lhs, const Pairs &contract,
                           const Pairs &free) {
  constexpr int64_t kRowBits = 128;
  const RankedTensorType type = ranked(lhs);
  const int64_t last = type.getRank() - 1,
                tail = first + int64_t(slides.size());
  if (lhs == op.getLhs() ||
      type.getDimSize(last) * type.getElementTypeBitWidth() % kRowBits == 0)
    return last;
  for (const bool isContracted : {false, true}) {
    const Pairs &pairs = isContracted ? contract : free;
    auto behind = llvm::make_filter_range(
        pairs, [&](auto pair) { return pair.first >= tail; });
    int64_t next = -1, count = 0;
    for (auto [place, partner] : behind) {
      count += !isContracted || next < 0 || partner == next;
      next = partner + 1;
    }
    if (count == last - tail + 1)
      return tail;
  }
  return last;
}

Value Unfolder::mergeTail(Value lhs, int64_t tail) {
  ArrayRef<int64_t> shape = ranked(lhs).getShape();
  if (tail == int64_t(shape.size()) - 1)
    return lhs;
  SmallVector<int64_t> merged(shape.take_front(tail));
  merged.push_back(ShapedType::getNumElements(shape.drop_front(tail)));
  return ReshapeOp::create(builder, loc, ranked(lhs).clone(merged), lhs);
}

/// The dot of `lhs`, and the ops that bring its result into the convolution's
/// form. `contract` pairs contracted dimensions of lhs and rhs, `free` those of
/// lhs and the result.
DotGeneralOp Unfolder::multiply(Value lhs, ArrayRef<int64_t> lhsBatch,
                                Pairs contract, Pairs free) {
  // In the order of lhs, for contracted dimensions and rows.
  llvm::sort(contract);
  llvm::sort(free);
  const int64_t tail = findTail(lhs, contract, free);
  // Single taps of rhs and single positions of the result are dropped; the
  // dimensions behind the windows of lhs become one.
  const auto rhsType = ranked(op.getRhs());
  SmallVector<int64_t> rhsShape, rhsPlace;
  for (int64_t dim = 0; dim < rhsType.getRank(); ++dim) {
    const int64_t size = rhsType.getDimSize(dim);
    const auto *pair =
        llvm::find_if(contract, [&](auto its) { return its.second == dim; });
    if (pair != contract.end() && pair->first > tail) {
      rhsShape.back() *= size;
      rhsPlace.push_back(rhsShape.size() - 1);
      continue;
    }
    rhsPlace.push_back(rhsShape.size());
    if (pair != contract.end() || !llvm::is_contained(op.getRhsWindow(), dim))
      rhsShape.push_back(size);
  }
  Value rhs = op.getRhs();
  if (rhsShape.size() != rhsPlace.size())
    rhs = ReshapeOp::create(builder, loc, rhsType.clone(rhsShape), rhs);
  auto placed = [&](ArrayRef<int64_t> dims) {
    return llvm::map_to_vector(dims, [&](int64_t d) { return rhsPlace[d]; });
  };
  const SmallVector<int64_t> plain = op.getResultPlain();
  const size_t numBatch = lhsBatch.size(), numLeft = op.getLhsFree().size();
  SmallVector<int64_t> lhsContract, rhsContract,
      resultDims(ArrayRef(plain).take_front(numBatch));
  for (auto [left, right] : contract)
    if (left <= tail) {
      lhsContract.push_back(left);
      rhsContract.push_back(rhsPlace[right]);
    }
  for (auto [left, result] : free)
    resultDims.push_back(result);
  llvm::append_range(resultDims,
                     ArrayRef(plain).drop_front(numBatch + numLeft));

  const RankedTensorType type = op.getType();
  SmallVector<int64_t> shape, whole, ascending(resultDims), order, ordered;
  for (auto [i, dim] : llvm::enumerate(resultDims)) {
    const int64_t size = type.getDimSize(dim);
    whole.push_back(size);
    const bool isLeft = i >= numBatch && i < numBatch + free.size();
    if (isLeft && free[i - numBatch].first > tail)
      shape.back() *= size;
    else
      shape.push_back(size);
  }
  auto dot = DotGeneralOp::create(
      builder, loc, type.clone(shape), mergeTail(lhs, tail), rhs, lhsBatch,
      placed(op.getRhsBatch()), lhsContract, rhsContract);
  llvm::sort(ascending);
  for (int64_t dim : ascending) {
    order.push_back(llvm::find(resultDims, dim) - resultDims.begin());
    ordered.push_back(type.getDimSize(dim));
  }
  Value result = dot;
  if (whole != shape)
    result = ReshapeOp::create(builder, loc, type.clone(whole), result);
  if (!llvm::is_sorted(order))
    result =
        TransposeOp::create(builder, loc, type.clone(ordered), result, order);
  if (ordered != type.getShape())
    result = ReshapeOp::create(builder, loc, type, result);
  op.getResult().replaceAllUsesWith(result);
  return dot;
}

DotGeneralOp Unfolder::run(const pprt::KernelTuning &tuning) {
  if (!isPossible() || !isWorthwhile(tuning))
    return nullptr;
  const bool isPlain = areDimensions();
  Operation *before = op->getPrevNode();
  SmallVector<int64_t> lhsBatch;
  Pairs contract, free;
  auto placeIn = [&](int64_t dim) { return isPlain ? dim : placeOf(dim); };
  for (int64_t dim : op.getLhsBatch())
    lhsBatch.push_back(placeIn(dim));
  for (auto [left, right] :
       llvm::zip_equal(op.getLhsContract(), op.getRhsContract()))
    contract.push_back({placeIn(left), right});
  const SmallVector<int64_t> plain = op.getResultPlain(),
                             lhsFree = op.getLhsFree();
  for (auto [i, dim] : llvm::enumerate(lhsFree))
    free.push_back({placeIn(dim), plain[lhsBatch.size() + i]});
  for (auto [i, slide] : llvm::enumerate(slides))
    if (!isPlain) {
      contract.push_back({placeOfTap(i), slide.rhs});
      free.push_back({placeOfPosition(i), slide.result});
    } else if (isFree(slide)) {
      free.push_back({slide.lhs, slide.result});
    } else {
      contract.push_back({slide.lhs, slide.rhs});
    }
  DotGeneralOp dot = multiply(isPlain ? op.getLhs() : unfold(), lhsBatch,
                              std::move(contract), std::move(free));
  Block *block = op->getBlock();
  for (Operation &made : llvm::make_range(
           before ? std::next(before->getIterator()) : block->begin(),
           op->getIterator()))
    setKind(&made, getKind(op));
  op.erase();
  return dot;
}

} // namespace

DotGeneralOp pp::unfoldWindows(ConvolutionOp convolution,
                               const pprt::KernelTuning &tuning) {
  return Unfolder(convolution).run(tuning);
}
