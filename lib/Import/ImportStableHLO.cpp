//===- ImportStableHLO.cpp - makes a model of a loss in StableHLO ---------===//
//
// SPDX-License-Identifier: Apache-2.0
//
// In: a module of functions on StableHLO, whose @main is the loss, or a step
// that JAX differentiated. Out: one function @main of level 1, which has the
// names and places of the source as locations. Conversion.h says how ops are
// converted.
//
//===----------------------------------------------------------------------===//
#include "Arguments.h"
#include "Conversion.h"
#include "Shardings.h"
#include "Simplify.h"
#include "TrainingStep.h"
#include "mlir/IR/Dominance.h"
#include "mlir/IR/PatternMatch.h"
#include "mlir/Transforms/CSE.h"
#include "pp/IR/Model.h"
#include "pp/Import/Passes.h"

using namespace mlir;
using namespace pp;
using namespace pp::hlo;

namespace pp {
#define GEN_PASS_DEF_IMPORTSTABLEHLO
#include "pp/Import/Passes.h.inc"
} // namespace pp

/// Reports a first result that is no loss.
static LogicalResult verifyLoss(func::FuncOp source, ArrayRef<Value> results) {
  if (results.empty())
    return source.emitError("expects a loss as the first result, got none");
  auto type = cast<RankedTensorType>(results[0].getType());
  if (type.getRank() != 0 || !isa<FloatType>(type.getElementType()))
    return source.emitError("expects a scalar loss as the first result, got ")
           << type
           << "; export a function that returns the mean loss of the batch";
  return success();
}

/// The loss and the new values of states among `results`, with their
/// attributes. Others are dropped, with a warning.
static Values chooseResults(func::FuncOp source, ArrayRef<Value> results,
                            ArrayRef<DictionaryAttr> ofArguments,
                            SmallVectorImpl<DictionaryAttr> &attributes) {
  MLIRContext *context = source.getContext();
  Values chosen{results[0]};
  attributes.push_back(getResultAttrs(context, Role::Loss, "loss"));
  for (auto [argument, number] :
       llvm::enumerate(findNewValues(source, ofArguments)))
    if (number != 0) {
      chosen.push_back(results[number]);
      attributes.push_back(getResultAttrs(
          context, Role::State,
          ofArguments[argument].getAs<StringAttr>(attrs::kName).getValue()));
    }
  if (chosen.size() < results.size())
    source.emitWarning("drops ")
        << results.size() - chosen.size()
        << " results that are neither the loss nor new values of --states";
  return chosen;
}

/// The function that replaces `source`, with arguments and no ops.
static FailureOr<func::FuncOp> beginMain(func::FuncOp source) {
  SmallVector<Type> types;
  for (BlockArgument argument : source.getArguments()) {
    FailureOr<RankedTensorType> type =
        convertType(argument.getType(), argument.getLoc());
    if (failed(type))
      return failure();
    types.push_back(*type);
  }
  OpBuilder builder(source.getContext());
  auto main = func::FuncOp::create(builder, source.getLoc(), "main",
                                   builder.getFunctionType(types, {}));
  Block *block = main.addEntryBlock();
  for (auto [argument, original] :
       llvm::zip_equal(block->getArguments(), source.getArguments()))
    argument.setLoc(original.getLoc());
  return main;
}

/// Names arguments' locations as the model names arguments.
static void nameArguments(func::FuncOp main,
                          ArrayRef<DictionaryAttr> attributes) {
  for (auto [argument, entry] :
       llvm::zip_equal(main.getArguments(), attributes))
    argument.setLoc(NameLoc::get(entry.getAs<StringAttr>(attrs::kName)));
}

static void setInterface(func::FuncOp main, func::FuncOp source,
                         ArrayRef<Value> results,
                         ArrayRef<DictionaryAttr> ofArguments,
                         ArrayRef<DictionaryAttr> ofResults) {
  OpBuilder builder = OpBuilder::atBlockEnd(&main.getBody().front());
  func::ReturnOp::create(builder, source.getLoc(), results);
  nameArguments(main, ofArguments);
  setSignature(main, ofArguments, ofResults);
}

/// Ends `main` with the loss, numbers to report and new values.
static LogicalResult finishStep(func::FuncOp main, func::FuncOp source,
                                ArrayRef<Value> results, const Roles &roles) {
  FailureOr<StepInterface> step = findStepInterface(source, main, results);
  if (failed(step))
    return failure();
  FailureOr<SmallVector<DictionaryAttr>> attributes =
      describeArguments(source, roles, step->roles);
  if (failed(attributes))
    return failure();
  Values chosen;
  SmallVector<DictionaryAttr> ofResults;
  auto add = [&](unsigned result, Role role, StringRef name) {
    chosen.push_back(results[result]);
    ofResults.push_back(getResultAttrs(source.getContext(), role, name));
  };
  add(step->loss, Role::Loss, "loss");
  for (const auto &[result, name] : step->metrics)
    add(result, Role::Metric, name);
  for (Role role : {Role::Param, Role::State, Role::Input, Role::Label})
    for (auto [index, newValue] : llvm::enumerate(step->newValues)) {
      DictionaryAttr argument = (*attributes)[index];
      if (!newValue ||
          argument.getAs<RoleAttr>(attrs::kRole).getValue() != role)
        continue;
      const StringRef name =
          argument.getAs<StringAttr>(attrs::kName).getValue();
      if (role != Role::Param && role != Role::State)
        return source.emitError("expects --inputs and --labels of a batch, got "
                                "'")
               << name << "', of which the step returns a new value";
      add(*newValue, role, name);
    }
  if (chosen.size() < results.size())
    source.emitWarning("drops ")
        << results.size() - chosen.size()
        << " results that are neither numbers nor new values of arguments";
  setInterface(main, source, chosen, *attributes, ofResults);
  return success();
}

/// Ends `main` with the loss and gives it its signature.
static LogicalResult finishMain(func::FuncOp main, func::FuncOp source,
                                ArrayRef<Value> results, const Roles &roles) {
  FailureOr<SmallVector<DictionaryAttr>> attributes =
      describeArguments(source, roles, /*others=*/{});
  if (failed(attributes))
    return failure();
  if (failed(verifyLoss(source, results)))
    return failure();
  SmallVector<DictionaryAttr> ofResults;
  Values chosen = chooseResults(source, results, *attributes, ofResults);
  setInterface(main, source, chosen, *attributes, ofResults);
  return success();
}

/// The plan chooses what is computed again: what jax.checkpoint repeats is
/// merged with what it repeats.
static void mergeEqual(func::FuncOp main) {
  IRRewriter rewriter(main.getContext());
  DominanceInfo dominance(main);
  eliminateCommonSubExpressions(rewriter, dominance, main);
}

static FailureOr<func::FuncOp> convertMain(ModuleOp module, func::FuncOp source,
                                           const Roles &roles,
                                           Shardings &shardings, bool isStep) {
  FailureOr<func::FuncOp> begun = beginMain(source);
  if (failed(begun))
    return failure();
  OwningOpRef<func::FuncOp> main = *begun;
  Block &block = main->getBody().front();
  const SmallVector<Attribute> ofArguments = shardings.convertArguments(source);
  Conversion conversion(module, block, shardings, /*marksGradients=*/isStep);
  ScopedDiagnosticHandler handler(
      module.getContext(), [&](Diagnostic &diagnostic) {
        const Location caller = conversion.getCallPlace();
        if (!diagnostic.getLocation()->findInstanceOf<FileLineColLoc>() &&
            isa<FileLineColLoc>(caller))
          diagnostic.attachNote(caller) << "called here";
        return failure(); // of the handler: the next one prints it
      });
  Values results,
      arguments(block.getArguments().begin(), block.getArguments().end());
  if (failed(conversion.inlineCall(source, arguments, nullptr, results)) ||
      failed(isStep ? finishStep(*main, source, results, roles)
                    : finishMain(*main, source, results, roles)))
    return failure();
  if (shardings.getMesh())
    setArgAttrs(*main, attrs::kSharding, ofArguments);
  else
    dropShardings(*main);
  eraseUnused(*main);
  if (!isStep) {
    splitStackedParameters(*main, conversion.getStacks());
    splitMergedColumns(*main);
  }
  separateLayouts(*main);
  boundIndices(*main);
  if (isStep) {
    mergeEqual(*main);
    markStep(*main);
  }
  return main.release();
}

namespace {

struct ImportStableHLOPass
    : pp::impl::ImportStableHLOBase<ImportStableHLOPass> {
  using ImportStableHLOBase::ImportStableHLOBase;

  void getDependentDialects(DialectRegistry &registry) const override {
    registry.insert<PPDialect, func::FuncDialect>();
  }

  void runOnOperation() override {
    ModuleOp module = getOperation();
    auto source = module.lookupSymbol<func::FuncOp>("main");
    if (!source || source.isExternal()) {
      module.emitError("expects a function @main with a body: the loss");
      return signalPassFailure();
    }
    const bool isStep = isTrainingStep(source);
    Shardings shardings(module, keepShardings);
    FailureOr<func::FuncOp> main = convertMain(
        module, source, {*inputs, *labels, *states}, shardings, isStep);
    if (failed(main))
      return signalPassFailure();
    for (Operation &op : llvm::make_early_inc_range(*module.getBody()))
      op.erase();
    module.push_back(*main);
    if (MeshAttr mesh = shardings.getMesh()) {
      OpBuilder builder = OpBuilder::atBlockBegin(module.getBody());
      MeshOp::create(builder, module.getLoc(), Shardings::kMesh, mesh);
    }
    // Attributes of other compilers.
    for (NamedAttribute attribute : module->getDiscardableAttrDictionary())
      module->removeDiscardableAttr(attribute.getName());
    module.setSymNameAttr(nullptr);
    if (isStep)
      module->setAttr(attrs::kLevel,
                      LevelAttr::get(&getContext(), Level::Graph));
  }
};

} // namespace
