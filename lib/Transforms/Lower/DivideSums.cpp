//===- DivideSums.cpp - sums of everything as sums of sums ----------------===//
//
// SPDX-License-Identifier: Apache-2.0
//
// Rows are leading dimensions, the last of which may be divided. Whatever else
// the kernels compute can then be divided as well. Where no divisor makes rows
// of the right length, what is left over makes a row of its own.
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
};

class SumDivider {
public:
  SumDivider(ReduceOp sum, const pprt::KernelWishes &wishes)
      : sum(sum), wishes(wishes), builder(sum) {}

  void run();

private:
  Division divide(ArrayRef<int64_t> shape) const;
  Value reshape(Value value, ArrayRef<int64_t> shape);
  Value slice(Value value, int64_t start, int64_t end);
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

Value SumDivider::slice(Value value, int64_t start, int64_t end) {
  return mark(SliceOp::create(builder, sum.getLoc(),
                              ranked(value).clone({end - start}), value,
                              ArrayRef<int64_t>(start), ArrayRef<int64_t>(end),
                              ArrayRef<int64_t>(1)))
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

/// Of at least as many rows as it takes.
Value SumDivider::sumRows(Value value) {
  const Division division = divide(ranked(value).getShape());
  if (division.rowElements >= wishes.leastRowElements)
    return reduce(reshape(value, division.shape), division.rows);
  const int64_t count = ranked(value).getNumElements(),
                rows = count / wishes.serialSumElements,
                inRows = rows * wishes.serialSumElements;
  Value flat = reshape(value, {count});
  Value sums = reduce(
      reshape(slice(flat, 0, inRows), {rows, wishes.serialSumElements}), 1);
  Value last = reshape(reduce(slice(flat, inRows, count), 0), {1});
  return mark(ConcatenateOp::create(builder, sum.getLoc(),
                                    ranked(sums).clone({rows + 1}),
                                    ValueRange{sums, last}, 0))
      .getResult();
}

void SumDivider::run() {
  Value rest = sum.getOperand();
  while (ranked(rest).getNumElements() > wishes.serialSumElements)
    rest = sumRows(rest);
  if (rest == sum.getOperand())
    return;
  sum.replaceAllUsesWith(reshape(reduce(rest, 0), ranked(sum).getShape()));
  sum.erase();
}

void pp::divideSum(ReduceOp sum, const pprt::KernelWishes &wishes) {
  if (ranked(sum).getNumElements() == 1)
    SumDivider(sum, wishes).run();
}
