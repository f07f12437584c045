//===- StepInterface.cpp - arguments and results of a training step -------===//
//
// SPDX-License-Identifier: Apache-2.0
//
// In: the function of the source and its converted body, without a signature.
// Out: its interface. Arguments and results have the names that JAX gives them.
//
//===----------------------------------------------------------------------===//
#include "SourceNames.h"
#include "TrainingStep.h"
#include "pp/IR/Model.h"
#include "llvm/ADT/DenseSet.h"
#include "llvm/ADT/StringMap.h"

using namespace mlir;
using namespace pp;
using namespace pp::hlo;

static constexpr llvm::StringLiteral kAlias = "tf.aliasing_output",
                                     kDonated = "jax.buffer_donor";

static bool isScalar(Type type) {
  auto tensor = dyn_cast<RankedTensorType>(type);
  return tensor && tensor.getRank() == 0 &&
         isa<FloatType>(tensor.getElementType());
}

static bool isDonated(func::FuncOp source, unsigned argument) {
  return source.getArgAttr(argument, kAlias) ||
         source.getArgAttr(argument, kDonated);
}

bool pp::hlo::isTrainingStep(func::FuncOp source) {
  if (source.getNumResults() < 2)
    return false;
  for (unsigned index = 0; index < source.getNumArguments(); ++index)
    if (isDonated(source, index))
      return true;
  return !isScalar(source.getResultTypes()[0]);
}

namespace {

class InterfaceFinder {
public:
  InterfaceFinder(func::FuncOp source, func::FuncOp main,
                  ArrayRef<Value> results)
      : source(source), main(main), results(results) {}

  FailureOr<StepInterface> run();

private:
  LogicalResult verifyGradient();
  void pairByName();
  void pairByMemory();
  void findDependences();
  LogicalResult chooseLoss();
  void takeMetrics();
  LogicalResult chooseRoles();
  bool isUnpaired(unsigned argument, unsigned result) {
    return !interface.newValues[argument] &&
           source.getArgument(argument).getType() ==
               source.getResultTypes()[result];
  }
  void pair(unsigned argument, unsigned result) {
    interface.newValues[argument] = result;
    isTaken[result] = true;
  }
  std::string resultPath(unsigned result) {
    auto info =
        source.getResultAttrOfType<StringAttr>(result, "jax.result_info");
    return info ? splitArgumentName(info.getValue()).path : "";
  }

  func::FuncOp source, main;
  ArrayRef<Value> results;
  StepInterface interface;
  SmallVector<bool> isTaken;
  llvm::DenseSet<Value> ofBatch, ofGradient, ofLoss;
};

} // namespace

LogicalResult InterfaceFinder::verifyGradient() {
  for (Operation &op : main.getBody().front())
    if (getKind(&op) == Kind::InputGradient)
      return success();
  return source.emitError(
      "expects a loss, a scalar as the first result, or a step that JAX "
      "differentiated, with the locations of its ops, got a function without "
      "gradients; write it by lower(...).as_text(debug_info=True)");
}

/// Of trees of equal names and types, such as parameters and their means, the
/// first is updated by the first, unless memory says otherwise.
void InterfaceFinder::pairByName() {
  auto isAlias = [&](unsigned argument, unsigned result) {
    auto alias = source.getArgAttrOfType<IntegerAttr>(argument, kAlias);
    return alias && alias.getInt() == result;
  };
  llvm::StringMap<SmallVector<unsigned, 4>> argumentsAt;
  for (BlockArgument argument : source.getArguments())
    if (auto named = dyn_cast<NameLoc>(argument.getLoc()))
      argumentsAt[splitArgumentName(named.getName().getValue()).path].push_back(
          argument.getArgNumber());
  for (unsigned result = 0; result < results.size(); ++result) {
    const std::string whole = resultPath(result);
    std::optional<unsigned> best;
    // Behind the place in the tuple of results, if they are one.
    for (StringRef path :
         {StringRef(whole), StringRef(whole).split('.').second})
      if (!path.empty())
        for (unsigned index : argumentsAt.lookup(path))
          if (isUnpaired(index, result) && (!best || isAlias(index, result)))
            best = index;
    if (best)
      pair(*best, result);
  }
}

/// Arguments without a path: those that are one array.
void InterfaceFinder::pairByMemory() {
  for (unsigned index = 0; index < source.getNumArguments(); ++index) {
    if (interface.newValues[index] || !isDonated(source, index))
      continue;
    auto alias = source.getArgAttrOfType<IntegerAttr>(index, kAlias);
    for (unsigned result = 0; result < results.size(); ++result)
      if (!isTaken[result] && isUnpaired(index, result) &&
          (!alias || alias.getInt() == result)) {
        pair(index, result);
        break;
      }
  }
}

void InterfaceFinder::findDependences() {
  Block &body = main.getBody().front();
  for (auto [argument, newValue] :
       llvm::zip_equal(body.getArguments(), interface.newValues))
    if (!newValue)
      ofBatch.insert(argument);
  addDependents(body, ofBatch);
  ofGradient = getGradientDependent(body);
}

llvm::DenseSet<Value> pp::hlo::getGradientDependent(Block &body) {
  llvm::DenseSet<Value> values;
  for (Operation &op : body.without_terminator())
    if (getKind(&op) == Kind::InputGradient)
      values.insert_range(op.getResults());
  addDependents(body, values);
  return values;
}

LogicalResult InterfaceFinder::chooseLoss() {
  SmallVector<unsigned> candidates, named, plain;
  for (auto [index, value] : llvm::enumerate(results))
    if (!isTaken[index] && isScalar(value.getType()) &&
        ofBatch.contains(value) && !ofGradient.contains(value)) {
      candidates.push_back(index);
      if (StringRef(resultPath(index)).ends_with("loss"))
        named.push_back(index);
      // Others stand in a dictionary behind it.
      if (!StringRef(resultPath(index)).contains('.'))
        plain.push_back(index);
    }
  ArrayRef<unsigned> chosen = !named.empty()      ? named
                              : plain.size() == 1 ? plain
                                                  : candidates;
  if (chosen.size() != 1) {
    InFlightDiagnostic error = source.emitError(
        "expects a step that returns its loss, one number that is computed "
        "from the batch and from no gradient, got ");
    error << candidates.size() << " such results"
          << (candidates.empty()
                  ? ""
                  : "; return a dictionary of them that has one called 'loss'");
    return error;
  }
  interface.loss = chosen.front();
  isTaken[interface.loss] = true;
  SmallVector<Value> pending{results[interface.loss]};
  while (!pending.empty()) {
    Value value = pending.pop_back_val();
    if (!ofLoss.insert(value).second)
      continue;
    if (Operation *op = value.getDefiningOp())
      llvm::append_range(pending, op->getOperands());
  }
  return success();
}

/// `accuracy` of `result[2]['accuracy']`
void InterfaceFinder::takeMetrics() {
  for (auto [index, value] : llvm::enumerate(results))
    if (!isTaken[index] && isScalar(value.getType())) {
      const std::string path = resultPath(index),
                        name = StringRef(path).split('.').second.str();
      interface.metrics.push_back(
          {index, name.empty() ? "result." + std::to_string(index) : name});
    }
}

LogicalResult InterfaceFinder::chooseRoles() {
  bool hasParameters = false;
  for (auto [argument, newValue] :
       llvm::zip_equal(main.getArguments(), interface.newValues)) {
    const bool isFloat = isa<FloatType>(getElementTypeOrSelf(argument));
    const bool isParameter = newValue && isFloat && ofLoss.contains(argument) &&
                             ofGradient.contains(results[*newValue]);
    hasParameters |= isParameter;
    interface.roles.push_back(isParameter ? Role::Param
                              : newValue  ? Role::State
                                          : Role::Input);
  }
  if (hasParameters)
    return success();
  return source.emitError(
      "expects a step that returns new values of its parameters, got none; "
      "return a pytree of the same names and types, or donate the arguments: "
      "jax.jit(step, donate_argnums=(0, 1))");
}

FailureOr<StepInterface> InterfaceFinder::run() {
  interface.newValues.resize(source.getNumArguments());
  isTaken.resize(results.size());
  if (failed(verifyGradient()))
    return failure();
  pairByName();
  pairByMemory();
  findDependences();
  if (failed(chooseLoss()) || failed(chooseRoles()))
    return failure();
  takeMetrics();
  return interface;
}

FailureOr<StepInterface> pp::hlo::findStepInterface(func::FuncOp source,
                                                    func::FuncOp main,
                                                    ArrayRef<Value> results) {
  return InterfaceFinder(source, main, results).run();
}
