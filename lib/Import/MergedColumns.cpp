//===- MergedColumns.cpp - a dimension for what columns consist of --------===//
//
// SPDX-License-Identifier: Apache-2.0
//
// A product with one parameter may compute several things at once: query, key
// and value are parts of its columns. A device with a part of the columns would
// have the query alone. So the columns [3 n] of such a parameter, and of a
// bias, become [3, n], of which devices can split n; files keep [3 n].
//
//===----------------------------------------------------------------------===//
#include "Simplify.h"
#include "pp/IR/Model.h"
#include "pp/IR/PP.h"

using namespace mlir;
using namespace pp;

namespace {

/// A product whose columns are dimension `dim` of `last`, behind the bias if
/// there is one.
struct Columns {
  DotGeneralOp product;
  BlockArgument weight;
  int64_t weightDim = 0;
  AddOp sum;
  BlockArgument bias;
  Value last;
  int64_t dim = 0;
};

/// [groups, size / groups] in place of a size.
SmallVector<int64_t> split(ArrayRef<int64_t> shape, int64_t dim,
                           int64_t groups) {
  SmallVector<int64_t> result(shape);
  result[dim] /= groups;
  result.insert(result.begin() + dim, groups);
  return result;
}

ArrayRef<int64_t> shapeOf(Value value) {
  return cast<RankedTensorType>(value.getType()).getShape();
}

/// The parameter that nothing else reads; null if it is something else.
BlockArgument getOnlyRead(func::FuncOp main, Value value) {
  auto argument = dyn_cast<BlockArgument>(value);
  return argument && argument.hasOneUse() &&
                 getArgRole(main, argument.getArgNumber()) == Role::Param &&
                 !main.getArgAttr(argument.getArgNumber(), attrs::kStoredShape)
             ? argument
             : BlockArgument();
}

std::optional<Columns> findColumns(func::FuncOp main, DotGeneralOp product) {
  Columns columns;
  columns.product = product;
  columns.weight = getOnlyRead(main, product.getRhs());
  const bool isRight = bool(columns.weight);
  if (!isRight)
    columns.weight = getOnlyRead(main, product.getLhs());
  const SmallVector<int64_t> free =
      isRight ? product.getRhsFree() : product.getLhsFree();
  if (!columns.weight || free.size() != 1)
    return std::nullopt;
  columns.weightDim = free.front();
  columns.last = product.getResult();
  columns.dim = product.getLhsBatch().size() +
                (isRight ? product.getLhsFree().size() : 0);
  if (!product->hasOneUse())
    return columns;
  auto sum = dyn_cast<AddOp>(*product->user_begin());
  if (!sum)
    return columns;
  const bool isLeft = sum.getLhs() == columns.last;
  auto broadcast = (isLeft ? sum.getRhs() : sum.getLhs())
                       .template getDefiningOp<BroadcastOp>();
  if (!broadcast || !broadcast->hasOneUse() ||
      broadcast.getDimensions() != ArrayRef<int64_t>(columns.dim))
    return columns;
  columns.bias = getOnlyRead(main, broadcast.getOperand());
  if (columns.bias) {
    columns.sum = sum;
    columns.last = sum.getResult();
  }
  return columns;
}

/// The number of equal parts of a dimension of which every reader takes one; 1
/// if there are none.
int64_t countParts(Value value, int64_t dim) {
  const int64_t size = shapeOf(value)[dim];
  int64_t part = 0;
  for (Operation *user : value.getUsers()) {
    auto slice = dyn_cast<SliceOp>(user);
    if (!slice || slice.getStrides()[dim] != 1)
      return 1;
    const int64_t start = slice.getStarts()[dim],
                  taken = slice.getLimits()[dim] - start;
    if ((part && taken != part) || taken == 0 || start % taken != 0)
      return 1;
    part = taken;
  }
  return part && size % part == 0 ? size / part : 1;
}

/// The number of parts that the columns consist of: readers take them, or rows
/// of a reshape that splits them, which may be transposed.
int64_t countGroups(const Columns &columns) {
  if (!columns.last.hasOneUse())
    return countParts(columns.last, columns.dim);
  auto reshape = dyn_cast<ReshapeOp>(*columns.last.user_begin());
  const ArrayRef<int64_t> from = shapeOf(columns.last);
  if (!reshape)
    return 1;
  Value rows = reshape.getResult();
  int64_t dim = columns.dim;
  const ArrayRef<int64_t> to = shapeOf(rows);
  if (int64_t(to.size()) <= dim + 1 ||
      from.take_front(dim) != to.take_front(dim))
    return 1;
  const int64_t groups = to[dim];
  if (auto transpose = dyn_cast<TransposeOp>(*rows.user_begin());
      transpose && rows.hasOneUse()) {
    dim = llvm::find(transpose.getPermutation(), dim) -
          transpose.getPermutation().begin();
    rows = transpose.getResult();
  }
  return groups > 0 && from[columns.dim] % groups == 0 &&
                 countParts(rows, dim) == groups
             ? groups
             : 1;
}

/// Gives an argument split columns; its file keeps them merged.
void splitArgument(func::FuncOp main, BlockArgument argument, int64_t dim,
                   int64_t groups) {
  auto type = cast<RankedTensorType>(argument.getType());
  main.setArgAttr(argument.getArgNumber(), attrs::kStoredShape,
                  DenseI64ArrayAttr::get(main.getContext(), type.getShape()));
  argument.setType(type.clone(split(type.getShape(), dim, groups)));
  auto sharding = main.getArgAttrOfType<ShardingAttr>(argument.getArgNumber(),
                                                      attrs::kSharding);
  if (!sharding)
    return;
  // Each group is split as all of them were.
  MLIRContext *context = main.getContext();
  SmallVector<DimShardingAttr> dims(sharding.getDims());
  dims.insert(dims.begin() + dim, DimShardingAttr::get(context, {}, false));
  main.setArgAttr(argument.getArgNumber(), attrs::kSharding,
                  ShardingAttr::get(context, sharding.getMesh(), dims, {}));
}

/// Computes the columns with a dimension for the groups; readers read a
/// reshape.
void splitColumns(func::FuncOp main, const Columns &columns, int64_t groups) {
  DotGeneralOp product = columns.product;
  splitArgument(main, columns.weight, columns.weightDim, groups);
  auto merged = cast<RankedTensorType>(columns.last.getType());
  const Type type = merged.clone(split(merged.getShape(), columns.dim, groups));
  // Dimensions of the parameter behind the split one have moved by one.
  auto moved = [&](ArrayRef<int64_t> dims, Value operand) {
    SmallVector<int64_t> result(dims);
    for (int64_t &dim : result)
      dim += operand == columns.weight && dim > columns.weightDim;
    return result;
  };
  OpBuilder builder(columns.last.getDefiningOp());
  Value last = DotGeneralOp::create(
      builder, product.getLoc(), type, product.getLhs(), product.getRhs(),
      moved(product.getLhsBatch(), product.getLhs()),
      moved(product.getRhsBatch(), product.getRhs()),
      moved(product.getLhsContract(), product.getLhs()),
      moved(product.getRhsContract(), product.getRhs()));
  if (AddOp sum = columns.sum) {
    splitArgument(main, columns.bias, 0, groups);
    Value bias =
        BroadcastOp::create(builder, sum.getLoc(), type, columns.bias,
                            ArrayRef<int64_t>{columns.dim, columns.dim + 1});
    last = AddOp::create(builder, sum.getLoc(), type, last, bias);
  }
  for (OpOperand &use : llvm::make_early_inc_range(columns.last.getUses())) {
    Operation *reader = use.getOwner();
    builder.setInsertionPoint(reader);
    auto slice = dyn_cast<SliceOp>(reader);
    if (!slice) { // a reshape
      use.set(last);
      continue;
    }
    const int64_t size = merged.getDimSize(columns.dim) / groups;
    auto place = [&](ArrayRef<int64_t> places, int64_t group, int64_t column) {
      SmallVector<int64_t> result(places);
      result[columns.dim] = column;
      result.insert(result.begin() + columns.dim, group);
      return result;
    };
    const int64_t group = slice.getStarts()[columns.dim] / size;
    const SmallVector<int64_t> starts = place(slice.getStarts(), group, 0),
                               limits =
                                   place(slice.getLimits(), group + 1, size),
                               strides = place(slice.getStrides(), 1, 1);
    Value row =
        SliceOp::create(builder, slice.getLoc(),
                        slice.getType().clone(
                            split(slice.getType().getShape(), columns.dim, 1)),
                        last, starts, limits, strides);
    slice.replaceAllUsesWith(
        ReshapeOp::create(builder, slice.getLoc(), slice.getType(), row)
            .getResult());
    slice.erase();
  }
}

} // namespace

void pp::hlo::splitMergedColumns(func::FuncOp main) {
  for (auto product : llvm::to_vector(main.getOps<DotGeneralOp>())) {
    const std::optional<Columns> columns = findColumns(main, product);
    if (!columns)
      continue;
    if (const int64_t groups = countGroups(*columns); groups > 1)
      splitColumns(main, *columns, groups);
  }
  main.setFunctionType(FunctionType::get(main.getContext(),
                                         main.getBody().getArgumentTypes(),
                                         main.getResultTypes()));
  eraseUnused(main);
}
