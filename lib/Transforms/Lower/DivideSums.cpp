//===- DivideSums.cpp - long sums as sums of sums -------------------------===//
//
// SPDX-License-Identifier: Apache-2.0
//
// In: a sum that one core would compute, or that would read columns across
// memory. Out: sums over rows or blocks of rows, and the sum of these.
//
// Also in: a sum or a product with few results, each a long sum. Out: a partial
// result for each of some outermost dimensions, and their sum.
//
// Rows are leading dimensions, the last of which may be divided. The rest of
// the kernels' work can then be divided as well. If no divisor makes rows of
// the right length, they are longer; if that leaves a single row, it is padded
// with the reduction's identity, which copies it.
//
//===----------------------------------------------------------------------===//
#include "FormKernels.h"
#include "pp/Analysis/Contraction.h"
#include "pp/IR/Model.h"
#include "pp/IR/Values.h"

using namespace mlir;
using namespace pp;

/// Blocks of fewer rows leave almost as much to add up as there was.
static constexpr int64_t kLeastSumBlock = 4;

namespace {

/// A tensor as rows over `rows` of the dimensions of `shape`, which has its
/// elements.
struct Division {
  SmallVector<int64_t> shape;
  int64_t rows = 0;
  int64_t rowElements = 1;

  int64_t countRows() const {
    return ShapedType::getNumElements(ArrayRef(shape).take_front(rows));
  }
};

class SumDivider {
public:
  SumDivider(ReduceOp sum, const pprt::KernelTuning &tuning)
      : sum(sum), tuning(tuning), builder(sum) {}

  void run();
  /// Blocks of `block` elements of dimension `last`, behind which are columns.
  void runOnColumns(int64_t last, int64_t block);
  /// Reduces dimensions `inner` of `shape` first, then `outer`.
  void runOnParts(ArrayRef<int64_t> shape, ArrayRef<int64_t> inner,
                  ArrayRef<int64_t> outer);

private:
  Division divide(ArrayRef<int64_t> shape) const;
  Value reshape(Value value, ArrayRef<int64_t> shape);
  Value fillUp(Value value, int64_t count);
  Value convert(Value value, Type element);
  Value reduce(Value value, ArrayRef<int64_t> dims);
  Value reduceFrom(Value value, int64_t firstDim);
  Value sumRows(Value value);
  template <typename Op> Op mark(Op op) {
    setKind(op, getKind(sum));
    return op;
  }

  ReduceOp sum;
  const pprt::KernelTuning &tuning;
  OpBuilder builder;
};

} // namespace

/// The smallest divisor of `size` that is at least `least`, or `size`.
static int64_t smallestDivisor(int64_t size, int64_t least) {
  int64_t best = size;
  for (int64_t number = 1; number * number <= size; ++number)
    if (size % number == 0)
      for (int64_t divisor : {number, size / number})
        if (divisor >= least)
          best = std::min(best, divisor);
  return best;
}

Division SumDivider::divide(ArrayRef<int64_t> shape) const {
  Division division;
  division.rowElements = ShapedType::getNumElements(shape);
  size_t dim = 0;
  for (; dim < shape.size() && division.rowElements > tuning.serialSumElements;
       ++dim) {
    const int64_t size = shape[dim];
    const bool isWhole = division.rowElements / size >= tuning.leastRowElements;
    const int64_t part =
        isWhole
            ? size
            : smallestDivisor(size, llvm::divideCeil(division.rowElements,
                                                     tuning.serialSumElements));
    if (division.rowElements / part < tuning.leastRowElements)
      break;
    division.shape.push_back(part);
    if (part != size)
      division.shape.push_back(size / part);
    division.rowElements /= part;
    ++division.rows;
  }
  llvm::append_range(division.shape, shape.drop_front(dim));
  return division;
}

Value SumDivider::reshape(Value value, ArrayRef<int64_t> shape) {
  RankedTensorType type = ranked(value);
  if (type.getShape() == shape)
    return value;
  return mark(
             ReshapeOp::create(builder, sum.getLoc(), type.clone(shape), value))
      .getResult();
}

/// `value`, of one dimension, as `count` elements.
Value SumDivider::fillUp(Value value, int64_t count) {
  RankedTensorType type = ranked(value);
  RankedTensorType scalar = type.clone(ArrayRef<int64_t>());
  const TypedAttr identity =
      getIdentity(sum.getReduction(), type.getElementType());
  auto filler = mark(
      ConstantOp::create(builder, sum.getLoc(), scalar,
                         DenseElementsAttr::get(scalar, Attribute(identity))));
  return mark(PadOp::create(builder, sum.getLoc(), type.clone({count}), value,
                            filler, ArrayRef<int64_t>(0),
                            ArrayRef<int64_t>(count - type.getNumElements()),
                            ArrayRef<int64_t>(0)))
      .getResult();
}

Value SumDivider::convert(Value value, Type element) {
  RankedTensorType type = ranked(value);
  if (type.getElementType() == element)
    return value;
  return mark(ConvertOp::create(builder, sum.getLoc(), type.clone(element),
                                value))
      .getResult();
}

Value SumDivider::reduce(Value value, ArrayRef<int64_t> dims) {
  RankedTensorType type = ranked(value);
  SmallVector<int64_t> shape;
  for (auto [dim, size] : llvm::enumerate(type.getShape()))
    if (!llvm::is_contained(dims, static_cast<int64_t>(dim)))
      shape.push_back(size);
  return mark(ReduceOp::create(builder, sum.getLoc(), type.clone(shape),
                               sum.getReduction(), value, dims))
      .getResult();
}

Value SumDivider::reduceFrom(Value value, int64_t firstDim) {
  return reduce(value,
                llvm::to_vector(llvm::seq(firstDim, ranked(value).getRank())));
}

Value SumDivider::sumRows(Value value) {
  const Division division = divide(ranked(value).getShape());
  if (division.countRows() > 1)
    return reduceFrom(reshape(value, division.shape), division.rows);
  const int64_t count = ranked(value).getNumElements(),
                rows = llvm::divideCeil(count, tuning.serialSumElements),
                inRow = llvm::alignTo(llvm::divideCeil(count, rows),
                                      tuning.leastRowElements);
  Value filled = fillUp(reshape(value, {count}), rows * inRow);
  return reduceFrom(reshape(filled, {rows, inRow}), 1);
}

void SumDivider::run() {
  Value rest = sum.getOperand();
  if (ranked(rest).getNumElements() <= tuning.serialSumElements)
    return;
  // Kernels add narrow floats up in f32, and round once.
  const Type element = ranked(rest).getElementType();
  if (isNarrowFloat(element))
    rest = convert(rest, builder.getF32Type());
  while (ranked(rest).getNumElements() > tuning.serialSumElements)
    rest = sumRows(rest);
  rest = convert(reduceFrom(rest, 0), element);
  sum.replaceAllUsesWith(reshape(rest, ranked(sum).getShape()));
  sum.erase();
}

void SumDivider::runOnColumns(int64_t last, int64_t block) {
  Value rows = sum.getOperand();
  const Type element = ranked(rows).getElementType();
  if (isNarrowFloat(element))
    rows = convert(rows, builder.getF32Type());
  SmallVector<int64_t> shape(ranked(rows).getShape());
  shape[last] /= block;
  shape.insert(shape.begin() + last + 1, block);
  Value blocks = reduce(reshape(rows, shape), last + 1);
  sum.replaceAllUsesWith(convert(reduce(blocks, sum.getDimensions()), element));
  sum.erase();
}

void SumDivider::runOnParts(ArrayRef<int64_t> shape, ArrayRef<int64_t> inner,
                            ArrayRef<int64_t> outer) {
  Value value = sum.getOperand();
  const Type element = ranked(value).getElementType();
  if (isNarrowFloat(element))
    value = convert(value, builder.getF32Type());
  Value parts = reduce(reshape(value, shape), inner);
  const SmallVector<int64_t> left =
      llvm::map_to_vector(outer, [&](int64_t dim) {
        return dim - llvm::count_if(inner, [&](int64_t d) { return d < dim; });
      });
  sum.replaceAllUsesWith(convert(reduce(parts, left), element));
  sum.erase();
}

void pp::divideSum(ReduceOp sum, const pprt::KernelTuning &tuning) {
  if (ranked(sum).getNumElements() == 1)
    SumDivider(sum, tuning).run();
}

int64_t pp::getSumBlock(int64_t size, const pprt::KernelTuning &tuning) {
  for (int64_t block = std::min(size, tuning.sumBlockRows); block > 1; --block)
    if (size % block == 0)
      return block;
  return 1;
}

bool pp::divideColumnSum(ReduceOp sum, const pprt::KernelTuning &tuning) {
  ArrayRef<int64_t> shape = ranked(sum.getOperand()).getShape();
  const int64_t numRowDims = sum.getDimensions().size();
  for (auto [place, dim] : llvm::enumerate(sum.getDimensions()))
    if (dim != static_cast<int64_t>(place))
      return false;
  int64_t last = numRowDims - 1;
  while (last > 0 && shape[last] == 1)
    --last;
  const int64_t elements = ShapedType::getNumElements(shape),
                columns = ranked(sum).getNumElements();
  if (last < 0 || elements <= tuning.serialSumElements ||
      columns < tuning.leastColumns || columns > tuning.mostRowElements)
    return false;
  const int64_t block = getSumBlock(shape[last], tuning);
  if (block < kLeastSumBlock || elements / columns / block < tuning.leastRows)
    return false;
  SumDivider(sum, tuning).runOnColumns(last, block);
  return true;
}

static RankedTensorType inF32IfNarrow(RankedTensorType type) {
  return isNarrowFloat(type.getElementType())
             ? type.clone(Float32Type::get(type.getContext()))
             : type;
}

/// A product may take it along.
static bool isSumBesideProduct(ReduceOp sum) {
  auto isBeside = [&](Operation *user) {
    return isContraction(user) &&
           (isSumOfOperand(sum, user, 0) || isSumOfOperand(sum, user, 1));
  };
  for (Value added = sum.getOperand();;) {
    if (llvm::any_of(added.getUsers(), isBeside))
      return true;
    auto convert = added.getDefiningOp<ConvertOp>();
    if (!convert)
      return false;
    added = convert.getOperand();
  }
}

bool pp::divideFewSums(ReduceOp sum, const pprt::KernelTuning &tuning) {
  const auto type = ranked(sum.getOperand());
  SmallVector<int64_t> dims(sum.getDimensions()), shape(type.getShape());
  llvm::sort(dims);
  const int64_t results = ranked(sum).getNumElements();
  if (tuning.leastSums == 0 || results <= 1 || type.getNumElements() == 0)
    return false;
  // Neighbours that are left are columns, which a core adds up side by side.
  int64_t columns = 1;
  for (int64_t dim = type.getRank();
       dim-- > 0 && !llvm::is_contained(dims, dim);)
    columns *= type.getDimSize(dim);
  const int64_t rows = results / columns,
                length = type.getNumElements() / results;
  const bool isLong = length > tuning.mostSumElements ||
                      (rows > 1 && length * columns > tuning.mostSumElements *
                                                          tuning.columnsOfCore);
  if (!isLong || rows >= tuning.leastSums || isSumBesideProduct(sum))
    return false;
  int64_t needed = llvm::divideCeil(tuning.leastSums, rows);
  SmallVector<int64_t> inner, outer;
  int64_t moved = 0; // of dimensions, by one that is divided
  for (int64_t dim : dims) {
    const int64_t size = shape[dim + moved];
    if (needed <= 1) {
      inner.push_back(dim + moved);
      continue;
    }
    outer.push_back(dim + moved);
    const bool isWhole =
        dim != dims.back() && size <= needed * tuning.mostMoreParts;
    if (isWhole) {
      // A few parts less than are needed will do.
      needed = size * tuning.mostMoreParts < needed || size == 1
                   ? llvm::divideCeil(needed, size)
                   : 1;
      continue;
    }
    const int64_t part = smallestDivisor(size, needed);
    if (part == size || part > needed * tuning.mostMoreParts)
      return false;
    needed = 1;
    shape[dim + moved] = part;
    shape.insert(shape.begin() + dim + moved + 1, size / part);
    inner.push_back(dim + ++moved);
  }
  if (inner.empty() || outer.empty())
    return false;
  SumDivider(sum, tuning).runOnParts(shape, inner, outer);
  return true;
}

/// How many cores a product's result keeps busy, by the tiles of libraries.
static int64_t countTiles(DotGeneralOp dot, const pprt::KernelTuning &tuning) {
  ArrayRef<int64_t> shape = dot.getType().getShape();
  const size_t batch = dot.getLhsBatch().size(),
               columns = batch + dot.getLhsFree().size();
  auto count = [](ArrayRef<int64_t> sizes) {
    return ShapedType::getNumElements(sizes);
  };
  return count(shape.take_front(batch)) *
         llvm::divideCeil(count(shape.slice(batch, columns - batch)),
                          tuning.productTile) *
         llvm::divideCeil(count(shape.drop_front(columns)), tuning.productTile);
}

/// `value` with dimension `dim` as `parts` and the elements of one, if there
/// are several.
static Value splitDimension(OpBuilder &builder, Value value, int64_t dim,
                            int64_t parts) {
  RankedTensorType type = ranked(value);
  if (type.getDimSize(dim) == parts)
    return value;
  SmallVector<int64_t> shape(type.getShape());
  const int64_t size = shape[dim];
  shape[dim] = parts;
  shape.insert(shape.begin() + dim + 1, size / parts);
  return ReshapeOp::create(builder, value.getLoc(), type.clone(shape), value);
}

void pp::divideFewProducts(DotGeneralOp dot, const pprt::KernelTuning &tuning) {
  const RankedTensorType lhs = ranked(dot.getLhs()), rhs = ranked(dot.getRhs()),
                         type = dot.getType();
  const int64_t least = isNarrowFloat(lhs.getElementType())
                            ? tuning.leastTilesOfHalves
                            : tuning.leastTiles,
                tiles = countTiles(dot, tuning);
  SmallVector<int64_t> lhsContract(dot.getLhsContract()),
      rhsContract(dot.getRhsContract());
  int64_t length = 1;
  for (int64_t dim : lhsContract)
    length *= lhs.getDimSize(dim);
  if (tuning.leastSums == 0 || type.getNumElements() == 0 || tiles >= least ||
      length <= tuning.mostSumElements)
    return;
  const size_t place = llvm::min_element(lhsContract) - lhsContract.begin();
  const int64_t left = lhsContract[place], right = rhsContract[place],
                size = lhs.getDimSize(left),
                needed = llvm::divideCeil(tuning.leastSums / 2, tiles),
                parts = smallestDivisor(size, needed);
  if (parts == 1 || parts > needed * tuning.mostMoreParts ||
      length / parts < tuning.leastPartLength ||
      parts * type.getNumElements() >
          lhs.getNumElements() + rhs.getNumElements())
    return;

  OpBuilder builder(dot);
  Operation *before = dot->getPrevNode();
  const int64_t more = parts == size ? 0 : 1; // dimensions of each factor
  auto later = [&](ArrayRef<int64_t> dims, int64_t from) {
    return llvm::map_to_vector(
        dims, [&](int64_t dim) { return dim > from ? dim + more : dim; });
  };
  SmallVector<int64_t> lhsBatch = later(dot.getLhsBatch(), left),
                       rhsBatch = later(dot.getRhsBatch(), right),
                       shape(type.getShape());
  lhsContract = later(lhsContract, left);
  rhsContract = later(rhsContract, right);
  for (auto *dims : {&lhsContract, &rhsContract})
    if (more)
      ++(*dims)[place];
    else
      dims->erase(dims->begin() + place);
  lhsBatch.insert(lhsBatch.begin(), left);
  rhsBatch.insert(rhsBatch.begin(), right);
  shape.insert(shape.begin(), parts);
  Value all = DotGeneralOp::create(
      builder, dot.getLoc(), inF32IfNarrow(type.clone(shape)),
      splitDimension(builder, dot.getLhs(), left, parts),
      splitDimension(builder, dot.getRhs(), right, parts), lhsBatch, rhsBatch,
      lhsContract, rhsContract);
  Value sum = ReduceOp::create(builder, dot.getLoc(), inF32IfNarrow(type),
                               Reduction::Sum, all, ArrayRef<int64_t>{0});
  if (sum.getType() != type)
    sum = ConvertOp::create(builder, dot.getLoc(), type, sum);
  Block *block = dot->getBlock();
  for (Operation &made : llvm::make_range(
           before ? std::next(before->getIterator()) : block->begin(),
           dot->getIterator()))
    setKind(&made, getKind(dot));
  dot.replaceAllUsesWith(sum);
  dot.erase();
}
