//===- Boxes.cpp - slices at computed places, and the largest -------------===//
//
// SPDX-License-Identifier: Apache-2.0
//
// Slices whose place is known are those of constants.
//
//===----------------------------------------------------------------------===//
#include "RowAccess.h"

using namespace mlir;
using namespace pp;
using namespace pp::hlo;

/// Scalars of one integer type; reports others.
static FailureOr<Values> findStarts(HloOp op, unsigned first,
                                    Conversion &graph) {
  Values starts;
  for (unsigned index = first; index < op->getNumOperands(); ++index) {
    Value start = alignIndices(op, index, graph);
    if (!start || graph.typeOf(start).getRank() != 0)
      return start ? op->emitOpError("expects scalars as starts, got ")
                         << start.getType()
                   : FailureOr<Values>(failure());
    starts.push_back(start);
  }
  return starts;
}

/// The starts, if all are known: clamped so that the box lies within.
static std::optional<Ints> findKnown(ArrayRef<Value> starts,
                                     ArrayRef<int64_t> whole,
                                     ArrayRef<int64_t> box, Conversion &graph) {
  if (starts.size() != whole.size() || box.size() != whole.size())
    return std::nullopt;
  Ints known;
  for (auto [start, size, part] : llvm::zip(starts, whole, box)) {
    std::optional<int64_t> number = graph.known(start);
    if (!number || part > size)
      return std::nullopt;
    known.push_back(std::clamp<int64_t>(*number, 0, size - part));
  }
  return known;
}

static LogicalResult convertDynamicSlice(HloOp op, Conversion &graph,
                                         Values &results) {
  if (op->getNumOperands() == 0)
    return op->emitOpError("expects an operand, got none");
  Value operand = graph.operand(op, 0);
  FailureOr<Values> starts = findStarts(op, 1, graph);
  if (failed(starts))
    return failure();
  RankedTensorType type = graph.resultType(op);
  std::optional<Ints> known =
      findKnown(*starts, graph.shapeOf(operand), type.getShape(), graph);
  if (!known) {
    results.push_back(graph.make<DynamicSliceOp>(type, operand, *starts));
    return success(bool(results.back()));
  }
  Ints limits;
  for (auto [start, size] : llvm::zip(*known, type.getShape()))
    limits.push_back(start + size);
  graph.noteRow(operand);
  results.push_back(graph.slice(operand, *known, limits));
  return success(bool(results.back()));
}

static LogicalResult convertDynamicUpdate(HloOp op, Conversion &graph,
                                          Values &results) {
  if (op->getNumOperands() < 2)
    return op->emitOpError("expects an operand and an update");
  FailureOr<Values> starts = findStarts(op, 2, graph);
  if (failed(starts))
    return failure();
  results.push_back(graph.make<DynamicUpdateSliceOp>(
      graph.resultType(op), graph.operand(op, 0), graph.operand(op, 1),
      *starts));
  return success(bool(results.back()));
}

//===----------------------------------------------------------------------===//
// The largest
//===----------------------------------------------------------------------===//

/// Values and indices, along the last dimension.
static LogicalResult convertTopK(HloOp op, Conversion &graph, Values &results) {
  if (op->getNumOperands() != 1 || op->getNumResults() != 2 ||
      op.getOperandType(0).getRank() == 0)
    return op->emitOpError("expects a tensor and two results");
  if (failed(verifySigned(op)))
    return failure();
  Value operand = graph.operand(op, 0);
  const int64_t last = graph.typeOf(operand).getRank() - 1;
  Type i32 = IntegerType::get(graph.getContext(), 32);
  Value indices = graph.make<TopKOp>(
      RankedTensorType::get(graph.resultType(op, 1).getShape(), i32), operand,
      last);
  results = {
      graph.make<GatherOp>(graph.resultType(op, 0), operand, indices, last),
      indices ? graph.convert(indices, graph.resultType(op, 1).getElementType())
              : Value()};
  return success(results[0] && results[1]);
}

void pp::hlo::addBoxes(Handlers &handlers) {
  handlers["dynamic_slice"] = {nullptr, convertDynamicSlice, -1};
  handlers["dynamic_update_slice"] = {nullptr, convertDynamicUpdate, -1};
  handlers["chlo.top_k"] = {nullptr, convertTopK, 1};
}
