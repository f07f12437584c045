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

/// A branch that is known when the model is exported.
static LogicalResult convertBranch(HloOp op, Conversion &graph,
                                   Values &results) {
  std::optional<int64_t> number = op->getNumOperands() == 1
                                      ? graph.known(graph.operand(op, 0))
                                      : std::nullopt;
  const int64_t count = op->getNumRegions();
  if (!number || count == 0)
    return op->emitError("cannot import ")
           << op->getName()
           << " on data; compute both sides and select with jnp.where";
  int64_t index = *number;
  if (op.getName() == "if")
    index = index == 0;
  else if (index < 0 || index >= count)
    index = count - 1;
  return graph.inlineRegion(op->getRegion(std::min(index, count - 1)), {},
                            std::nullopt, results);
}

/// Its operands; the op says how they are computed or where they lie.
static LogicalResult convertIdentity(HloOp op, Conversion &graph,
                                     Values &results) {
  results = graph.operands(op);
  return success();
}

static LogicalResult convertCustomCall(HloOp op, Conversion &graph,
                                       Values &results) {
  const std::string target = op.getWord("call_target_name");
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
  handlers["sdy.sharding_constraint"] = {nullptr, convertIdentity, 1};
}
