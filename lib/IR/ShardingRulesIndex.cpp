//===- ShardingRulesIndex.cpp - ops that use a global index, as einsums ---===//
//
// SPDX-License-Identifier: Apache-2.0
//
// Sources and table look-ups. If the result depends on a global index, the
// local op is built from pp.axis_index: an iota adds the shard's offset, random
// bits count from it, a look-up in a sharded table reads its own part and
// leaves the rest to the other devices' addends.
//
//===----------------------------------------------------------------------===//
#include "ShardingModels.h"

using namespace mlir;
using namespace pp;

namespace {

//===----------------------------------------------------------------------===//
// Sources
//===----------------------------------------------------------------------===//

ShardingRule constantRule(ConstantOp op) {
  ShardingRule rule;
  rule.results = {addParallel(rule, shapeOf(op.getResult()))};
  if (!isa<SplatElementsAttr>(op.getValue()))
    for (Factor &factor : rule.factors)
      factor.kind = FactorKind::Replicated;
  return rule;
}

LocalValues localizeConstant(ConstantOp op, const Localization &local) {
  auto clone = cast<ConstantOp>(cloneLocally(op, local));
  if (auto value = dyn_cast<SplatElementsAttr>(op.getValue()))
    clone.setValueAttr(value.resizeSplat(local.resultType()));
  return SmallVector<Value>{clone.getResult()};
}

void resizeConstant(ConstantOp op, OpBuilder &, const ShardingRule &) {
  if (auto value = dyn_cast<SplatElementsAttr>(op.getValue()))
    op.setValueAttr(value.resizeSplat(op.getType()));
}

ShardingRule iotaRule(IotaOp op) {
  ShardingRule rule;
  rule.results = {addParallel(rule, shapeOf(op.getResult()))};
  rule.factors[op.getDimension()].needsLocalize = true;
  return rule;
}

LocalValues localizeIota(IotaOp op, const Localization &local) {
  int64_t dim = op.getDimension();
  if (!local.isSharded(dim))
    return localizeByClone(op, local);
  OpBuilder &builder = local.builder;
  Location loc = op.getLoc();
  RankedTensorType type = local.resultType();
  Type element = type.getElementType();
  // Counted in integers, so that an iota of floats rounds each index once.
  Type counter = element.isInteger() ? element : builder.getI32Type();
  auto counterType = RankedTensorType::get(type.getShape(), counter);
  Value count = IotaOp::create(builder, loc, counterType, dim);
  Value offset = shardOffset(local, loc, local.factorAxes[dim],
                             type.getDimSize(dim), counter);
  Value index = AddOp::create(builder, loc, count,
                              spread(builder, loc, offset, type.getShape()));
  if (counter != element)
    index = ConvertOp::create(builder, loc, type, index);
  return SmallVector<Value>{index};
}

ShardingRule randomBitsRule(RandomBitsOp op) {
  ShardingRule rule;
  rule.operands.resize(op->getNumOperands());
  rule.results = {addParallel(rule, shapeOf(op.getResult()))};
  for (Factor &factor : rule.factors)
    factor.needsLocalize = true;
  return rule;
}

LocalValues localizeRandomBits(RandomBitsOp op, const Localization &local) {
  RankedTensorType type = local.resultType();
  if (type == op.getType())
    return localizeByClone(op, local);
  OpBuilder &builder = local.builder;
  Location loc = op.getLoc();
  Type element = builder.getI64Type();
  auto scalar = RankedTensorType::get({}, element);
  SmallVector<Value> offsets;
  for (int64_t dim = 0; dim < type.getRank(); ++dim) {
    Value offset = local.isSharded(dim)
                       ? shardOffset(local, loc, local.factorAxes[dim],
                                     type.getDimSize(dim), element)
                       : splat(builder, loc, scalar, 0);
    if (!op.getOffsets().empty()) {
      Value before = local.operands[2 + dim];
      if (before.getType() != scalar)
        before = ConvertOp::create(builder, loc, scalar, before);
      offset = AddOp::create(builder, loc, before, offset);
    }
    offsets.push_back(offset);
  }
  ArrayRef<int64_t> global = op.getGlobalShape().value_or(shapeOf(op));
  Value bits = RandomBitsOp::create(builder, loc, type, local.operands[0],
                                    local.operands[1], offsets, op.getStream(),
                                    builder.getDenseI64ArrayAttr(global));
  return SmallVector<Value>{bits};
}

/// Elements are counted as if there were no padding.
void resizeRandomBits(RandomBitsOp op, OpBuilder &builder,
                      const ShardingRule &rule) {
  if (!op.getOffsets().empty())
    return;
  SmallVector<int64_t> global;
  for (const Factor &factor : rule.factors)
    global.push_back(factor.size);
  Value zero =
      splat(builder, op.getLoc(),
            RankedTensorType::get({}, builder.getI64Type()), /*value=*/0);
  op.getOffsetsMutable().assign(SmallVector<Value>(global.size(), zero));
  op.setGlobalShape(global);
}

//===----------------------------------------------------------------------===//
// Gather and scatter_add
//===----------------------------------------------------------------------===//

/// Whether each shard of a summed operand (a table, or rows to be added to one)
/// gives its part. A table that the whole batch shares always does: it does not
/// grow with the batch.
template <typename OpTy> bool sumsInShards(OpTy op) {
  return op.getBatchDims() == 0 || isInShards(op);
}

/// Rows in the table of each example, and rows that are looked up or added.
template <typename OpTy> std::pair<int64_t, int64_t> countRows(OpTy op) {
  const int64_t batch = op.getBatchDims();
  return {shapeOf(op.getOperand())[batch],
          llvm::product_of(shapeOf(op.getIndices()).drop_front(batch))};
}

/// The three tensors of a look-up and the factors that need care.
struct LookupFactors {
  TensorFactors table, indices, rows;
  int64_t tableFactor;
  int64_t firstIndexFactor, endIndexFactor;
};

LookupFactors addLookup(ShardingRule &rule, ArrayRef<int64_t> table,
                        ArrayRef<int64_t> indices, int64_t batch) {
  LookupFactors look;
  TensorFactors shared = addParallel(rule, table.take_front(batch));
  look.tableFactor = rule.addFactor(table[batch]);
  rule.factors[look.tableFactor].needsLocalize = true;
  look.firstIndexFactor = rule.factors.size();
  TensorFactors index = addParallel(rule, indices.drop_front(batch));
  look.endIndexFactor = rule.factors.size();
  TensorFactors rest = addParallel(rule, table.drop_front(batch + 1));
  look.table = look.indices = shared;
  look.table.push_back({look.tableFactor});
  llvm::append_range(look.table, rest);
  llvm::append_range(look.indices, index);
  look.rows = look.indices;
  llvm::append_range(look.rows, rest);
  return look;
}

ShardingRule gatherRule(GatherOp op) {
  ShardingRule rule;
  LookupFactors look = addLookup(rule, shapeOf(op.getOperand()),
                                 shapeOf(op.getIndices()), op.getBatchDims());
  Factor &table = rule.factors[look.tableFactor];
  table.kind =
      sumsInShards(op) ? FactorKind::Reduction : FactorKind::Replicated;
  table.needsLocalize = table.mayBeSplit();
  if (op.getType().getElementType().isInteger(1))
    table.reduction = Reduction::Or;
  rule.operands = {look.table, look.indices};
  rule.results = {look.rows};
  rule.additive = {{0}};
  rule.selected = {0};
  return rule;
}

std::optional<ShardSum> countGather(GatherOp op) {
  const auto [table, rows] = countRows(op);
  if (op.getBatchDims() == 0)
    return std::nullopt;
  return ShardSum{rows, table};
}

/// `indices` brought into 0 .. last.
Value clamp(OpBuilder &builder, Value indices, int64_t last) {
  Location loc = indices.getLoc();
  auto type = cast<RankedTensorType>(indices.getType());
  Value low =
      MaxOp::create(builder, loc, indices, splat(builder, loc, type, 0));
  return MinOp::create(builder, loc, low, splat(builder, loc, type, last));
}

/// The look-up clamps to the rows that the model has.
void resizeGather(GatherOp op, OpBuilder &builder, const ShardingRule &rule) {
  int64_t rows = rule.factors[op.getBatchDims()].size;
  if (shapeOf(op.getOperand())[op.getBatchDims()] != rows)
    op.getIndicesMutable().assign(clamp(builder, op.getIndices(), rows - 1));
}

/// Takes the rows in this device's part of the table; zero elsewhere.
LocalValues localizeGather(GatherOp op, const Localization &local) {
  int64_t tableDim = op.getBatchDims();
  if (!local.isSharded(tableDim))
    return localizeByClone(op, local);
  OpBuilder &builder = local.builder;
  Location loc = op.getLoc();
  Value indices = local.operands[1];
  RankedTensorType type = local.operandType(1), rows = local.resultType();
  Type element = type.getElementType();
  auto bound = [&](int64_t value) { return splat(builder, loc, type, value); };
  // The global look-up clamps, so the clamping comes first.
  int64_t last = shapeOf(op.getOperand())[tableDim] - 1;
  int64_t localSize = local.operandType(0).getDimSize(tableDim);
  Value clamped = clamp(builder, indices, last);
  Value offset =
      shardOffset(local, loc, local.factorAxes[tableDim], localSize, element);
  Value position = SubOp::create(builder, loc, clamped,
                                 spread(builder, loc, offset, type.getShape()));
  auto bits = RankedTensorType::get(type.getShape(), builder.getI1Type());
  Value isAbove =
      CompareOp::create(builder, loc, bits, Direction::GE, position, bound(0));
  Value isBelow = CompareOp::create(builder, loc, bits, Direction::LT, position,
                                    bound(localSize));
  Value isHere = AndOp::create(builder, loc, isAbove, isBelow);
  Value picked = GatherOp::create(builder, loc, rows, local.operands[0],
                                  position, tableDim);
  auto leading = llvm::to_vector(llvm::seq<int64_t>(0, type.getRank()));
  Value mask = BroadcastOp::create(
      builder, loc, RankedTensorType::get(rows.getShape(), builder.getI1Type()),
      isHere, leading);
  Value zero = splat(builder, loc, rows, 0);
  return SmallVector<Value>{
      SelectOp::create(builder, loc, rows, mask, picked, zero)};
}

ShardingRule scatterAddRule(ScatterAddOp op) {
  ShardingRule rule;
  LookupFactors look = addLookup(rule, shapeOf(op.getOperand()),
                                 shapeOf(op.getIndices()), op.getBatchDims());
  for (int64_t factor = look.firstIndexFactor; factor < look.endIndexFactor;
       ++factor)
    rule.factors[factor].kind =
        sumsInShards(op) ? FactorKind::Reduction : FactorKind::Replicated;
  rule.operands = {look.table, look.indices, look.rows};
  rule.results = {look.table};
  rule.selected = {0, 1};
  rule.additive = {{0, 2}};
  if (getSplat(op.getOperand()) == 0.0)
    rule.additive.push_back({2});
  return rule;
}

std::optional<ShardSum> countScatterAdd(ScatterAddOp op) {
  const auto [table, rows] = countRows(op);
  if (op.getBatchDims() == 0)
    return std::nullopt;
  return ShardSum{table, rows};
}

/// Indices outside this device's part of the table fall away by themselves
/// once they are shifted; the operand counts on the first device only.
LocalValues localizeScatterAdd(ScatterAddOp op, const Localization &local) {
  OpBuilder &builder = local.builder;
  Location loc = op.getLoc();
  int64_t tableDim = op.getBatchDims();
  SmallVector<Value> operands(local.operands);
  RankedTensorType table = local.operandType(0), indices = local.operandType(1);
  if (local.isSharded(tableDim)) {
    Value offset =
        shardOffset(local, loc, local.factorAxes[tableDim],
                    table.getDimSize(tableDim), indices.getElementType());
    operands[1] =
        SubOp::create(builder, loc, operands[1],
                      spread(builder, loc, offset, indices.getShape()));
  }
  SmallVector<StringAttr> summed;
  for (int64_t dim = tableDim; dim < indices.getRank(); ++dim)
    llvm::append_range(summed, local.factorAxes[dim + 1]);
  if (local.meshAttr.sizeOf(summed) > 1 && getSplat(op.getOperand()) != 0.0) {
    Type i32 = builder.getI32Type();
    auto scalar = RankedTensorType::get({}, i32);
    Value index = shardOffset(local, loc, summed, 1, i32);
    Value isFirst = CompareOp::create(
        builder, loc, RankedTensorType::get({}, builder.getI1Type()),
        Direction::EQ, index, splat(builder, loc, scalar, 0));
    operands[0] = SelectOp::create(
        builder, loc, table, spread(builder, loc, isFirst, table.getShape()),
        operands[0], splat(builder, loc, table, 0));
  }
  return localizeByClone(op, {builder, operands, local.resultTypes,
                              local.factorAxes, local.mesh, local.meshAttr});
}

} // namespace

void pp::registerIndexShardings(MLIRContext *context) {
  ConstantOp::attachInterface<ShardingModel<ConstantOp, constantRule,
                                            localizeConstant, resizeConstant>>(
      *context);
  IotaOp::attachInterface<ShardingModel<IotaOp, iotaRule, localizeIota>>(
      *context);
  RandomBitsOp::attachInterface<ShardingModel<
      RandomBitsOp, randomBitsRule, localizeRandomBits, resizeRandomBits>>(
      *context);
  GatherOp::attachInterface<SumModel<GatherOp, gatherRule, localizeGather,
                                     resizeGather, countGather>>(*context);
  ScatterAddOp::attachInterface<
      SumModel<ScatterAddOp, scatterAddRule, localizeScatterAdd,
               resizeNothing<ScatterAddOp>, countScatterAdd>>(*context);
}
