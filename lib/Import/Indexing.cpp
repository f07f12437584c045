//===- Indexing.cpp - rows of tables, and boxes at computed places --------===//
//
// SPDX-License-Identifier: Apache-2.0
//
// StableHLO's gather is general. What is taken: rows that indices pick along
// one or more dimensions, with batch dimensions or without. Several indices
// become one: that of the row in a table whose dimensions are merged.
//
//===----------------------------------------------------------------------===//
#include "Conversion.h"

using namespace mlir;
using namespace pp;
using namespace pp::hlo;

namespace {

/// Numbers of a gather's or scatter's dimensions, all within their ranks.
struct RowAccess {
  Ints offsets;           ///< of the rows' dimensions in the result
  Ints collapsed;         ///< of the operand: the rows have no such dimension
  Ints batch, indexBatch; ///< pairs
  Ints picked;            ///< of the operand: what the index vector picks
  int64_t vectorDim = 0;  ///< of the index vector
  Ints rest;              ///< of the operand: whole in every row
  Ints indexDims;         ///< of the indices: neither batch nor vector
};

} // namespace

static bool areDims(ArrayRef<int64_t> dims, int64_t rank) {
  SmallVector<int64_t> sorted(dims);
  llvm::sort(sorted);
  return llvm::all_of(dims,
                      [&](int64_t dim) { return dim >= 0 && dim < rank; }) &&
         std::unique(sorted.begin(), sorted.end()) == sorted.end();
}

/// Completes the numbers and verifies them.
static bool complete(RowAccess &access, int64_t rank, int64_t indexRank,
                     int64_t resultRank) {
  if (!areDims(access.offsets, resultRank) ||
      !areDims(access.collapsed, rank) || !areDims(access.batch, rank) ||
      !areDims(access.indexBatch, indexRank) || !areDims(access.picked, rank) ||
      access.vectorDim < 0 || access.vectorDim > indexRank ||
      access.batch.size() != access.indexBatch.size() ||
      llvm::is_contained(access.indexBatch, access.vectorDim))
    return false;
  for (int64_t dim = 0; dim < rank; ++dim)
    if (!llvm::is_contained(access.batch, dim) &&
        !llvm::is_contained(access.picked, dim))
      access.rest.push_back(dim);
    else if (llvm::is_contained(access.batch, dim) &&
             llvm::is_contained(access.picked, dim))
      return false;
  for (int64_t dim = 0; dim < indexRank; ++dim)
    if (dim != access.vectorDim && !llvm::is_contained(access.indexBatch, dim))
      access.indexDims.push_back(dim);
  return true;
}

/// The operand as [batch, table, rest]: picked dimensions merged.
static Value makeTable(Value operand, const RowAccess &access,
                       Conversion &graph) {
  Ints order(access.batch), shape;
  order.append(access.picked);
  order.append(access.rest);
  int64_t rows = 1;
  for (int64_t dim : access.batch)
    shape.push_back(graph.shapeOf(operand)[dim]);
  for (int64_t dim : access.picked)
    rows *= graph.shapeOf(operand)[dim];
  shape.push_back(rows);
  for (int64_t dim : access.rest)
    shape.push_back(graph.shapeOf(operand)[dim]);
  return graph.reshape(graph.transpose(operand, order), shape);
}

/// One part of the index vectors.
static Value takePart(Value indices, const RowAccess &access, int64_t part,
                      Conversion &graph) {
  ArrayRef<int64_t> shape = graph.shapeOf(indices);
  if (access.vectorDim == int64_t(shape.size()))
    return indices;
  Ints starts(shape.size(), 0), limits(shape);
  starts[access.vectorDim] = part;
  limits[access.vectorDim] = part + 1;
  Value taken = graph.slice(indices, starts, limits);
  limits.erase(limits.begin() + access.vectorDim);
  return graph.reshape(taken, limits);
}

/// Row numbers as [batch, index]. Each part is clamped into its dimension.
static Value makeRowNumbers(Value indices, ArrayRef<int64_t> sizes,
                            const RowAccess &access, Conversion &graph) {
  Value rows;
  for (auto [part, size] : llvm::enumerate(sizes)) {
    Value taken = takePart(indices, access, part, graph);
    if (taken && sizes.size() > 1) {
      RankedTensorType type = graph.typeOf(taken);
      taken = graph.binary<MaxOp>(
          graph.binary<MinOp>(taken, graph.splatInt(size - 1, type)),
          graph.splatInt(0, type));
    }
    if (!taken)
      return {};
    if (rows)
      rows =
          graph.binary<MulOp>(rows, graph.splatInt(size, graph.typeOf(rows)));
    rows = part == 0 ? taken : graph.binary<AddOp>(rows, taken);
  }
  if (!rows)
    return {};
  auto behindVector = [&](int64_t dim) {
    return dim > access.vectorDim ? dim - 1 : dim;
  };
  Ints order;
  for (const Ints &dims : {access.indexBatch, access.indexDims})
    for (int64_t dim : dims)
      order.push_back(behindVector(dim));
  return graph.transpose(rows, order);
}

/// Reports indices whose sign pp would see, and makes the others i32 or i64.
static Value alignIndices(HloOp op, unsigned index, Conversion &graph) {
  Value indices = graph.operand(op, index);
  Type element = op.getOperandType(index).getElementType();
  if (!isa<IntegerType>(element) || element.isInteger(1))
    return op->emitOpError("expects integers as indices, got ") << element,
           Value();
  if (element.getIntOrFloatBitWidth() < 32) {
    if (element.isUnsignedInteger())
      return op->emitError("cannot import indices of type ")
                 << element << "; convert them to i32",
             Value();
    return graph.convert(indices, IntegerType::get(graph.getContext(), 32));
  }
  return indices;
}

//===----------------------------------------------------------------------===//
// Gather
//===----------------------------------------------------------------------===//

/// A box of the operand, which one index vector places: no dimension of the
/// indices is left.
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
    starts[dim] = takePart(indices, access, part, graph);
  Value box = graph.make<DynamicSliceOp>(graph.typeOf(operand).clone(sizes),
                                         operand, starts);
  return graph.reshape(box, graph.resultType(op).getShape());
}

/// Rows [batch, index, rest] in the order of the result.
static Value orderRows(HloOp op, const RowAccess &access, Value rows,
                       Conversion &graph) {
  if (!rows)
    return {};
  // Batch dimensions of the result are those of the indices, in their order.
  const int64_t batch = access.batch.size();
  Ints ofIndices;
  for (int64_t dim = 0, count = batch + access.indexDims.size() + 1;
       dim < count; ++dim) {
    const auto *inBatch = llvm::find(access.indexBatch, dim);
    const auto *inIndex = llvm::find(access.indexDims, dim);
    if (inBatch != access.indexBatch.end())
      ofIndices.push_back(inBatch - access.indexBatch.begin());
    else if (inIndex != access.indexDims.end())
      ofIndices.push_back(batch + (inIndex - access.indexDims.begin()));
  }
  // Picked dimensions that are not collapsed have size 1 in the result, and are
  // not among the rows' dimensions: a reshape adds them.
  Ints order;
  size_t nextIndex = 0, nextOffset = 0;
  int64_t nextRest = batch + access.indexDims.size();
  Ints kept; // of the operand, as the result has them
  for (int64_t dim = 0, rank = op.getOperandType(0).getRank(); dim < rank;
       ++dim)
    if (!llvm::is_contained(access.collapsed, dim) &&
        !llvm::is_contained(access.batch, dim))
      kept.push_back(dim);
  for (int64_t dim = 0, rank = op.getResultType().getRank(); dim < rank; ++dim)
    if (!llvm::is_contained(access.offsets, dim)) {
      if (nextIndex == ofIndices.size())
        return Value();
      order.push_back(ofIndices[nextIndex++]);
    } else if (nextOffset == kept.size())
      return Value();
    else if (!llvm::is_contained(access.picked, kept[nextOffset++]))
      order.push_back(nextRest++);
  if (int64_t(order.size()) != graph.typeOf(rows).getRank())
    return Value();
  return graph.reshape(graph.transpose(rows, order),
                       graph.resultType(op).getShape());
}

static Value convertGather(HloOp op, Conversion &graph) {
  FailureOr<DictionaryAttr> numbers = op.getDictionary("dimension_numbers");
  FailureOr<Ints> sizes =
      op.getIntsPer("slice_sizes", op.getOperandType(0).getRank(), -1);
  if (failed(numbers) || failed(sizes))
    return {};
  RowAccess access{getEntry(*numbers, "offset_dims"),
                   getEntry(*numbers, "collapsed_slice_dims"),
                   getEntry(*numbers, "operand_batching_dims"),
                   getEntry(*numbers, "start_indices_batching_dims"),
                   getEntry(*numbers, "start_index_map"),
                   0,
                   {},
                   {}};
  Ints vectorDim = getEntry(*numbers, "index_vector_dim");
  access.vectorDim = vectorDim.empty() ? 0 : vectorDim[0];
  Value operand = graph.operand(op, 0), indices = alignIndices(op, 1, graph);
  if (!indices)
    return {};
  ArrayRef<int64_t> shape = graph.shapeOf(operand);
  if (!complete(access, shape.size(), graph.typeOf(indices).getRank(),
                op.getResultType().getRank()) ||
      (access.vectorDim < graph.typeOf(indices).getRank()
           ? graph.shapeOf(indices)[access.vectorDim]
           : 1) != int64_t(access.picked.size()))
    return op.failAt("dimension_numbers", "those of operands and result"),
           Value();
  if (access.indexDims.empty() && access.batch.empty())
    return gatherBox(op, access, *sizes, indices, graph);
  const bool areRows =
      llvm::all_of(access.picked,
                   [&](int64_t dim) { return (*sizes)[dim] == 1; }) &&
      llvm::all_of(access.rest,
                   [&](int64_t dim) { return (*sizes)[dim] == shape[dim]; });
  if (!areRows || access.picked.empty())
    return op->emitError("cannot import stablehlo.gather of parts of rows, got "
                         "slice_sizes ")
               << printInts(*sizes) << " of " << operand.getType()
               << "; expects 1 along indexed dimensions and all of the others",
           Value();
  Ints pickedSizes;
  for (int64_t dim : access.picked)
    pickedSizes.push_back(shape[dim]);
  Value table = makeTable(operand, access, graph);
  Value rows = makeRowNumbers(indices, pickedSizes, access, graph);
  if (!table || !rows)
    return {};
  Ints rowShape(graph.shapeOf(rows));
  for (int64_t dim : access.rest)
    rowShape.push_back(shape[dim]);
  Value picked =
      graph.make<GatherOp>(graph.typeOf(operand).clone(rowShape), table, rows,
                           int64_t(access.batch.size()));
  Value ordered = orderRows(op, access, picked, graph);
  if (picked && !ordered)
    op.failAt("dimension_numbers", "those of operands and result");
  return ordered;
}

//===----------------------------------------------------------------------===//
// Boxes
//===----------------------------------------------------------------------===//

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

void pp::hlo::addIndexing(Handlers &handlers) {
  handlers["gather"] = {convertGather, nullptr, 2};
  handlers["dynamic_slice"] = {nullptr, convertDynamicSlice, -1};
  handlers["dynamic_update_slice"] = {nullptr, convertDynamicUpdate, -1};
  handlers["chlo.top_k"] = {nullptr, convertTopK, 1};
}
