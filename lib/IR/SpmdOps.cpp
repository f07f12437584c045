//===- SpmdOps.cpp - verifiers of collectives -----------------------------===//
//
// SPDX-License-Identifier: Apache-2.0
//
// Constraints have their labels in SpmdOps.td. An axis is looked up in the mesh
// that the op names; sizes are those of one device.
//
//===----------------------------------------------------------------------===//
#include "mlir/IR/Builders.h"
#include "pp/IR/PP.h"
#include "llvm/ADT/StringSet.h"

using namespace mlir;
using namespace pp;

namespace {

/// The group's size, or failure if the mesh or an axis does not exist
/// (constraint `label`).
FailureOr<int64_t> verifyGroup(Operation *op, FlatSymbolRefAttr meshName,
                               ArrayAttr axes, StringRef label,
                               bool allowTime) {
  auto mesh = SymbolTable::lookupNearestSymbolFrom<MeshOp>(op, meshName);
  if (!mesh)
    return op->emitOpError() << "expects a mesh named " << meshName
                             << ", got none (" << label << ")";
  llvm::StringSet<> used;
  int64_t size = 1;
  for (StringAttr name : axes.getAsRange<StringAttr>()) {
    MeshAxisAttr axis = mesh.getMesh().lookup(name);
    if (!axis)
      return op->emitOpError() << "expects an axis of " << meshName << ", got "
                               << name << " (" << label << ")";
    if (axis.getKind() == AxisKind::Time && !allowTime)
      return op->emitOpError()
             << "expects axes that hold devices, got the time axis " << name
             << " (" << label << ")";
    if (!used.insert(name.getValue()).second)
      return op->emitOpError() << "expects every axis once, got " << name
                               << " twice (" << label << ")";
    size *= axis.getSize();
  }
  return size;
}

/// Checks that `result` is `operand` with some dimensions scaled.
LogicalResult verifyScaled(Operation *op, Value operand, Value result,
                           ArrayRef<std::pair<int64_t, int64_t>> multiplied,
                           ArrayRef<std::pair<int64_t, int64_t>> divided,
                           StringRef label) {
  auto from = cast<RankedTensorType>(operand.getType());
  SmallVector<int64_t> shape(from.getShape());
  for (auto [dimension, factor] : divided) {
    if (dimension < 0 || dimension >= from.getRank())
      return op->emitOpError() << "expects a dimension below " << from.getRank()
                               << ", got " << dimension << " (" << label << ")";
    if (shape[dimension] % factor)
      return op->emitOpError() << "expects a size that divides by " << factor
                               << " in dimension " << dimension << ", got "
                               << shape[dimension] << " (" << label << ")";
    shape[dimension] /= factor;
  }
  for (auto [dimension, factor] : multiplied) {
    if (dimension < 0 || dimension >= from.getRank())
      return op->emitOpError() << "expects a dimension below " << from.getRank()
                               << ", got " << dimension << " (" << label << ")";
    shape[dimension] *= factor;
  }
  auto expected = RankedTensorType::get(shape, from.getElementType());
  if (result.getType() != expected)
    return op->emitOpError() << "expects result type " << expected << ", got "
                             << result.getType() << " (" << label << ")";
  return success();
}

} // namespace

void AllReduceOp::build(OpBuilder &builder, OperationState &state,
                        ValueRange operands, Reduction reduction,
                        FlatSymbolRefAttr mesh, ArrayRef<StringAttr> axes) {
  SmallVector<Attribute> names(axes.begin(), axes.end());
  build(builder, state, operands.getTypes(),
        ReductionAttr::get(builder.getContext(), reduction), operands, mesh,
        builder.getArrayAttr(names), DenseI64ArrayAttr());
}

LogicalResult AllReduceOp::verify() {
  if (getOperands().empty() || getOperandTypes() != getResultTypes())
    return emitOpError() << "expects operands and results of their types, got "
                         << getResultTypes() << " for [" << getOperandTypes()
                         << "] (all_reduce_c1)";
  return success(succeeded(
      verifyGroup(*this, getMeshAttr(), getAxes(), "all_reduce_c2", false)));
}

/// Checks that there are as many results and dimensions as operands.
template <typename Op>
static LogicalResult verifyBucket(Op op, StringRef label) {
  size_t operands = op.getOperands().size(), results = op.getOutputs().size(),
         dimensions = op.getDimensions().size();
  if (operands > 0 && results == operands && dimensions == operands)
    return success();
  return op.emitOpError() << "expects operands, as many results and as many "
                             "dimensions, got "
                          << operands << ", " << results << " and "
                          << dimensions << " (" << label << ")";
}

LogicalResult AllGatherOp::verify() {
  auto group =
      verifyGroup(*this, getMeshAttr(), getAxes(), "all_gather_c1", false);
  if (failed(group) || failed(verifyBucket(*this, "all_gather_c3")))
    return failure();
  for (auto [operand, result, dimension] :
       llvm::zip_equal(getOperands(), getOutputs(), getDimensions()))
    if (failed(verifyScaled(*this, operand, result, {{dimension, *group}}, {},
                            "all_gather_c2")))
      return failure();
  return success();
}

LogicalResult ReduceScatterOp::verify() {
  auto group =
      verifyGroup(*this, getMeshAttr(), getAxes(), "reduce_scatter_c1", false);
  if (failed(group) || failed(verifyBucket(*this, "reduce_scatter_c3")))
    return failure();
  for (auto [operand, result, dimension] :
       llvm::zip_equal(getOperands(), getOutputs(), getDimensions()))
    if (failed(verifyScaled(*this, operand, result, {}, {{dimension, *group}},
                            "reduce_scatter_c2")))
      return failure();
  return success();
}

LogicalResult AllToAllOp::verify() {
  auto group =
      verifyGroup(*this, getMeshAttr(), getAxes(), "all_to_all_c1", false);
  if (failed(group))
    return failure();
  return verifyScaled(*this, getOperand(), getResult(),
                      {{static_cast<int64_t>(getConcatDimension()), *group}},
                      {{static_cast<int64_t>(getSplitDimension()), *group}},
                      "all_to_all_c2");
}

LogicalResult PermuteOp::verify() {
  auto group =
      verifyGroup(*this, getMeshAttr(), getAxes(), "permute_c1", false);
  if (failed(group))
    return failure();
  auto sorted = [](ArrayAttr axes) {
    auto names = llvm::to_vector(axes.getAsValueRange<StringAttr>());
    llvm::sort(names);
    return names;
  };
  if (sorted(getTarget()) != sorted(getAxes()))
    return emitOpError() << "expects the axes " << getAxes()
                         << " in any order, got " << getTarget()
                         << " (permute_c2)";
  return success();
}

LogicalResult AllSliceOp::verify() {
  auto group =
      verifyGroup(*this, getMeshAttr(), getAxes(), "all_slice_c1", true);
  if (failed(group))
    return failure();
  return verifyScaled(*this, getOperand(), getResult(), {},
                      {{static_cast<int64_t>(getDimension()), *group}},
                      "all_slice_c2");
}

LogicalResult AxisIndexOp::verify() {
  return success(succeeded(
      verifyGroup(*this, getMeshAttr(), getAxes(), "axis_index_c1", true)));
}
