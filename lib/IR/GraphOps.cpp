//===- GraphOps.cpp - verifiers of graph ops ------------------------------===//
//
// SPDX-License-Identifier: Apache-2.0
//
// Ops that compute: sources, reductions, contractions, indexing. Each failed
// check names the label of the constraint in the op's description.
//
//===----------------------------------------------------------------------===//
#include "OpVerifiers.h"
#include "mlir/IR/Builders.h"
#include "pp/IR/Values.h"

using namespace mlir;
using namespace pp;

namespace {

LogicalResult expectDimension(Operation *op, int64_t dimension, int64_t rank,
                              StringRef label) {
  if (dimension >= 0 && dimension < rank)
    return success();
  return op->emitOpError() << "expects a dimension from 0 to " << rank - 1
                           << ", got " << dimension << " (" << label << ")";
}

/// A largest or smallest element of none is no number.
LogicalResult expectElements(Operation *op, StringRef what, Value operand,
                             StringRef label) {
  // Not the number of elements: that of a vast tensor is too large to count.
  if (!llvm::is_contained(ranked(operand).getShape(), 0) ||
      llvm::is_contained(ranked(op->getResult(0)).getShape(), 0))
    return success();
  return op->emitOpError() << "expects elements to take " << what
                           << " of, got none in " << operand.getType() << " ("
                           << label << ")";
}

SmallVector<int64_t> withoutDims(ArrayRef<int64_t> shape,
                                 ArrayRef<int64_t> dims) {
  SmallVector<int64_t> kept;
  for (auto [index, size] : llvm::enumerate(shape))
    if (!llvm::is_contained(dims, static_cast<int64_t>(index)))
      kept.push_back(size);
  return kept;
}

} // namespace

LogicalResult IotaOp::verify() {
  return expectDimension(*this, getDimension(), getType().getRank(), "iota_c1");
}

LogicalResult RandomBitsOp::verify() {
  size_t rank = getType().getRank();
  bool whole = getOffsets().empty() && !getGlobalShape();
  bool part = getOffsets().size() == rank && getGlobalShape() &&
              getGlobalShape()->size() == rank;
  if (whole || part)
    return success();
  return emitOpError() << "expects no offsets, or " << rank
                       << " together with as many global sizes, got "
                       << getOffsets().size() << " and "
                       << (getGlobalShape() ? getGlobalShape()->size() : 0)
                       << " (random_bits_c1)";
}

LogicalResult ReduceOp::verify() {
  auto type = ranked(getOperand());
  if (failed(expectIncreasing(*this, getDimensions(), type.getRank(),
                              "reduce_c1")))
    return failure();
  Type element = type.getElementType();
  bool isLogic =
      getReduction() == Reduction::And || getReduction() == Reduction::Or;
  if (isLogic ? isa<FloatType>(element) : element.isInteger(1))
    return emitOpError() << "expects elements that "
                         << stringifyReduction(getReduction())
                         << " can reduce, got " << type << " (reduce_c3)";
  if (failed(expectShape(*this, getResult(),
                         withoutDims(type.getShape(), getDimensions()),
                         "reduce_c2")))
    return failure();
  bool isExtremum =
      getReduction() == Reduction::Max || getReduction() == Reduction::Min;
  return isExtremum ? expectElements(*this, stringifyReduction(getReduction()),
                                     getOperand(), "reduce_c4")
                    : success();
}

LogicalResult ArgmaxOp::verify() {
  auto type = ranked(getOperand());
  int64_t dimension = getDimension();
  if (failed(expectDimension(*this, dimension, type.getRank(), "argmax_c1")))
    return failure();
  if (failed(expectShape(*this, getResult(),
                         withoutDims(type.getShape(), dimension), "argmax_c1")))
    return failure();
  return expectElements(*this, "the largest", getOperand(), "argmax_c2");
}

LogicalResult TopKOp::verify() {
  auto type = ranked(getOperand());
  int64_t dimension = getDimension();
  if (failed(expectDimension(*this, dimension, type.getRank(), "top_k_c1")))
    return failure();
  SmallVector<int64_t> shape(type.getShape());
  if (getType().getRank() == type.getRank())
    shape[dimension] = getType().getDimSize(dimension);
  if (failed(expectShape(*this, getResult(), shape, "top_k_c1")))
    return failure();
  if (shape[dimension] <= type.getDimSize(dimension))
    return success();
  return emitOpError() << "expects at most " << type.getDimSize(dimension)
                       << " elements along dimension " << dimension << ", got "
                       << shape[dimension] << " (top_k_c2)";
}

LogicalResult CumsumOp::verify() {
  return expectDimension(*this, getDimension(), getType().getRank(),
                         "cumsum_c1");
}

SmallVector<int64_t> DotGeneralOp::getLhsFree() {
  return othersThan(ranked(getLhs()).getRank(),
                    {getLhsBatch(), getLhsContract()});
}
SmallVector<int64_t> DotGeneralOp::getRhsFree() {
  return othersThan(ranked(getRhs()).getRank(),
                    {getRhsBatch(), getRhsContract()});
}

LogicalResult DotGeneralOp::verify() {
  auto lhs = ranked(getLhs()), rhs = ranked(getRhs());
  if (getLhsBatch().size() != getRhsBatch().size() ||
      getLhsContract().size() != getRhsContract().size() ||
      !areDistinct(lhs.getRank(), {getLhsBatch(), getLhsContract()}) ||
      !areDistinct(rhs.getRank(), {getRhsBatch(), getRhsContract()}))
    return emitOpError() << "expects paired, distinct batch and contracting "
                            "dimensions, got batch ["
                         << getLhsBatch() << "] x [" << getRhsBatch()
                         << "], contract [" << getLhsContract() << "] x ["
                         << getRhsContract() << "] (dot_general_c1)";
  if (failed(expectPairs(*this, "dot_general_c2")))
    return failure();
  return expectShape(*this, getResult(), getPlainSizes(*this),
                     "dot_general_c3");
}

/// Checks the common form of gather and scatter_add and returns the shape of
/// the rows: batch, index, rest.
static FailureOr<SmallVector<int64_t>>
rowsShape(Operation *op, RankedTensorType table, RankedTensorType indices,
          int64_t batch, StringRef label) {
  if (batch < 0 || table.getRank() <= batch || indices.getRank() < batch ||
      table.getShape().take_front(batch) !=
          indices.getShape().take_front(batch))
    return op->emitOpError()
           << "expects " << batch
           << " equal leading dimensions and a table dimension after them, got "
           << table << " and " << indices << " (" << label << ")";
  SmallVector<int64_t> shape(indices.getShape());
  llvm::append_range(shape, table.getShape().drop_front(batch + 1));
  return shape;
}

LogicalResult GatherOp::verify() {
  auto shape = rowsShape(*this, ranked(getOperand()), ranked(getIndices()),
                         getBatchDims(), "gather_c1");
  if (failed(shape))
    return failure();
  if (getType().getElementType() != ranked(getOperand()).getElementType())
    return emitOpError() << "expects the operand's element type, got "
                         << getType() << " (gather_c2)";
  if (failed(expectShape(*this, getResult(), *shape, "gather_c2")))
    return failure();
  // There is nothing to clamp an index to.
  if (ranked(getOperand()).getDimSize(getBatchDims()) == 0 &&
      getType().getNumElements() != 0)
    return emitOpError() << "expects a table with at least one row to pick "
                         << getType() << " from, got " << getOperand().getType()
                         << " (gather_c3)";
  return success();
}

LogicalResult ScatterAddOp::verify() {
  auto shape = rowsShape(*this, ranked(getOperand()), ranked(getIndices()),
                         getBatchDims(), "scatter_add_c1");
  if (failed(shape))
    return failure();
  if (ranked(getUpdates()).getElementType() != getType().getElementType())
    return emitOpError()
           << "expects updates of the operand's element type, got "
           << getUpdates().getType() << " (scatter_add_c2)";
  return expectShape(*this, getUpdates(), *shape, "scatter_add_c2");
}

LogicalResult ReshardOp::verify() {
  llvm::SmallDenseSet<Attribute> seen;
  for (Attribute axis : getAxes())
    if (!seen.insert(axis).second)
      return emitOpError("expects every axis once, got ")
             << axis << " twice (reshard_c1)";
  if (seen.empty())
    return emitOpError("expects an axis, got none (reshard_c1)");
  if (getEach() && getChange() != LayoutChange::With)
    return emitOpError("expects 'each' beside 'with', got it beside 'without' "
                       "(reshard_c2)");
  if (auto whole = getWhole())
    if (int64_t rank = getType().getRank();
        !llvm::all_of(*whole,
                      [&](int64_t dim) { return dim >= 0 && dim < rank; }) ||
        !llvm::is_sorted(*whole, std::less_equal<>()))
      return emitOpError() << "expects 'whole' to name dimensions of "
                           << getType() << ", ascending, got [" << *whole
                           << "] (reshard_c3)";
  return success();
}

LogicalResult NameOp::verify() {
  if (getName().empty())
    return emitOpError("expects a name, got none (name_c1)");
  if (getDims() &&
      static_cast<int64_t>(getDims()->size()) != getType().getRank())
    return emitOpError() << "expects a kind for each dimension of " << getType()
                         << ", got " << *getDims() << " (name_c2)";
  return success();
}

LogicalResult ShardingConstraintOp::verify() {
  if (getSide() == ConstrainedSide::Operand && !getBarrier())
    return emitOpError("expects 'barrier' with 'from', got none "
                       "(sharding_constraint_c2)");
  if (getSharding().getRank() != getType().getRank() ||
      !getSharding().getPartial().empty())
    return emitOpError() << "expects a sharding of rank " << getType().getRank()
                         << " that is not partial, got " << getSharding()
                         << " (sharding_constraint_c1)";
  return success();
}
