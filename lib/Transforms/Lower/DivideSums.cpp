//===- DivideSums.cpp - sums of everything as sums of sums ----------------===//
//
// SPDX-License-Identifier: Apache-2.0
//
// Rows are leading dimensions, the last of which may be divided. Whatever else
// the kernels compute can then be divided as well. Where no divisor makes rows
// of the right length, they are longer; where that leaves one row alone, it is
// filled up with what changes no sum, which copies it.
//
//===----------------------------------------------------------------------===//
#include "DivideSums.h"
#include "pp/IR/Model.h"
#include "pp/IR/Values.h"

using namespace mlir;
using namespace pp;

namespace {

/// Of a tensor: rows over `rows` of the dimensions of `shape`, which has its
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
  SumDivider(ReduceOp sum, const pprt::KernelWishes &wishes)
      : sum(sum), wishes(wishes), builder(sum) {}

  void run();

private:
  Division divide(ArrayRef<int64_t> shape) const;
  Value reshape(Value value, ArrayRef<int64_t> shape);
  Value fillUp(Value value, int64_t count);
  Value convert(Value value, Type element);
  Value reduce(Value value, int64_t firstDim);
  Value sumRows(Value value);
  template <typename Op> Op mark(Op op) {
    setKind(op, getKind(sum));
    return op;
  }

  ReduceOp sum;
  const pprt::KernelWishes &wishes;
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
  for (; dim < shape.size() && division.rowElements > wishes.serialSumElements;
       ++dim) {
    const int64_t size = shape[dim];
    const bool isWhole = division.rowElements / size >= wishes.leastRowElements;
    const int64_t part =
        isWhole
            ? size
            : smallestDivisor(size, llvm::divideCeil(division.rowElements,
                                                     wishes.serialSumElements));
    if (division.rowElements / part < wishes.leastRowElements)
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

Value SumDivider::reduce(Value value, int64_t firstDim) {
  RankedTensorType type = ranked(value);
  return mark(ReduceOp::create(
                  builder, sum.getLoc(),
                  type.clone(type.getShape().take_front(firstDim)),
                  sum.getReduction(), value,
                  llvm::to_vector(llvm::seq(firstDim, type.getRank()))))
      .getResult();
}

Value SumDivider::sumRows(Value value) {
  const Division division = divide(ranked(value).getShape());
  if (division.countRows() > 1)
    return reduce(reshape(value, division.shape), division.rows);
  const int64_t count = ranked(value).getNumElements(),
                rows = llvm::divideCeil(count, wishes.serialSumElements),
                inRow = llvm::alignTo(llvm::divideCeil(count, rows),
                                      wishes.leastRowElements);
  Value filled = fillUp(reshape(value, {count}), rows * inRow);
  return reduce(reshape(filled, {rows, inRow}), 1);
}

void SumDivider::run() {
  Value rest = sum.getOperand();
  if (ranked(rest).getNumElements() <= wishes.serialSumElements)
    return;
  // Kernels add bf16 up in f32, and round once.
  const Type element = ranked(rest).getElementType();
  if (element.isBF16())
    rest = convert(rest, builder.getF32Type());
  while (ranked(rest).getNumElements() > wishes.serialSumElements)
    rest = sumRows(rest);
  rest = convert(reduce(rest, 0), element);
  sum.replaceAllUsesWith(reshape(rest, ranked(sum).getShape()));
  sum.erase();
}

void pp::divideSum(ReduceOp sum, const pprt::KernelWishes &wishes) {
  if (ranked(sum).getNumElements() == 1)
    SumDivider(sum, wishes).run();
}
