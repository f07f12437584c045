//===- Scatters.cpp - rows that are added, boxes that are written ---------===//
//
// SPDX-License-Identifier: Apache-2.0
//
// What is taken of the general scatter: rows that are added into a table at
// indices along one dimension, which is what segment_sum and .at[i].add are;
// and one box at a constant place, which .at[:, 2].set and .add write.
//
//===----------------------------------------------------------------------===//
#include "RowAccess.h"

using namespace mlir;
using namespace pp;
using namespace pp::hlo;

namespace {
enum class Update { Add, Write };
} // namespace

/// What the region does with an element and its update; reports another one.
static std::optional<Update> findUpdate(HloOp op) {
  Region &region = op->getRegion(0);
  if (region.hasOneBlock() && region.front().getNumArguments() == 2) {
    Block &block = region.front();
    Operation &last = block.back();
    const size_t count = block.getOperations().size();
    if (count == 1 && last.getNumOperands() == 1 &&
        last.getOperand(0) == block.getArgument(1))
      return Update::Write;
    if (count == 2 && HloOp(&block.front()).getName() == "add" &&
        llvm::equal(block.front().getOperands(), block.getArguments()))
      return Update::Add;
  }
  op->emitError("cannot import stablehlo.scatter whose region is neither a sum "
                "nor the update; use .at[...].add or .set");
  return std::nullopt;
}

static FailureOr<RowAccess> readScatterAccess(HloOp op) {
  FailureOr<DictionaryAttr> numbers =
      op.getDictionary("scatter_dimension_numbers");
  if (failed(numbers))
    return failure();
  Ints vectorDim = getEntry(*numbers, "index_vector_dim");
  RowAccess access{getEntry(*numbers, "update_window_dims"),
                   getEntry(*numbers, "inserted_window_dims"),
                   getEntry(*numbers, "input_batching_dims"),
                   getEntry(*numbers, "scatter_indices_batching_dims"),
                   getEntry(*numbers, "scatter_dims_to_operand_dims"),
                   vectorDim.empty() ? 0 : vectorDim[0]};
  if (access.complete(op.getOperandType(0).getShape(),
                      op.getOperandType(1).getShape(),
                      op.getOperandType(2).getShape()))
    return access;
  return op.failAt("scatter_dimension_numbers", "those of the operands");
}

//===----------------------------------------------------------------------===//
// A box
//===----------------------------------------------------------------------===//

/// The shape of the updates among the operand's dimensions; nothing if they do
/// not fit.
static std::optional<Ints> findBox(HloOp op, const RowAccess &access) {
  ArrayRef<int64_t> update = op.getOperandType(2).getShape();
  Ints box;
  size_t next = 0;
  for (int64_t dim = 0, rank = op.getOperandType(0).getRank(); dim < rank;
       ++dim)
    if (llvm::is_contained(access.collapsed, dim))
      box.push_back(1);
    else if (next == update.size())
      return std::nullopt;
    else
      box.push_back(update[next++]);
  return next == update.size() ? std::optional(box) : std::nullopt;
}

/// A box that does not lie within is not written at all.
static Value scatterBox(HloOp op, const RowAccess &access, Update kind,
                        Value indices, Conversion &graph) {
  Value operand = graph.operand(op, 0);
  ArrayRef<int64_t> shape = graph.shapeOf(operand);
  ArrayRef<int64_t> known = graph.knownElements(indices);
  std::optional<Ints> box = findBox(op, access);
  if (!box)
    return op.failAt("scatter_dimension_numbers", "those of the operands"),
           Value();
  if (known.empty() ||
      (known.size() != 1 && known.size() != access.picked.size()))
    return op->emitError("cannot import stablehlo.scatter at a place that is "
                         "not constant; use jax.lax.dynamic_update_slice"),
           Value();
  Ints starts(shape.size(), 0), limits;
  for (auto [part, dim] : llvm::enumerate(access.picked))
    starts[dim] = known[known.size() == 1 ? 0 : part];
  for (auto [start, part, size] : llvm::zip_equal(starts, *box, shape)) {
    if (start < 0 || part > size || start > size - part)
      return operand;
    limits.push_back(start + part);
  }
  Value update = graph.reshape(graph.operand(op, 2), *box);
  if (kind == Update::Add)
    update = graph.binary<AddOp>(graph.slice(operand, starts, limits), update);
  auto scalar =
      RankedTensorType::get({}, IntegerType::get(graph.getContext(), 32));
  Values places = llvm::map_to_vector<6>(
      starts, [&](int64_t start) { return graph.splatInt(start, scalar); });
  return graph.make<DynamicUpdateSliceOp>(operand.getType(), operand, update,
                                          places);
}

//===----------------------------------------------------------------------===//
// Rows
//===----------------------------------------------------------------------===//

/// The permutation that undoes `order`.
static Ints invert(ArrayRef<int64_t> order) {
  Ints inverse(order.size());
  for (auto [place, dim] : llvm::enumerate(order))
    inverse[dim] = place;
  return inverse;
}

static Value scatterRows(HloOp op, const RowAccess &access, Value indices,
                         Conversion &graph) {
  Value operand = graph.operand(op, 0);
  ArrayRef<int64_t> shape = graph.shapeOf(operand);
  Value table = access.makeTable(operand, graph);
  Value rows = access.makeRowNumbers(indices, shape[access.picked[0]], graph);
  std::optional<Ints> order =
      access.orderOfRows(shape.size(), op.getOperandType(2).getRank());
  if (!order)
    return op.failAt("scatter_dimension_numbers", "those of the operands"),
           Value();
  Value updates = graph.operand(op, 2);
  if (order->size() != size_t(graph.typeOf(updates).getRank()))
    return op->emitError(
               "cannot import stablehlo.scatter of rows that have the "
               "indexed dimension"),
           Value();
  updates = graph.transpose(updates, invert(*order));
  if (!table || !rows || !updates)
    return {};
  Value sum = graph.make<ScatterAddOp>(table.getType(), table, rows, updates,
                                       int64_t(access.batch.size()));
  return graph.transpose(sum, invert(access.tableOrder()));
}

static Value convertScatter(HloOp op, Conversion &graph) {
  if (op->getNumRegions() != 1)
    return op->emitOpError("expects a region, got ") << op->getNumRegions(),
           Value();
  std::optional<Update> kind = findUpdate(op);
  FailureOr<RowAccess> access = readScatterAccess(op);
  if (!kind || failed(access))
    return {};
  Value indices = alignIndices(op, 1, graph);
  if (!indices)
    return {};
  if (access->indexDims.empty() && access->batch.empty())
    return scatterBox(op, *access, *kind, indices, graph);
  if (*kind == Update::Add && access->picked.size() == 1)
    return scatterRows(op, *access, indices, graph);
  return op->emitError("cannot import stablehlo.scatter but that of rows that "
                       "are added, at indices along one dimension; use "
                       ".at[i].add, or jnp.where with a mask"),
         Value();
}

void pp::hlo::addScatters(Handlers &handlers) {
  handlers["scatter"] = {convertScatter, nullptr, 3};
}
