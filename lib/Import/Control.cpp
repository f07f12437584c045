//===- Control.cpp - calls, loops and marks -------------------------------===//
//
// SPDX-License-Identifier: Apache-2.0
//
// A loop is unrolled while its condition is a known number: so lax.scan over
// layers becomes the layers, which can be cut into stages.
//
//===----------------------------------------------------------------------===//
#include "Conversion.h"

using namespace mlir;
using namespace pp;
using namespace pp::hlo;

/// Longer loops are no layers of a model.
static constexpr int64_t kMostIterations = 4096;

static LogicalResult convertCall(HloOp op, Conversion &graph, Values &results) {
  return graph.inlineCall(op, op.getWord("callee"), results);
}

static LogicalResult convertComposite(HloOp op, Conversion &graph,
                                      Values &results) {
  return graph.inlineCall(op, op.getWord("decomposition"), results);
}

/// Whether another iteration follows; reports a condition that is not known.
static FailureOr<bool> isTrue(HloOp op, const Values &carried, int64_t index,
                              Conversion &graph) {
  Values condition;
  if (failed(graph.inlineRegion(op->getRegion(0), carried, index, condition)))
    return failure();
  if (condition.size() != 1)
    return op->emitOpError("expects one condition, got ") << condition.size();
  std::optional<int64_t> number = graph.known(condition[0]);
  if (!number)
    return op->emitError(
        "cannot import stablehlo.while whose number of iterations depends on "
        "data; use lax.scan, or lax.fori_loop with constant bounds");
  return *number != 0;
}

static LogicalResult convertWhile(HloOp op, Conversion &graph,
                                  Values &results) {
  if (op->getNumRegions() != 2)
    return op->emitOpError("expects two regions, got ") << op->getNumRegions();
  Values carried = graph.operands(op);
  for (int64_t index = 0;; ++index) {
    FailureOr<bool> goesOn = isTrue(op, carried, index, graph);
    if (failed(goesOn))
      return failure();
    if (!*goesOn)
      break;
    if (index == kMostIterations)
      return op->emitError("expects a loop of at most ")
             << kMostIterations << " iterations";
    Values next;
    if (failed(graph.inlineRegion(op->getRegion(1), carried, index, next)))
      return failure();
    if (!llvm::equal(ValueRange(next).getTypes(),
                     ValueRange(carried).getTypes()))
      return op->emitOpError("expects a body that returns values of the types "
                             "that it takes");
    carried = next;
  }
  results = carried;
  return success();
}

/// The branch of a number: booleans choose the first if they hold, others
/// count, and the last one stands for all others.
static int64_t findBranch(HloOp op, int64_t number) {
  const int64_t last = int64_t(op->getNumRegions()) - 1;
  if (op.getName() == "if")
    return std::min<int64_t>(number == 0, last);
  return number < 0 || number > last ? last : number;
}

/// All branches, of which a number that depends on data selects the results.
static LogicalResult selectBranch(HloOp op, Conversion &graph,
                                  Values &results) {
  Value number = graph.operand(op, 0);
  const bool isIf = op.getName() == "if";
  RankedTensorType type = graph.typeOf(number);
  if (type.getRank() != 0 || isIf != type.getElementType().isInteger(1))
    return op->emitOpError("expects the scalar of a branch, got ") << type;
  for (int64_t branch = int64_t(op->getNumRegions()) - 1; branch >= 0;
       --branch) {
    Values others;
    std::swap(others, results);
    if (failed(graph.inlineRegion(op->getRegion(branch), {}, std::nullopt,
                                  results)))
      return failure();
    if (others.empty())
      continue; // the last
    if (!llvm::equal(ValueRange(others).getTypes(),
                     ValueRange(results).getTypes()))
      return op->emitOpError("expects branches of equal results");
    Value isChosen = isIf ? number
                          : graph.compare(Direction::EQ, number,
                                          graph.splatInt(branch, type));
    for (auto [result, other] : llvm::zip_equal(results, others))
      result = graph.select(isChosen, result, other);
  }
  return success(!llvm::is_contained(results, Value()));
}

/// A branch that is known is taken; of others, all are computed.
static LogicalResult convertBranch(HloOp op, Conversion &graph,
                                   Values &results) {
  if (op->getNumRegions() == 0)
    return op->emitOpError("expects branches, got none");
  if (std::optional<int64_t> number = graph.known(graph.operand(op, 0)))
    return graph.inlineRegion(op->getRegion(findBranch(op, *number)), {},
                              std::nullopt, results);
  return selectBranch(op, graph, results);
}

/// Its operands; the op says how they are computed or where they lie.
static LogicalResult convertIdentity(HloOp op, Conversion &graph,
                                     Values &results) {
  results = graph.operands(op);
  return success();
}

static Value convertConstraint(HloOp op, Conversion &graph) {
  Value value = graph.operand(op, 0);
  Attribute given = op->getAttr("sharding");
  if (!given)
    return value;
  ShardingAttr sharding =
      graph.getShardings().convert(given, value.getType(), graph.getLoc());
  if (!sharding)
    return value;
  return graph.make<ShardingConstraintOp>(
      value.getType(), value,
      ConstrainedSideAttr::get(graph.getContext(), ConstrainedSide::Result),
      sharding,
      /*barrier=*/UnitAttr(),
      /*priority=*/IntegerAttr());
}

static LogicalResult convertCustomCall(HloOp op, Conversion &graph,
                                       Values &results) {
  const std::string target = op.getWord("call_target_name");
  if (StringRef(target) == "Sharding")
    Shardings::drop(graph.getLoc(), "GSPMD's shardings have no names of axes");
  if (StringRef(target) == "Sharding" ||
      StringRef(target) == "annotate_device_placement")
    return convertIdentity(op, graph, results);
  return op->emitError("cannot import a call of '")
         << target
         << "', which is no part of the program; export it for another "
            "platform (jax.export, platforms=[\"cpu\"]), or write it in "
            "jax.numpy";
}

void pp::hlo::addControl(Handlers &handlers) {
  handlers["func.call"] = {nullptr, convertCall, -1};
  handlers["composite"] = {nullptr, convertComposite, -1};
  handlers["while"] = {nullptr, convertWhile, -1};
  handlers["if"] = {nullptr, convertBranch, 1};
  handlers["case"] = {nullptr, convertBranch, 1};
  handlers["custom_call"] = {nullptr, convertCustomCall, -1};
  handlers["optimization_barrier"] = {nullptr, convertIdentity, -1};
  handlers["sdy.sharding_constraint"] = {convertConstraint, nullptr, 1};
}
