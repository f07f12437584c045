//===- InterpretModule.cpp - steps of a model, op by op -------------------===//
//
// SPDX-License-Identifier: Apache-2.0
//
// In: a training step of level 1 for one device. Out: what it computes, by the
// reference interpreter.
//
//===----------------------------------------------------------------------===//
#include "Compile.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/IR/OwningOpRef.h"
#include "pp/Analysis/ElementTypes.h"
#include "pp/IR/Model.h"
#include "pp/IR/PP.h"
#include "pp/Reference/Interpreter.h"
#include "pprt/Session.h"

using namespace pp::run;
using pprt::ExitCode;
using pprt::Expected;
using pprt::Status;
using pprt::host::Batch;
using pprt::host::StepValues;
using pprt::host::Values;

namespace {

/// The unpartitioned training step, op by op.
class Interpreter final : public Stepper {
public:
  Interpreter(mlir::OwningOpRef<mlir::ModuleOp> owned,
              const std::vector<std::string> &inputs, bool isRounded);

  Expected<StepValues> step(const Batch &batch) override;
  Status follow(const pprt::Session &leader, double rounding) override;

private:
  mlir::OwningOpRef<mlir::ModuleOp> module;
  mlir::func::FuncOp main;
  pp::reference::EvaluateOptions options;
  llvm::StringMap<unsigned> byName; ///< the arguments
  std::vector<pp::reference::HostTensor> arguments;
  /// The argument of each tensor of a batch.
  std::vector<unsigned> inputArguments;
};

} // namespace

Interpreter::Interpreter(mlir::OwningOpRef<mlir::ModuleOp> owned,
                         const std::vector<std::string> &inputs, bool isRounded)
    : module(std::move(owned)),
      main(module->lookupSymbol<mlir::func::FuncOp>("main")),
      byName(pp::getArgsByName(main)) {
  options.roundToElement = isRounded;
  for (mlir::Type type : main.getArgumentTypes())
    arguments.emplace_back(llvm::cast<mlir::RankedTensorType>(type));
  for (const std::string &name : inputs)
    inputArguments.push_back(byName.at(name));
}

Expected<StepValues> Interpreter::step(const Batch &batch) {
  for (size_t i = 0; i < batch.size(); ++i) {
    pp::reference::HostTensor &tensor = arguments[inputArguments[i]];
    tensor.values = asDoubles(*pp::toElementType(tensor.elementType()),
                              batch[i].data(), tensor.values.size());
  }
  auto results = pp::reference::evaluate(main, arguments, options);
  if (mlir::failed(results))
    return Status(ExitCode::doesNotCompile,
                  "the reference interpreter cannot evaluate the model");
  StepValues values;
  values.loss = results->front().values.front();
  for (auto [i, tensor] : llvm::enumerate(*results)) {
    const std::string name = pp::getResultName(main, i).str();
    std::optional<pp::Role> role = pp::getResultRole(main, i);
    if (role == pp::Role::Gradient)
      values.gradients[name] = tensor.values;
    if (role == pp::Role::Metric)
      values.metrics[name] = tensor.values;
    if (role == pp::Role::Prediction)
      values.predictions[name] = tensor.values;
    if (role == pp::Role::Param)
      values.parameters[name] = tensor.values;
    if (role == pp::Role::State)
      values.states[name] = tensor.values;
  }
  return values;
}

Status Interpreter::follow(const pprt::Session &leader, double rounding) {
  Expected<StepValues> values = readArguments(leader);
  if (!values)
    return values.status();
  for (Values *tensors : {&values->parameters, &values->states})
    for (auto &[name, elements] : *tensors)
      if (auto argument = byName.find(name); argument != byName.end()) {
        pp::reference::HostTensor &tensor = arguments[argument->second];
        tensor.values = std::move(elements);
        if (tensors == &values->parameters &&
            mlir::isa<mlir::FloatType>(tensor.elementType()))
          shake(tensor.values, rounding);
      }
  return {};
}

std::unique_ptr<Stepper>
pp::run::makeInterpreter(mlir::OwningOpRef<mlir::ModuleOp> step,
                         const std::vector<std::string> &inputs,
                         bool isRounded) {
  return std::make_unique<Interpreter>(std::move(step), inputs, isRounded);
}
