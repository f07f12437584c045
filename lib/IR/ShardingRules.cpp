//===- ShardingRules.cpp - ops that compute, as einsums -------------------===//
//
// SPDX-License-Identifier: Apache-2.0
//
// Elementwise ops and contractions: ops whose shards compute apart whatever the
// global indices are. A sharded reduction factor leaves the result partial; the
// caller of `localize` sees to that. Also the helpers all rules share and the
// registration of all of them.
//
//===----------------------------------------------------------------------===//
#include "ShardingModels.h"
#include "pp/IR/AllOps.h"
#include "pp/IR/Aspects.h"
#include "pp/IR/Model.h"

using namespace mlir;
using namespace pp;

//===----------------------------------------------------------------------===//
// Shared helpers
//===----------------------------------------------------------------------===//

Operation *pp::cloneLocally(Operation *op, const Localization &local) {
  NamedAttrList attributes(op->getDiscardableAttrDictionary());
  attributes.erase(attrs::kInShards);
  return local.builder.insert(Operation::create(
      op->getLoc(), op->getName(), local.resultTypes, local.operands,
      std::move(attributes), op->getPropertiesStorage(), BlockRange(), 0));
}

bool pp::isInShards(Operation *op) {
  auto chosen = op->getAttrOfType<BoolAttr>(attrs::kInShards);
  return chosen && chosen.getValue();
}

ArrayRef<int64_t> pp::shapeOf(Value value) {
  return cast<RankedTensorType>(value.getType()).getShape();
}

TensorFactors pp::addParallel(ShardingRule &rule, ArrayRef<int64_t> shape) {
  TensorFactors tensor;
  for (int64_t size : shape)
    tensor.push_back({rule.addFactor(size)});
  return tensor;
}

Value pp::splat(OpBuilder &builder, Location loc, RankedTensorType type,
                double value) {
  Type element = type.getElementType();
  Attribute attribute =
      isa<FloatType>(element)
          ? Attribute(FloatAttr::get(element, value))
          : Attribute(IntegerAttr::get(element, static_cast<int64_t>(value)));
  return ConstantOp::create(builder, loc, type,
                            DenseElementsAttr::get(type, attribute));
}

Value pp::spread(OpBuilder &builder, Location loc, Value scalar,
                 ArrayRef<int64_t> shape) {
  Type element = cast<RankedTensorType>(scalar.getType()).getElementType();
  return BroadcastOp::create(builder, loc,
                             RankedTensorType::get(shape, element), scalar,
                             ArrayRef<int64_t>());
}

Value pp::shardOffset(const Localization &local, Location loc,
                      ArrayRef<StringAttr> axes, int64_t localSize,
                      Type element) {
  auto type = RankedTensorType::get({}, element);
  SmallVector<Attribute> names(axes.begin(), axes.end());
  Value index = AxisIndexOp::create(local.builder, loc, type, local.mesh,
                                    local.builder.getArrayAttr(names));
  return MulOp::create(local.builder, loc, index,
                       splat(local.builder, loc, type, localSize));
}

//===----------------------------------------------------------------------===//
// Elementwise
//===----------------------------------------------------------------------===//

namespace {

/// The operand sets in which an elementwise op is additive.
SmallVector<SmallVector<unsigned, 2>> elementwiseAdditive(Operation *op) {
  if (isa<AddOp, SubOp>(op))
    return {{0, 1}};
  if (isa<MulOp>(op))
    return {{0}, {1}};
  if (isa<DivOp>(op) && isa<FloatType>(getElementTypeOrSelf(op->getResult(0))))
    return {{0}};
  if (isa<NegOp, StopGradientOp>(op))
    return {{0}};
  if (auto select = dyn_cast<SelectOp>(op)) {
    SmallVector<SmallVector<unsigned, 2>> sets = {{1, 2}};
    if (getSplat(select.getOnFalse()) == 0.0)
      sets.push_back({1});
    if (getSplat(select.getOnTrue()) == 0.0)
      sets.push_back({2});
    return sets;
  }
  return {};
}

template <typename OpTy> ShardingRule elementwiseRule(OpTy op) {
  ShardingRule rule;
  TensorFactors tensor = addParallel(rule, shapeOf(op->getResult(0)));
  rule.operands.assign(op->getNumOperands(), tensor);
  rule.results = {tensor};
  rule.additive = elementwiseAdditive(op);
  return rule;
}

void attachElementwise(MLIRContext *context) {
  visitAllOps([&](auto tag) {
    using OpTy = typename decltype(tag)::Type;
    if constexpr (OpTy::template hasTrait<OpTrait::Elementwise>())
      OpTy::template attachInterface<
          ShardingModel<OpTy, elementwiseRule<OpTy>>>(*context);
  });
}

template <typename... OpTys> void attachIdentities(MLIRContext *context) {
  (OpTys::template attachInterface<
       ShardingModel<OpTys, elementwiseRule<OpTys>, localizeAway<OpTys>>>(
       *context),
   ...);
}

//===----------------------------------------------------------------------===//
// Contractions
//===----------------------------------------------------------------------===//

ShardingRule dotGeneralRule(DotGeneralOp op) {
  ShardingRule rule;
  ArrayRef<int64_t> lhsShape = shapeOf(op.getLhs());
  ArrayRef<int64_t> rhsShape = shapeOf(op.getRhs());
  TensorFactors lhs(lhsShape.size()), rhs(rhsShape.size()), result;
  for (auto [left, right] : llvm::zip_equal(op.getLhsBatch(), op.getRhsBatch()))
    lhs[left] = rhs[right] =
        result.emplace_back(DimFactors{rule.addFactor(lhsShape[left])});
  for (int64_t dim : op.getLhsFree())
    lhs[dim] = result.emplace_back(DimFactors{rule.addFactor(lhsShape[dim])});
  for (int64_t dim : op.getRhsFree())
    rhs[dim] = result.emplace_back(DimFactors{rule.addFactor(rhsShape[dim])});
  for (auto [left, right] :
       llvm::zip_equal(op.getLhsContract(), op.getRhsContract()))
    lhs[left] =
        rhs[right] = {rule.addFactor(lhsShape[left], FactorKind::Reduction)};
  rule.operands = {lhs, rhs};
  rule.results = {result};
  rule.additive = {{0}, {1}};
  return rule;
}

} // namespace

void pp::registerComputeShardings(MLIRContext *context) {
  attachElementwise(context);
  attachIdentities<ShardingConstraintOp, ReshardOp, NameOp>(context);
  DotGeneralOp::attachInterface<ShardingModel<DotGeneralOp, dotGeneralRule>>(
      *context);
}

void pp::registerShardingModels(DialectRegistry &registry) {
  registry.addExtension(+[](MLIRContext *context, PPDialect *) {
    registerComputeShardings(context);
    registerShapeShardings(context);
    registerIndexShardings(context);
    registerWindowShardings(context);
    registerScanShardings(context);
  });
}
