//===- ModelFacts.cpp - what a model says of itself -----------------------===//
//
// SPDX-License-Identifier: Apache-2.0
//
// In: a parsed module. Out: types, costs, precision, its optimizer's rule, and
// interpreters of its step and of its evaluation.
//
//===----------------------------------------------------------------------===//
#include "SourceState.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "pp/Analysis/Contraction.h"
#include "pp/Explain/Explain.h"
#include "pp/IR/Model.h"
#include "pp/IR/PP.h"
#include "llvm/ADT/StringExtras.h"

#include <cmath>

using namespace pp::run;

std::map<std::string, std::string> SourceModule::parameterTypes() const {
  std::map<std::string, std::string> types;
  auto main = state->module->lookupSymbol<mlir::func::FuncOp>("main");
  if (!main)
    return types;
  for (mlir::BlockArgument argument : main.getArguments()) {
    const unsigned index = argument.getArgNumber();
    auto type = llvm::dyn_cast<mlir::RankedTensorType>(argument.getType());
    if (!type || pp::getArgRole(main, index) != pp::Role::Param)
      continue;
    llvm::raw_string_ostream text(types[pp::getArgName(main, index).str()]);
    text << type.getElementType() << "[";
    llvm::interleaveComma(type.getShape(), text);
    text << "]";
  }
  return types;
}

double SourceModule::stepFlops() const {
  double flops = 0;
  state->module->walk([&](pp::CostOpInterface op) {
    if (pp::isContraction(op))
      flops += op.getFlops();
  });
  // The backward pass has two products for each of the forward pass.
  return isModel() ? 3 * flops : flops;
}

Expected<mlir::OwningOpRef<mlir::ModuleOp>>
SourceModule::State::makeStep(const std::string &parallelize,
                              bool keepsGradients) {
  Expected<pp::PipelineOptions> options = readOptions(parallelize);
  if (!options)
    return options.status();
  options->stopAfter = pp::Level::Graph;
  options->keepGradients = keepsGradients;
  return transform(*options);
}

Expected<std::string> SourceModule::explain(const std::string &parallelize) {
  Expected<pp::PipelineOptions> options = readOptions(parallelize);
  if (!options)
    return options.status();
  Expected<mlir::OwningOpRef<mlir::ModuleOp>> module =
      state->transform(*options);
  if (!module)
    return module.status();
  Diagnostics diagnostics(state->sources, state->context);
  mlir::FailureOr<std::string> text = pp::explain(**module, pp::Trials());
  if (mlir::failed(text))
    return diagnostics.failure();
  return *text;
}

Expected<double> SourceModule::roundoff(const std::string &parallelize) {
  // The plan may round what the model does not.
  Expected<mlir::OwningOpRef<mlir::ModuleOp>> module =
      state->makeStep(parallelize);
  if (!module)
    return module.status();
  unsigned digits =
      llvm::APFloat::semanticsPrecision(llvm::APFloat::IEEEdouble());
  auto look = [&](mlir::Type type) {
    auto tensor = llvm::dyn_cast<mlir::RankedTensorType>(type);
    if (auto element =
            tensor ? llvm::dyn_cast<mlir::FloatType>(tensor.getElementType())
                   : mlir::FloatType())
      digits = std::min(digits, llvm::APFloat::semanticsPrecision(
                                    element.getFloatSemantics()));
  };
  auto main = (*module)->lookupSymbol<mlir::func::FuncOp>("main");
  // An input has its own precision; results of ops are rounded.
  for (mlir::BlockArgument argument : main.getArguments()) {
    std::optional<pp::Role> role =
        pp::getArgRole(main, argument.getArgNumber());
    if (role == pp::Role::Param || role == pp::Role::State)
      look(argument.getType());
  }
  main.walk([&](mlir::Operation *op) {
    for (mlir::Type type : op->getResultTypes())
      look(type);
  });
  return std::ldexp(1.0, -int(digits));
}

Expected<UpdateRule> SourceModule::updateRule(const std::string &parallelize) {
  Expected<mlir::OwningOpRef<mlir::ModuleOp>> module =
      state->makeStep(parallelize);
  if (!module)
    return module.status();
  auto plan = (**module)->getAttrOfType<pp::PlanAttr>(pp::attrs::kPlan);
  UpdateRule rule;
  // A step that was written by hand need not say how it updates.
  if (pp::OptimizerAttr optimizer = plan.getOptimizer()) {
    rule.isAdam = optimizer.getKind() == pp::OptimizerKind::Adam ||
                  optimizer.getKind() == pp::OptimizerKind::AdamW;
    rule.beta1 = optimizer.getBeta1();
    rule.eps = optimizer.getEps();
    // An attribute lives as long as its context, and so as this module.
    rule.rate = [optimizer](uint64_t step) {
      return optimizer.getRate(int64_t(step) + 1);
    };
  }
  return rule;
}

Expected<std::unique_ptr<Stepper>>
SourceModule::interpret(const std::string &parallelize,
                        const std::vector<std::string> &inputs,
                        bool isRounded) {
  Expected<mlir::OwningOpRef<mlir::ModuleOp>> module =
      state->makeStep(parallelize, /*keepsGradients=*/true);
  if (!module)
    return module.status();
  return makeInterpreter(std::move(*module), inputs, isRounded);
}

Expected<std::unique_ptr<Stepper>>
SourceModule::interpretEvaluation(const Evaluation &evaluation,
                                  const std::vector<std::string> &inputs) {
  Expected<mlir::OwningOpRef<mlir::ModuleOp>> module =
      state->makeEvaluation(evaluation, pp::Level::Graph);
  if (!module)
    return module.status();
  return makeInterpreter(std::move(*module), inputs, /*isRounded=*/false);
}
