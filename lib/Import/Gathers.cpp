//===- Gathers.cpp - rows of tables ---------------------------------------===//
//
// SPDX-License-Identifier: Apache-2.0
//
// What is taken of the general gather: rows that indices pick along one or more
// dimensions, and one box that a single index vector places. Several indices
// become one: that of the row in a table whose dimensions are merged.
//
//===----------------------------------------------------------------------===//
#include "RowAccess.h"

using namespace mlir;
using namespace pp;
using namespace pp::hlo;

static FailureOr<RowAccess> readGatherAccess(HloOp op) {
  FailureOr<DictionaryAttr> numbers = op.getDictionary("dimension_numbers");
  if (failed(numbers))
    return failure();
  Ints vectorDim = getEntry(*numbers, "index_vector_dim");
  RowAccess access{getEntry(*numbers, "offset_dims"),
                   getEntry(*numbers, "collapsed_slice_dims"),
                   getEntry(*numbers, "operand_batching_dims"),
                   getEntry(*numbers, "start_indices_batching_dims"),
                   getEntry(*numbers, "start_index_map"),
                   vectorDim.empty() ? 0 : vectorDim[0]};
  if (access.complete(op.getOperandType(0).getShape(),
                      op.getOperandType(1).getShape(),
                      op.getResultType().getShape()))
    return access;
  return op.failAt("dimension_numbers", "those of operands and result");
}

/// A box of the operand: the indices are one vector.
static Value gatherBox(HloOp op, const RowAccess &access,
                       ArrayRef<int64_t> sizes, Value indices,
                       Conversion &graph) {
  Value operand = graph.operand(op, 0);
  auto scalar =
      RankedTensorType::get({}, graph.typeOf(indices).getElementType());
  Values starts(sizes.size());
  for (Value &start : starts)
    start = graph.splatInt(0, scalar);
  for (auto [part, dim] : llvm::enumerate(access.picked))
    starts[dim] = access.takePart(indices, part, graph);
  if (llvm::is_contained(starts, Value()))
    return {};
  Value box = graph.make<DynamicSliceOp>(graph.typeOf(operand).clone(sizes),
                                         operand, starts);
  return graph.reshape(box, graph.resultType(op).getShape());
}

/// Whether rows are one element along picked dimensions, and whole along
/// others.
static bool areRows(const RowAccess &access, ArrayRef<int64_t> sizes,
                    ArrayRef<int64_t> shape) {
  return !access.picked.empty() &&
         llvm::all_of(access.picked,
                      [&](int64_t dim) { return sizes[dim] == 1; }) &&
         llvm::all_of(access.rest,
                      [&](int64_t dim) { return sizes[dim] == shape[dim]; });
}

/// The rows without dimensions of one element behind the batch.
static Ints dropOnes(ArrayRef<int64_t> rows, size_t batch) {
  Ints shape(rows.take_front(batch));
  llvm::copy_if(rows.drop_front(batch), std::back_inserter(shape),
                [](int64_t size) { return size != 1; });
  return shape;
}

static Value gatherRows(HloOp op, const RowAccess &access, Value indices,
                        Conversion &graph) {
  Value operand = graph.operand(op, 0);
  ArrayRef<int64_t> shape = graph.shapeOf(operand);
  Ints pickedSizes;
  for (int64_t dim : access.picked)
    pickedSizes.push_back(shape[dim]);
  Value table = access.makeTable(operand, graph);
  Value rows = access.makeRowNumbers(indices, pickedSizes, graph);
  if (!table || !rows)
    return {};
  // [batch, index, rest], and what of it is picked at once.
  Ints whole(graph.shapeOf(rows)),
      shapeOfRows = dropOnes(whole, access.batch.size());
  rows = graph.reshape(rows, shapeOfRows);
  for (int64_t dim : access.rest) {
    whole.push_back(shape[dim]);
    shapeOfRows.push_back(shape[dim]);
  }
  Value picked = graph.reshape(
      graph.make<GatherOp>(graph.typeOf(operand).clone(shapeOfRows), table,
                           rows, int64_t(access.batch.size())),
      whole);
  RankedTensorType type = graph.resultType(op);
  std::optional<Ints> order = access.orderOfRows(shape.size(), type.getRank());
  if (!order)
    return op.failAt("dimension_numbers", "those of operands and result"),
           Value();
  return graph.reshape(graph.transpose(picked, *order), type.getShape());
}

static Value convertGather(HloOp op, Conversion &graph) {
  FailureOr<RowAccess> access = readGatherAccess(op);
  FailureOr<Ints> sizes =
      op.getIntsPer("slice_sizes", op.getOperandType(0).getRank(), -1);
  if (failed(access) || failed(sizes))
    return {};
  Value indices = alignIndices(op, 1, graph);
  if (!indices)
    return {};
  if (access->indexDims.empty() && access->batch.empty())
    return gatherBox(op, *access, *sizes, indices, graph);
  if (areRows(*access, *sizes, op.getOperandType(0).getShape()))
    return gatherRows(op, *access, indices, graph);
  return op->emitError("cannot import stablehlo.gather of parts of rows, got "
                       "slice_sizes ")
             << printInts(*sizes) << " of " << op.getOperandType(0)
             << "; expects 1 along indexed dimensions and all of the others",
         Value();
}

void pp::hlo::addGathers(Handlers &handlers) {
  handlers["gather"] = {convertGather, nullptr, 2};
}
