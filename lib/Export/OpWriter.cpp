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

/// The axes of the op are those of a program.
static LogicalResult verifyAxes(Operation *op, MeshAttr mesh) {
  auto axes = op->getAttrOfType<ArrayAttr>("axes");
  if (!axes || isa<ReshardOp>(op))
    return success();
  for (StringAttr name : axes.getAsRange<StringAttr>()) {
    MeshAxisAttr axis = mesh ? mesh.lookup(name) : MeshAxisAttr();
    if (!axis)
      return op->emitError("expects a module of level spmd, whose mesh has "
                           "every axis, got ")
             << name << "; pp-partition writes this op";
    if (axis.getKind() == AxisKind::Stage)
      return op->emitError("expects axes of space, got the stage axis ")
             << name << ", whose stages are programs of their own";
  }
  return success();
}

static bool isEmpty(Type type) {
  return cast<RankedTensorType>(type).getNumElements() == 0;
}

LogicalResult OpWriter::writeOp(Operation *op) {
  const Forms &forms = getForms();
  auto form = forms.find(op->getName().getStringRef());
  if (form == forms.end())
    return op->emitError("expects ops of levels graph and spmd, got ")
           << op->getName()
           << ", which has no form in StableHLO: export the module before the "
              "pass that writes it";
  if (failed(verifyAxes(op, device.getMesh())))
    return failure();
  // Collectives of StableHLO refuse empty tensors.
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
