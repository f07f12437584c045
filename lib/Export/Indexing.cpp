//===- Indexing.cpp - what is looked up or chosen -------------------------===//
//
// SPDX-License-Identifier: Apache-2.0
//
// Rows of tables are StableHLO's gather and scatter with batching dimensions.
// The largest elements are found by a stable sort and a reduction whose regions
// say pp's order: NaN before every number, equal ones as they come.
//
//===----------------------------------------------------------------------===//
#include "Forms.h"
#include "llvm/ADT/Sequence.h"

using namespace mlir;
using namespace pp;
using namespace pp::hlo;

static std::string spellRange(int64_t from, int64_t to) {
  return spell(llvm::to_vector(llvm::seq(from, to)));
}

static Hlo writeGather(GatherOp op, ArrayRef<Hlo> in, HloWriter &out) {
  const int64_t batch = op.getBatchDims(), rank = resultType(op).getRank();
  const int64_t indices = in[1].shape().size();
  SmallVector<int64_t> sizes(batch + 1, 1);
  llvm::append_range(sizes, in[0].shape().drop_front(batch + 1));
  return out
      .generic("stablehlo.gather", in,
               "dimension_numbers = #stablehlo.gather<offset_dims = " +
                   spellRange(indices, rank) +
                   ", collapsed_slice_dims = " + spell(batch) +
                   ", operand_batching_dims = " + spellRange(0, batch) +
                   ", start_indices_batching_dims = " + spellRange(0, batch) +
                   ", start_index_map = " + spell(batch) +
                   ", index_vector_dim = " + std::to_string(indices) +
                   ">, indices_are_sorted = false, slice_sizes = " +
                   spellArray(sizes),
               "", resultType(op))
      .front();
}

static Hlo writeScatterAdd(ScatterAddOp op, ArrayRef<Hlo> in, HloWriter &out) {
  const int64_t batch = op.getBatchDims();
  const int64_t indices = in[1].shape().size();
  return out
      .generic("stablehlo.scatter", in,
               "indices_are_sorted = false, scatter_dimension_numbers = "
               "#stablehlo.scatter<update_window_dims = " +
                   spellRange(indices, in[2].shape().size()) +
                   ", inserted_window_dims = " + spell(batch) +
                   ", input_batching_dims = " + spellRange(0, batch) +
                   ", scatter_indices_batching_dims = " + spellRange(0, batch) +
                   ", scatter_dims_to_operand_dims = " + spell(batch) +
                   ", index_vector_dim = " + std::to_string(indices) +
                   ">, unique_indices = false",
               out.combiner(Reduction::Sum, in[0].element()), in[0].type)
      .front();
}

/// Whether `a` comes before `b` by its value alone.
static Hlo isLarger(const Hlo &a, const Hlo &b, HloWriter &out) {
  Hlo larger = out.compare("GT", a, b);
  if (!isa<FloatType>(a.element()))
    return larger;
  Hlo alone =
      out.same("and", {out.compare("NE", a, a), out.compare("EQ", b, b)});
  return out.same("or", {larger, alone});
}

static Hlo writeTopK(TopKOp op, const Hlo &operand, HloWriter &out) {
  const int64_t dim = op.getDimension();
  Hlo places = out.iota(out.withElement(operand, out.integer(32)), dim);
  Hlo sorted = out.generic(
      "stablehlo.sort", {operand, places},
      "dimension = " + std::to_string(dim) + " : i64, is_stable = true",
      out.region({operand.element(), operand.element(), out.integer(32),
                  out.integer(32)},
                 [&](ArrayRef<Hlo> values) {
                   return Hlos{isLarger(values[0], values[1], out)};
                 }),
      {operand.type, places.type})[1];
  SmallVector<int64_t> starts(operand.shape().size(), 0);
  SmallVector<int64_t> strides(operand.shape().size(), 1);
  return out.slice(sorted, starts, resultType(op).getShape(), strides);
}

static Hlo writeArgmax(ArgmaxOp op, const Hlo &operand, HloWriter &out) {
  const int64_t dim = op.getDimension();
  Type place = out.integer(32);
  Hlo places = out.iota(out.withElement(operand, place), dim);
  Hlo least = out.identity(RankedTensorType::get({}, operand.element()),
                           Reduction::Max);
  // Behind every place, so that an equal element wins.
  Hlo behind = out.identity(RankedTensorType::get({}, place), Reduction::Min);
  RankedTensorType type = resultType(op);
  return out.generic(
      "stablehlo.reduce", {operand, places, least, behind},
      "dimensions = " + spellArray(dim),
      out.region({operand.element(), place, operand.element(), place},
                 [&](ArrayRef<Hlo> values) {
                   Hlo first = isLarger(values[0], values[2], out);
                   Hlo second = isLarger(values[2], values[0], out);
                   Hlo isEqual =
                       out.same("not", {out.same("or", {first, second})});
                   Hlo isEarlier = out.compare("LT", values[1], values[3]);
                   Hlo wins = out.same(
                       "or", {first, out.same("and", {isEqual, isEarlier})});
                   return Hlos{out.select(wins, values[0], values[2]),
                               out.select(wins, values[1], values[3])};
                 }),
      {RankedTensorType::get(type.getShape(), operand.element()), type})[1];
}

void hlo::addIndexForms(Forms &forms) {
  add<GatherOp>(forms, [](GatherOp op, ArrayRef<Hlo> in, Device &device) {
    return writeGather(op, in, device.out);
  });
  add<ScatterAddOp>(forms,
                    [](ScatterAddOp op, ArrayRef<Hlo> in, Device &device) {
                      return writeScatterAdd(op, in, device.out);
                    });
  add<TopKOp>(forms, [](TopKOp op, ArrayRef<Hlo> in, Device &device) {
    return writeTopK(op, in[0], device.out);
  });
  add<ArgmaxOp>(forms, [](ArgmaxOp op, ArrayRef<Hlo> in, Device &device) {
    return writeArgmax(op, in[0], device.out);
  });
}
