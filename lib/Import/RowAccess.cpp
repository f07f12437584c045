//===- RowAccess.cpp - rows that indices pick -----------------------------===//
//
// SPDX-License-Identifier: Apache-2.0
//
//===----------------------------------------------------------------------===//
#include "RowAccess.h"

using namespace mlir;
using namespace pp;
using namespace pp::hlo;

static bool areDims(ArrayRef<int64_t> dims, size_t rank) {
  SmallVector<int64_t> sorted(dims);
  llvm::sort(sorted);
  return llvm::all_of(
             dims,
             [&](int64_t dim) { return dim >= 0 && dim < int64_t(rank); }) &&
         std::unique(sorted.begin(), sorted.end()) == sorted.end();
}

bool RowAccess::complete(ArrayRef<int64_t> operand, ArrayRef<int64_t> indices,
                         ArrayRef<int64_t> result) {
  if (!areDims(offsets, result.size()) || !areDims(collapsed, operand.size()) ||
      !areDims(batch, operand.size()) || !areDims(picked, operand.size()) ||
      !areDims(indexBatch, indices.size()) || vectorDim < 0 ||
      vectorDim > int64_t(indices.size()) ||
      batch.size() != indexBatch.size() ||
      llvm::is_contained(indexBatch, vectorDim))
    return false;
  const bool hasVector = vectorDim < int64_t(indices.size());
  if ((hasVector ? indices[vectorDim] : 1) != int64_t(picked.size()))
    return false;
  for (auto [mine, other] : llvm::zip_equal(batch, indexBatch))
    if (operand[mine] != indices[other] || llvm::is_contained(picked, mine))
      return false;
  for (int64_t dim = 0; dim < int64_t(operand.size()); ++dim)
    if (!llvm::is_contained(batch, dim) && !llvm::is_contained(picked, dim))
      rest.push_back(dim);
  for (int64_t dim = 0; dim < int64_t(indices.size()); ++dim)
    if (dim != vectorDim && !llvm::is_contained(indexBatch, dim))
      indexDims.push_back(dim);
  return true;
}

Ints RowAccess::tableOrder() const {
  Ints order(batch);
  order.append(picked);
  order.append(rest);
  return order;
}

Value RowAccess::makeTable(Value operand, Conversion &graph) const {
  ArrayRef<int64_t> sizes = graph.shapeOf(operand);
  Ints shape;
  for (int64_t dim : batch)
    shape.push_back(sizes[dim]);
  int64_t rows = 1;
  for (int64_t dim : picked)
    rows *= sizes[dim];
  shape.push_back(rows);
  for (int64_t dim : rest)
    shape.push_back(sizes[dim]);
  return graph.reshape(graph.transpose(operand, tableOrder()), shape);
}

Value RowAccess::takePart(Value indices, int64_t part,
                          Conversion &graph) const {
  ArrayRef<int64_t> shape = graph.shapeOf(indices);
  if (vectorDim == int64_t(shape.size()))
    return indices;
  Ints starts(shape.size(), 0), limits(shape);
  starts[vectorDim] = part;
  limits[vectorDim] = part + 1;
  Value taken = graph.slice(indices, starts, limits);
  limits.erase(limits.begin() + vectorDim);
  return graph.reshape(taken, limits);
}

/// At least 0, and less than `size`.
static Value clampIndex(Value index, int64_t size, Conversion &graph) {
  if (!index)
    return {};
  RankedTensorType type = graph.typeOf(index);
  return graph.binary<MaxOp>(
      graph.binary<MinOp>(index, graph.splatInt(size - 1, type)),
      graph.splatInt(0, type));
}

Value RowAccess::makeRowNumbers(Value indices, ArrayRef<int64_t> sizes,
                                Conversion &graph) const {
  Value rows;
  for (auto [part, size] : llvm::enumerate(sizes)) {
    Value taken = takePart(indices, part, graph);
    if (sizes.size() > 1)
      taken = clampIndex(taken, size, graph);
    if (!taken || (part > 0 && !rows))
      return {};
    rows = part == 0 ? taken
                     : graph.binary<AddOp>(
                           graph.binary<MulOp>(
                               rows, graph.splatInt(size, graph.typeOf(rows))),
                           taken);
  }
  Ints order;
  for (const Ints &dims : {indexBatch, indexDims})
    for (int64_t dim : dims)
      order.push_back(dim > vectorDim ? dim - 1 : dim);
  return rows ? graph.transpose(rows, order) : Value();
}

std::optional<Ints> RowAccess::orderOfRows(int64_t operandRank,
                                           int64_t resultRank) const {
  // Dimensions of the indices, in their order, by places in [batch, index].
  const int64_t leading = batch.size() + indexDims.size();
  Ints ofIndices(leading + 1, -1);
  for (auto [place, dim] : llvm::enumerate(indexBatch))
    ofIndices[dim] = place;
  for (auto [place, dim] : llvm::enumerate(indexDims))
    ofIndices[dim] = batch.size() + place;
  llvm::erase(ofIndices, -1);
  Ints kept;
  for (int64_t dim = 0; dim < operandRank; ++dim)
    if (!llvm::is_contained(collapsed, dim) && !llvm::is_contained(batch, dim))
      kept.push_back(dim);
  Ints order;
  size_t nextIndex = 0, nextOffset = 0;
  for (int64_t dim = 0; dim < resultRank; ++dim)
    if (!llvm::is_contained(offsets, dim)) {
      if (nextIndex == ofIndices.size())
        return std::nullopt;
      order.push_back(ofIndices[nextIndex++]);
    } else {
      if (nextOffset == kept.size())
        return std::nullopt;
      const auto *place = llvm::find(rest, kept[nextOffset++]);
      if (place != rest.end())
        order.push_back(leading + (place - rest.begin()));
    }
  if (order.size() != leading + rest.size())
    return std::nullopt;
  return order;
}

Value pp::hlo::alignIndices(HloOp op, unsigned index, Conversion &graph) {
  Value indices = graph.operand(op, index);
  Type element = op.getOperandType(index).getElementType();
  if (!isa<IntegerType>(element) || element.isInteger(1))
    return op->emitOpError("expects integers as indices, got ") << element,
           Value();
  if (element.getIntOrFloatBitWidth() >= 32)
    return indices;
  if (element.isUnsignedInteger())
    return op->emitError("cannot import indices of type ")
               << element << "; convert them to i32",
           Value();
  return graph.convert(indices, IntegerType::get(graph.getContext(), 32));
}
