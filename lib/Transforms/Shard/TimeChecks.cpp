//===- TimeChecks.cpp - refuses what micro-batches cannot do --------------===//
//
// SPDX-License-Identifier: Apache-2.0
//
// In: uses of values in a module with a time axis, during partitioning. Out:
// errors; nothing is changed.
//
//===----------------------------------------------------------------------===//
#include "Partition.h"

using namespace mlir;
using namespace pp;

static constexpr StringLiteral kWhole = "microbatches=1 leaves the batch whole";

/// The dimension that the time axis splits, or -1.
static int findTime(const Layout &layout, const MeshView &mesh) {
  for (auto [dim, axes] : llvm::enumerate(layout))
    if (llvm::is_contained(axes, mesh.timeAxis()))
      return dim;
  return -1;
}

/// The operand of `op` that time splits, and along which dimension.
static std::pair<OpOperand *, int>
findSummed(Operation *op, const MeshView &mesh,
           function_ref<const Layout &(Value)> layoutOf) {
  for (OpOperand &operand : op->getOpOperands())
    if (int dim = findTime(layoutOf(operand.get()), mesh); dim >= 0)
      return {&operand, dim};
  return {nullptr, -1};
}

static void notePlace(InFlightDiagnostic &error, Value value) {
  error.attachNote(value.getLoc()) << "the value that it reads";
}

LogicalResult pp::checkTime(OpOperand &use, const Layout &has,
                            const Layout &wants, const MeshView &mesh,
                            StringRef cause) {
  const int dim = findTime(has, mesh), time = mesh.timeAxis();
  if (dim < 0)
    return success();
  Operation *reader = use.getOwner();
  if (!llvm::is_contained(wants[dim], time)) {
    InFlightDiagnostic error =
        reader->emitError("expects a value that is whole over micro-batches in "
                          "dimension ")
        << dim << ", got one per micro-batch: " << cause << "; " << kWhole;
    notePlace(error, use.get());
    return error;
  }
  auto isBefore = [&](const AxisList &axes) {
    return ArrayRef(axes).take_until([&](int axis) { return axis == time; });
  };
  if (isBefore(has[dim]) == isBefore(wants[dim]))
    return success();
  InFlightDiagnostic error =
      reader->emitError("expects micro-batches of the same elements in "
                        "dimension ")
      << dim << ", got " << mesh.spell(has) << ": " << cause
      << "; axes that stand before " << mesh.name(time)
      << " must be the same, or " << kWhole;
  notePlace(error, use.get());
  return error;
}

/// Whether `op`, or the next reader of its result, computes with `summed` and
/// the sum of that, as a norm over the batch does.
static bool isNorm(Operation *op, Value summed) {
  for (unsigned depth = 0; op && depth < 4; ++depth) {
    if (llvm::is_contained(op->getOperands(), summed))
      return true;
    op = op->getNumResults() == 1 && op->getResult(0).hasOneUse()
             ? *op->getResult(0).user_begin()
             : nullptr;
  }
  return false;
}

InFlightDiagnostic pp::refuseSum(Operation *op, const MeshView &mesh,
                                 function_ref<bool(Value)> isSum,
                                 function_ref<const Layout &(Value)> layoutOf) {
  unsigned index = llvm::find_if(op->getOperands(), isSum).getIndex();
  // Back to the op that sums, of which no operand is a sum.
  Operation *sum = op->getOperand(index).getDefiningOp();
  while (true) {
    auto before = llvm::find_if(sum->getOperands(), isSum);
    if (before == sum->operand_end())
      break;
    sum = (*before).getDefiningOp();
  }
  auto [summed, dim] = findSummed(sum, mesh, layoutOf);
  InFlightDiagnostic error =
      op->emitError("expects operands that exist per micro-batch, got operand ")
      << index << ", which derives from a sum over all of them";
  if (summed)
    error << " along dimension " << dim << " of operand "
          << summed->getOperandNumber() << " of " << sum->getName();
  error << ": " << kWhole;
  if (summed && isNorm(op, summed->get()))
    error << ", and a norm of each sample alone, such as group norm, has no "
             "such sum";
  error.attachNote(sum->getLoc()) << "the sum";
  return error;
}

InFlightDiagnostic
pp::refuseReduction(Operation *op, const MeshView &mesh, Reduction reduction,
                    function_ref<const Layout &(Value)> layoutOf) {
  auto [operand, dim] = findSummed(op, mesh, layoutOf);
  InFlightDiagnostic error =
      op->emitError("expects only sums over micro-batches, got a ")
      << stringifyReduction(reduction);
  if (operand)
    error << " along dimension " << dim << " of operand "
          << operand->getOperandNumber();
  error << ": " << kWhole;
  return error;
}
