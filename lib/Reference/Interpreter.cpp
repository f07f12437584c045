//===- Interpreter.cpp - the reference meaning of graph ops ---------------===//
//
// SPDX-License-Identifier: Apache-2.0
//
// Runs a function op by op. A value is dropped after its last use, so the
// memory is that of the live values.
//
//===----------------------------------------------------------------------===//
#include "pp/Reference/Interpreter.h"
#include "Evaluators.h"
#include "pp/IR/Model.h"
#include "llvm/ADT/DenseMap.h"

using namespace mlir;
using namespace pp;
using namespace pp::reference;

static FailureOr<std::vector<HostTensor>>
evaluateLaunch(LaunchOp launch, Operands operands,
               const EvaluateOptions &options) {
  auto callee = SymbolTable::lookupNearestSymbolFrom<func::FuncOp>(
      launch, launch.getCalleeAttr());
  if (!callee || callee.isExternal())
    return launch.emitOpError()
           << "expects a function with a body, got " << launch.getCalleeAttr();
  std::vector<HostTensor> inputs;
  for (const HostTensor *operand : operands)
    inputs.push_back(*operand);
  return evaluate(callee, inputs, options);
}

FailureOr<std::vector<HostTensor>>
pp::reference::evaluateOp(Operation *op, ArrayRef<const HostTensor *> operands,
                          const EvaluateOptions &options) {
  if (auto launch = dyn_cast<LaunchOp>(op))
    return evaluateLaunch(launch, operands, options);
  std::optional<HostTensor> result;
  if (auto constant = dyn_cast<ConstantOp>(op)) {
    auto literal = HostTensor::fromAttribute(constant.getValue());
    if (failed(literal))
      return op->emitOpError("expects a dense literal");
    result = std::move(*literal);
  } else if (isGraphOp(op)) {
    result = evaluateElementwise(op, operands);
    if (!result)
      result = evaluateShape(op, operands);
    if (!result)
      result = evaluateContraction(op, operands);
    if (!result)
      result = evaluateWindow(op, operands);
  }
  if (!result)
    return op->emitError("expects an op of level 1, got ") << op->getName();
  if (options.roundToElement || isa<IntegerType>(result->elementType()))
    result->roundToElement();
  std::vector<HostTensor> results;
  results.push_back(std::move(*result));
  return results;
}

static LogicalResult checkInputs(func::FuncOp function,
                                 ArrayRef<HostTensor> inputs) {
  if (function.isExternal())
    return function.emitError("expects a function with a body");
  if (inputs.size() != function.getNumArguments())
    return function.emitError("expects ")
           << function.getNumArguments() << " inputs, got " << inputs.size();
  for (auto [index, input] : llvm::enumerate(inputs)) {
    Type expected = function.getArgument(index).getType();
    if (input.type != expected)
      return function.emitError("expects input ")
             << index << " of type " << expected << ", got " << input.type;
  }
  return success();
}

FailureOr<std::vector<HostTensor>>
pp::reference::evaluate(func::FuncOp function, ArrayRef<HostTensor> inputs,
                        const EvaluateOptions &options) {
  if (failed(checkInputs(function, inputs)))
    return failure();
  Block &body = function.getBody().front();
  llvm::DenseMap<Value, HostTensor> owned;
  llvm::DenseMap<Value, int64_t> pendingUses;
  auto lookup = [&](Value value) -> const HostTensor * {
    if (auto argument = dyn_cast<BlockArgument>(value))
      return &inputs[argument.getArgNumber()];
    return &owned.find(value)->second;
  };
  for (Operation &op : body.without_terminator()) {
    SmallVector<const HostTensor *> operands;
    for (Value operand : op.getOperands())
      operands.push_back(lookup(operand));
    auto results = evaluateOp(&op, operands, options);
    if (failed(results))
      return failure();
    for (Value operand : op.getOperands())
      if (auto uses = pendingUses.find(operand);
          uses != pendingUses.end() && --uses->second == 0)
        owned.erase(operand);
    for (auto [value, tensor] : llvm::zip_equal(op.getResults(), *results)) {
      if (value.use_empty())
        continue;
      pendingUses[value] = std::distance(value.use_begin(), value.use_end());
      owned[value] = std::move(tensor);
    }
  }
  std::vector<HostTensor> results;
  for (Value value : body.getTerminator()->getOperands())
    results.push_back(*lookup(value));
  return results;
}
