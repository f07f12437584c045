//===- OpWriter.cpp - ops of pp as those of StableHLO ---------------------===//
//
// SPDX-License-Identifier: Apache-2.0
//
// Ops keep their names, which profilers show.
//
//===----------------------------------------------------------------------===//
#include "OpWriter.h"
#include "pp/Analysis/ValueNames.h"

using namespace mlir;
using namespace pp;
using namespace pp::hlo;

Hlos OpWriter::lookup(ValueRange range) const {
  Hlos found;
  for (Value value : range)
    found.push_back(values.at(value));
  return found;
}

Hlo OpWriter::scalar(int64_t value) {
  return out.constant(RankedTensorType::get({}, out.integer(32)), value);
}

/// The stage axis, if the op is over it.
static MeshAxisAttr findStageAxis(Operation *op, MeshAttr mesh) {
  auto axes = op->getAttrOfType<ArrayAttr>("axes");
  MeshAxisAttr stages = mesh ? mesh.getStageAxis() : MeshAxisAttr();
  return axes && stages && llvm::is_contained(axes, Attribute(stages.getName()))
             ? stages
             : MeshAxisAttr();
}

static bool isEmpty(Type type) {
  return cast<RankedTensorType>(type).getNumElements() == 0;
}

LogicalResult OpWriter::writeOp(Operation *op) {
  const Forms &forms = getForms();
  auto form = forms.find(op->getName().getStringRef());
  if (form == forms.end())
    return op->emitError("expects an op of level graph or spmd, got ")
           << op->getName() << ", which has no form in StableHLO";
  if (MeshAxisAttr stages = findStageAxis(op, device.getMesh()))
    return op->emitError("expects an op over axes of space, got one over the "
                         "stage axis ")
           << stages.getName() << ", whose stages are programs of their own";
  // StableHLO has collectives of empty tensors not, nor other ops of some.
  if (llvm::all_of(op->getResultTypes(), isEmpty)) {
    for (Value result : op->getResults())
      values[result] =
          out.constant(cast<RankedTensorType>(result.getType()), 0);
    return success();
  }
  Hlos operands = lookup(op->getOperands());
  out.location = getOpName(op).str();
  FailureOr<Hlos> results = form->second(op, operands, device);
  out.location.clear();
  if (failed(results))
    return failure();
  for (auto [value, result] : llvm::zip_equal(op->getResults(), *results))
    values[value] = result;
  return success();
}
