//===- ElementRules.cpp - elementwise ops, sources, and which rule is whose ==//
//
// SPDX-License-Identifier: Apache-2.0
//
//===----------------------------------------------------------------------===//
#include "ElementRules.h"
#include "../LinalgScalars.h"
#include "ElementRulesDetail.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "pp/IR/Model.h"

using namespace mlir;
using namespace pp;
using namespace pp::gpu;

static Scalars elementwise(const Question &q) {
  SmallVector<Scalars> operands;
  for (unsigned index = 0; index < q.op->getNumOperands(); ++index)
    operands.push_back(q.ask(index, q.place));
  Scalars result;
  for (int64_t lane = 0; lane < q.elements.count(q.place); ++lane) {
    SmallVector<Value> scalars;
    for (Scalars &operand : operands)
      scalars.push_back(operand[lane]);
    result.push_back(emitScalar(q.elements.b, q.op, scalars));
  }
  return result;
}

static Scalars constant(const Question &q, ConstantOp op) {
  auto value = cast<DenseElementsAttr>(op.getValue());
  if (value.isSplat())
    return q.spread({arith::ConstantOp::create(
        q.elements.b, q.elements.loc,
        cast<TypedAttr>(value.getSplatValue<Attribute>()))});
  return q.elements.load(q.elements.getTable(value),
                         op.getType().getElementType(), q.place);
}

/// Counted in integers, so that every type rounds each number once.
static Scalars iota(const Question &q, IotaOp op) {
  if (q.place.crosses)
    return {};
  const int64_t dim = op.getDimension();
  Elements &e = q.elements;
  auto number = [&](const Index &index) {
    Type i64 = e.b.getI64Type();
    Value wide = e.indices.get(index);
    if (wide.getType() != i64)
      wide = arith::ExtUIOp::create(e.b, e.loc, i64, wide);
    return emitConvert(e.b, e.loc, wide, op.getType().getElementType());
  };
  Scalars result;
  const int64_t count = q.place.run == dim ? e.count(q.place) : 1;
  for (int64_t lane = 0; lane < count; ++lane)
    result.push_back(
        number(e.indices.add(q.place.indices[dim], e.indices.literal(lane))));
  return q.spread(result);
}

/// The coordinate over `axes` (major to minor), from the scalars of the launch.
static Scalars axisIndex(const Question &q, AxisIndexOp op) {
  OpBuilder &b = q.elements.b;
  Location loc = q.elements.loc;
  MeshAttr mesh =
      lookupMesh(q.elements.getKernel()->getParentOfType<ModuleOp>()).getMesh();
  Type i64 = b.getI64Type();
  auto literal = [&](int64_t number) {
    return arith::ConstantOp::create(b, loc, b.getIntegerAttr(i64, number));
  };
  Value index = literal(0);
  for (StringAttr name : op.getAxes().getAsRange<StringAttr>()) {
    MeshAxisAttr axis = mesh.lookup(name);
    const int64_t position = axis.getKind() == AxisKind::Time
                                 ? mesh.getAxes().size()
                                 : mesh.indexOf(name);
    index = arith::MulIOp::create(b, loc, index, literal(axis.getSize()));
    index = arith::AddIOp::create(b, loc, index,
                                  q.elements.getLaunchScalar(position));
  }
  return q.spread(
      {emitConvert(b, loc, index, ranked(op.getResult()).getElementType())});
}

static Scalars randomBits(const Question &q, RandomBitsOp op) {
  if (q.place.run >= 0)
    return {};
  OpBuilder &b = q.elements.b;
  Location loc = q.elements.loc;
  Type i64 = b.getI64Type();
  auto wide = [&](Value value) { return emitConvert(b, loc, value, i64); };
  ArrayRef<int64_t> whole =
      op.getGlobalShape() ? *op.getGlobalShape() : op.getType().getShape();
  Value index;
  for (auto [dim, size] : llvm::enumerate(whole)) {
    Value position = wide(q.elements.indices.get(q.place.indices[dim]));
    if (op.getGlobalShape())
      position =
          arith::AddIOp::create(b, loc, position, wide(q.askScalar(2 + dim)));
    if (index) {
      Value extent =
          arith::ConstantOp::create(b, loc, b.getI64IntegerAttr(size));
      index = arith::MulIOp::create(b, loc, index, extent);
      position = arith::AddIOp::create(b, loc, index, position);
    }
    index = position;
  }
  if (!index)
    index = arith::ConstantOp::create(b, loc, b.getI64IntegerAttr(0));
  return {emitRandomBits(b, loc, index, wide(q.askScalar(0)),
                         wide(q.askScalar(1)), op.getStream())};
}

namespace {

using Rules = llvm::DenseMap<TypeID, ElementRule>;

template <typename... Ops> void addElementwise(Rules &rules) {
  ((rules[TypeID::get<Ops>()] = elementwise), ...);
}

template <typename OpT, auto function> void add(Rules &rules) {
  rules[TypeID::get<OpT>()] = [](const Question &question) {
    return function(question, cast<OpT>(question.op));
  };
}

Rules makeRules() {
  Rules rules;
  addElementwise<NegOp, AbsOp, ExpOp, LogOp, SqrtOp, RsqrtOp, TanhOp, ErfOp,
                 LogisticOp, SinOp, CosOp, SignOp, NotOp, AddOp, SubOp, MulOp,
                 DivOp, MaxOp, MinOp, PowOp, AndOp, OrOp, CompareOp, SelectOp,
                 ConvertOp, StopGradientOp, ShardingConstraintOp, ReshardOp,
                 NameOp>(rules);
  add<ConstantOp, constant>(rules);
  add<IotaOp, iota>(rules);
  add<AxisIndexOp, axisIndex>(rules);
  add<RandomBitsOp, randomBits>(rules);
  add<BroadcastOp, broadcast>(rules);
  add<ReshapeOp, reshape>(rules);
  add<TransposeOp, transpose>(rules);
  add<SliceOp, slice>(rules);
  add<PadOp, pad>(rules);
  add<ConcatenateOp, concatenate>(rules);
  add<DynamicSliceOp, dynamicSlice>(rules);
  add<DynamicUpdateSliceOp, dynamicUpdateSlice>(rules);
  add<GatherOp, gather>(rules);
  add<ScatterAddOp, scatterAdd>(rules);
  add<TopKOp, topK>(rules);
  add<CumsumOp, cumsum>(rules);
  add<ReduceOp, reduce>(rules);
  add<ArgmaxOp, argmax>(rules);
  add<DotGeneralOp, dot>(rules);
  add<ConvolutionOp, convolution>(rules);
  add<ReduceWindowOp, reduceWindow>(rules);
  add<SelectAndScatterOp, selectAndScatter>(rules);
  return rules;
}

} // namespace

ElementRule pp::gpu::findElementRule(OperationName name) {
  static const Rules rules = makeRules();
  auto info = name.getRegisteredInfo();
  return info ? rules.lookup(info->getTypeID()) : nullptr;
}
