//===- Resharder.cpp - reshard plans as ops -------------------------------===//
//
// SPDX-License-Identifier: Apache-2.0
//
//===----------------------------------------------------------------------===//
#include "Resharder.h"
#include "pp/IR/Model.h"
#include "pp/Transforms/Cause.h"
#include "llvm/ADT/StringExtras.h"

using namespace mlir;
using namespace pp;

Resharder::Resharder(MeshView mesh, const schedule::Topology &topology)
    : mesh(mesh), planner(makeReshardPlanner(mesh, topology)) {}

//===----------------------------------------------------------------------===//
// Ops
//===----------------------------------------------------------------------===//

Value Resharder::buildStep(OpBuilder &builder, Location loc, Value value,
                           const reshard::ReshardStep &step) {
  auto from = cast<RankedTensorType>(value.getType());
  auto toNames = [&](ArrayRef<int> axes) {
    SmallVector<StringAttr> names = mesh.names(axes);
    return builder.getArrayAttr(
        SmallVector<Attribute>(names.begin(), names.end()));
  };
  int64_t group = 1;
  for (int axis : step.axes)
    group *= mesh.size(axis);
  ArrayAttr axes = toNames(step.axes);
  FlatSymbolRefAttr symbol = mesh.symbol();
  auto scaled = [&](int multiplied, int divided) {
    SmallVector<int64_t> shape(from.getShape());
    if (divided >= 0)
      shape[divided] /= group;
    if (multiplied >= 0)
      shape[multiplied] *= group;
    return from.clone(shape);
  };
  auto dim = builder.getI64IntegerAttr(step.dim);
  auto dims = builder.getDenseI64ArrayAttr(step.dim);
  auto reduction = ReductionAttr::get(builder.getContext(),
                                      static_cast<Reduction>(step.reduction));
  switch (step.kind) {
  case reshard::StepKind::AllSlice:
    return AllSliceOp::create(builder, loc, scaled(-1, step.dim), value, dim,
                              symbol, axes);
  case reshard::StepKind::AllGather:
    return AllGatherOp::create(builder, loc, TypeRange(scaled(step.dim, -1)),
                               ValueRange(value), dims, symbol, axes)
        .getResult(0);
  case reshard::StepKind::AllReduce:
    return AllReduceOp::create(builder, loc, TypeRange(from), reduction,
                               ValueRange(value), symbol, axes,
                               DenseI64ArrayAttr())
        .getResult(0);
  case reshard::StepKind::ReduceScatter:
    return ReduceScatterOp::create(builder, loc,
                                   TypeRange(scaled(-1, step.dim)), reduction,
                                   ValueRange(value), dims, symbol, axes)
        .getResult(0);
  case reshard::StepKind::AllToAll:
    return AllToAllOp::create(builder, loc, scaled(step.dim, step.splitDim),
                              value, builder.getI64IntegerAttr(step.splitDim),
                              dim, symbol, axes);
  case reshard::StepKind::Permute:
    return PermuteOp::create(builder, loc, from, value, symbol, axes,
                             toNames(step.target));
  }
  llvm_unreachable("every step is listed");
}

const reshard::ReshardPlan &Resharder::plan(const LocalValue &from,
                                            ArrayRef<int64_t> globalShape,
                                            const Layout &layout,
                                            const PartialAxes &partial) {
  auto type = cast<RankedTensorType>(from.value.getType());
  int64_t bytes = std::max<int64_t>(1, type.getElementTypeBitWidth() / 8);
  return planner.plan(
      std::vector<int64_t>(globalShape.begin(), globalShape.end()), bytes,
      toPlanner(from.layout, from.partial), toPlanner(layout, partial));
}

LocalValue Resharder::chooseCheapest(ArrayRef<LocalValue> forms,
                                     ArrayRef<int64_t> globalShape,
                                     const Layout &layout) {
  if (forms.size() == 1)
    return forms.front();
  // A cut into micro-batches is no collective: then any will do.
  return *llvm::min_element(forms, [&](const LocalValue &a,
                                       const LocalValue &b) {
    const reshard::ReshardPlan &fromA = plan(a, globalShape, layout, {}),
                               &fromB = plan(b, globalShape, layout, {});
    return fromA.reachable() && fromB.reachable() && fromA.cost < fromB.cost;
  });
}

/// `reduce_scatter over tp, all_gather over ep`; empty for a single collective.
static std::string spellRoute(const reshard::ReshardPlan &plan,
                              const MeshView &mesh) {
  SmallVector<std::string> calls;
  for (const reshard::ReshardStep &step : plan.steps)
    if (step.kind != reshard::StepKind::AllSlice)
      calls.push_back(std::string(reshard::toString(step.kind)) + " over " +
                      llvm::join(llvm::map_range(mesh.names(step.axes),
                                                 [](StringAttr axis) {
                                                   return axis.str();
                                                 }),
                                 " and "));
  return calls.size() > 1 ? llvm::join(calls, ", ") : "";
}

FailureOr<LocalValue>
Resharder::buildPlanned(OpBuilder &builder, Location loc, const Cause &cause,
                        LocalValue from, ArrayRef<int64_t> globalShape,
                        const Layout &layout, const PartialAxes &partial) {
  const reshard::ReshardPlan &steps = plan(from, globalShape, layout, partial);
  if (!steps.reachable())
    return emitError(loc) << cause.text << ", which no collectives lead to: "
                          << steps.whyUnreachable;
  const std::string remarked =
      cause.advice.empty() ? cause.text : cause.text + "; " + cause.advice;
  Cause ofStep = cause;
  ofStep.route = spellRoute(steps, mesh);
  const Location at = ofStep.attachTo(loc);
  Value value = from.value;
  for (const reshard::ReshardStep &step : steps.steps) {
    value = buildStep(builder, at, value, step);
    if (step.kind == reshard::StepKind::AllSlice)
      continue;
    Operation *op = value.getDefiningOp();
    remarkCollective(op, "pp-partition", remarked, mesh.attr(),
                     mesh.names(step.axes), getStages(op), step.wireBytes);
  }
  return LocalValue{value, layout, partial};
}

FailureOr<Value> Resharder::build(OpBuilder &builder, Location loc,
                                  const Cause &cause, const LocalValue &from,
                                  ArrayRef<int64_t> globalShape,
                                  const Layout &layout,
                                  const PartialAxes &partial) {
  Location fused = cause.attachTo(loc);
  LocalValue current = from;
  for (auto [dim, axes] : llvm::enumerate(layout)) {
    int time = mesh.timeAxis();
    const int *position = llvm::find(axes, time);
    bool wantsTime = time >= 0 && position != axes.end();
    bool hasTime = time >= 0 && llvm::is_contained(current.layout[dim], time);
    if (hasTime || !wantsTime)
      continue;
    // Cut into micro-batches below the axes that come before time, wherever the
    // value has these now.
    const AxisList above(axes.begin(), position);
    auto isBefore = [&](int axis) { return llvm::is_contained(above, axis); };
    Layout before = current.layout;
    for (AxisList &ofDim : before)
      ofDim.erase(llvm::find_if(ofDim, isBefore), ofDim.end());
    before[dim] = above;
    PartialAxes partial = current.partial;
    llvm::erase_if(partial,
                   [&](const auto &entry) { return isBefore(entry.first); });
    FailureOr<LocalValue> ready = buildPlanned(builder, loc, cause, current,
                                               globalShape, before, partial);
    if (failed(ready))
      return failure();
    reshard::ReshardStep cut;
    cut.kind = reshard::StepKind::AllSlice;
    cut.axes = {time};
    cut.dim = dim;
    current = *ready;
    current.value = buildStep(builder, fused, current.value, cut);
    current.layout[dim].push_back(time);
  }
  FailureOr<LocalValue> result =
      buildPlanned(builder, loc, cause, current, globalShape, layout, partial);
  if (failed(result))
    return failure();
  return result->value;
}
