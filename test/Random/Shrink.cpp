//===- Shrink.cpp - a small module with the same fault --------------------===//
//
// SPDX-License-Identifier: Apache-2.0
//
// Cuts are numbered; each is tried on a copy, which takes the module's place if
// the fault is still there.
//
//===----------------------------------------------------------------------===//
#include "Shrink.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/IR/Verifier.h"
#include "pp/IR/Model.h"

using namespace mlir;
using namespace pp;

namespace {

/// Counts down to the cut that is to be made.
class Cut {
public:
  Cut(ModuleOp module, int64_t number)
      : module(module), main(module.lookupSymbol<func::FuncOp>("main")),
        left(number) {}

  /// False if there are not so many cuts.
  bool make();

private:
  bool isNext() { return left-- == 0; }
  bool returnEarlier();
  bool dropResult();
  bool dropOp();
  bool dropSharding();
  bool dropArgument();
  void eraseUnused();
  void setResults(ArrayRef<Value> values, ArrayRef<DictionaryAttr> attributes);

  ModuleOp module;
  func::FuncOp main;
  int64_t left;
};

} // namespace

void Cut::setResults(ArrayRef<Value> values,
                     ArrayRef<DictionaryAttr> attributes) {
  Operation *terminator = main.getBody().front().getTerminator();
  terminator->setOperands(values);
  main.removeResAttrsAttr();
  main.setFunctionType(FunctionType::get(main.getContext(),
                                         main.getArgumentTypes(),
                                         TypeRange(terminator->getOperands())));
  main.setAllResultAttrs(attributes);
}

/// One value alone becomes the result, as a metric.
bool Cut::returnEarlier() {
  Builder builder(main.getContext());
  Block &body = main.getBody().front();
  for (Operation &op : body.without_terminator())
    if (&op != body.getTerminator()->getPrevNode() && isNext()) {
      setResults({op.getResult(0)},
                 {builder.getDictionaryAttr(
                     {builder.getNamedAttr(
                          attrs::kRole,
                          RoleAttr::get(main.getContext(), Role::Metric)),
                      builder.getNamedAttr(attrs::kName,
                                           builder.getStringAttr("m"))})});
      return true;
    }
  return false;
}

bool Cut::dropResult() {
  Operation *terminator = main.getBody().front().getTerminator();
  if (terminator->getNumOperands() == 1)
    return false;
  for (unsigned index = terminator->getNumOperands(); index-- > 0;)
    if (isNext()) {
      SmallVector<Value> values(terminator->getOperands());
      SmallVector<DictionaryAttr> attributes;
      for (unsigned i = 0; i < values.size(); ++i)
        if (i != index)
          attributes.push_back(main.getResultAttrDict(i));
      values.erase(values.begin() + index);
      setResults(values, attributes);
      return true;
    }
  return false;
}

bool Cut::dropOp() {
  Block &body = main.getBody().front();
  for (Operation &op : llvm::reverse(body.without_terminator())) {
    if (op.getNumResults() != 1)
      continue;
    Value result = op.getResult(0);
    SmallVector<Value> others(op.getOperands());
    llvm::append_range(others, body.getArguments());
    for (Value other : others)
      if (other.getType() == result.getType() && isNext()) {
        result.replaceAllUsesWith(other);
        return true;
      }
  }
  return false;
}

bool Cut::dropSharding() {
  for (unsigned index = 0; index < main.getNumArguments(); ++index)
    if (main.getArgAttr(index, attrs::kSharding) && isNext()) {
      main.removeArgAttr(index, attrs::kSharding);
      return true;
    }
  for (unsigned index = 0; index < main.getNumResults(); ++index)
    if (main.getResultAttr(index, attrs::kSharding) && isNext()) {
      main.removeResultAttr(
          index, StringAttr::get(main.getContext(), attrs::kSharding));
      return true;
    }
  auto plan = module->getAttrOfType<PlanAttr>(attrs::kPlan);
  if (!plan)
    return false;
  SmallVector<SeedAttr> seeds(plan.getSeeds());
  for (size_t index = 0; index < seeds.size(); ++index)
    if (isNext()) {
      seeds.erase(seeds.begin() + index);
      module->setAttr(attrs::kPlan, plan.withSeeds(seeds));
      return true;
    }
  return false;
}

bool Cut::dropArgument() {
  for (unsigned index = 0; index < main.getNumArguments(); ++index)
    if (main.getArgument(index).use_empty() && isNext())
      return succeeded(main.eraseArgument(index));
  return false;
}

void Cut::eraseUnused() {
  for (Operation &op :
       llvm::make_early_inc_range(llvm::reverse(main.getBody().front())))
    if (op.use_empty() && !isa<func::ReturnOp>(op))
      op.erase();
}

bool Cut::make() {
  if (!returnEarlier() && !dropResult() && !dropOp() && !dropSharding() &&
      !dropArgument())
    return false;
  eraseUnused();
  return true;
}

OwningOpRef<ModuleOp>
pp::testing::shrink(ModuleOp module, function_ref<bool(ModuleOp)> isWrong) {
  OwningOpRef<ModuleOp> smallest = module.clone();
  for (int64_t number = 0;;) {
    OwningOpRef<ModuleOp> candidate = smallest->clone();
    if (!Cut(*candidate, number).make())
      return smallest;
    OwningOpRef<ModuleOp> kept = candidate->clone();
    if (succeeded(verify(*candidate)) && isWrong(*candidate)) {
      smallest = std::move(kept);
      number = 0;
    } else {
      ++number;
    }
  }
}
