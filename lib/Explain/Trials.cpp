//===- Trials.cpp - what changes of a plan would come to ------------------===//
//
// SPDX-License-Identifier: Apache-2.0
//
//===----------------------------------------------------------------------===//
#include "pp/Explain/Trials.h"
#include "mlir/AsmParser/AsmParser.h"
#include "mlir/Bytecode/BytecodeWriter.h"
#include "mlir/IR/Builders.h"
#include "mlir/IR/Diagnostics.h"
#include "mlir/Parser/Parser.h"
#include "mlir/Pass/PassManager.h"
#include "pp/IR/Model.h"
#include "pp/IR/PlanKeys.h"
#include "pp/Target/Artifact.h"
#include "pp/Transforms/Pipelines.h"
#include "llvm/ADT/StringExtras.h"

using namespace mlir;
using namespace pp;

Outcome pp::getOutcome(const predict::Prediction &prediction, int64_t devices) {
  Outcome outcome{devices, prediction.stepSeconds, 0};
  for (const predict::ProgramPrediction &program : prediction.programs)
    for (uint32_t rank : program.ranks)
      outcome.bytes = std::max(
          outcome.bytes,
          program.memory.peak +
              (prediction.staging.empty() ? 0 : prediction.staging[rank]));
  return outcome;
}

/// With an axis of another size; one of a single device is none.
static MeshAttr withSize(MeshAttr mesh, StringRef name, int64_t size) {
  SmallVector<MeshAxisAttr> axes;
  for (MeshAxisAttr axis : mesh.getAxes())
    if (axis.getName() != name)
      axes.push_back(axis);
    else if (size > 1)
      axes.push_back(MeshAxisAttr::get(mesh.getContext(), axis.getName(), size,
                                       axis.getKind()));
  return MeshAttr::get(mesh.getContext(), axes);
}

/// With `key=value`, where `key` may be an axis that only the mesh knows.
static PlanAttr withKey(PlanAttr plan, StringRef key, StringRef value) {
  const PlanKeyInfo *info = lookupPlanKey(key);
  if (info && info->place != PlanKeyInfo::Place::Axis)
    return plan.withSetting(info->key, value);
  int64_t size = 0;
  value.getAsInteger(10, size);
  return plan.withMesh(
      withSize(plan.getMesh(), info ? StringRef(info->axis) : key, size));
}

/// With a seed in place of that for the same name.
static PlanAttr withSeed(PlanAttr plan, SeedAttr seed) {
  SmallVector<SeedAttr> seeds;
  for (SeedAttr other : plan.getSeeds())
    if (other.getPattern() != seed.getPattern())
      seeds.push_back(other);
  seeds.push_back(seed);
  return plan.withSeeds(seeds);
}

/// Obeyed by programs, as an attribute of another context.
static PlanAttr copyPlan(ModuleOp programs, MLIRContext *context) {
  auto plan = programs->getAttrOfType<PlanAttr>(attrs::kPlan);
  std::string text;
  llvm::raw_string_ostream(text) << plan;
  return cast<PlanAttr>(parseAttribute(text, context));
}

void Trials::setModel(ModuleOp module) {
  model.clear();
  outcomes.clear();
  module.getContext()->getDialectRegistry().appendTo(registry);
  llvm::raw_string_ostream stream(model);
  if (failed(writeBytecodeToFile(module, stream)))
    model.clear();
}

std::optional<Outcome> Trials::run(StringRef change, ModuleOp programs) {
  auto [outcome, isNew] = outcomes.try_emplace(change.str());
  if (isNew)
    outcome->second = compile(change, programs);
  return outcome->second;
}

std::optional<Outcome> Trials::compile(StringRef change,
                                       ModuleOp programs) const {
  MLIRContext context(registry);
  // Dialects bring the tool's own handler. Nobody has asked for a plan that is
  // refused.
  context.loadAllAvailableDialects();
  ScopedDiagnosticHandler quiet(&context,
                                [](Diagnostic &) { return success(); });
  auto module = parseSourceString<ModuleOp>(model, &context);
  if (!module)
    return std::nullopt;
  PlanAttr plan;
  if (change.starts_with("#")) {
    plan = withSeed(copyPlan(programs, &context),
                    cast<SeedAttr>(parseAttribute(change, &context)));
  } else {
    plan = (*module)->getAttrOfType<PlanAttr>(attrs::kPlan);
    SmallVector<StringRef> words;
    llvm::SplitString(change, words);
    for (StringRef word : words)
      plan = withKey(plan, word.split('=').first, word.split('=').second);
  }
  auto emitError = [&] { return module->emitError(); };
  if (failed(PlanAttr::verify(emitError, plan.getMesh(), plan.getSeeds(),
                              plan.getCuts(), plan.getOptimizer(),
                              plan.getSettings())))
    return std::nullopt;
  (*module)->setAttr(attrs::kPlan, plan);
  if (MeshOp old = lookupMesh(*module))
    old->erase();
  OpBuilder builder = OpBuilder::atBlockBegin(module->getBody());
  MeshOp::create(builder, module->getLoc(), "mesh", plan.getMesh());

  PipelineOptions options;
  if (auto target = programs->getAttrOfType<StringAttr>(attrs::kTarget))
    options.target = target.str();
  PassManager manager(&context);
  manager.enableVerifier(false); // each level is verified at its end
  buildPipeline(manager, options, Level::Graph, /*hasPlan=*/true);
  if (failed(manager.run(*module)))
    return std::nullopt;
  auto artifact = buildCheckedArtifact(*module);
  if (failed(artifact))
    return std::nullopt;
  auto mesh = pprt::Mesh::create((*artifact)->axes);
  if (!mesh)
    return std::nullopt;
  return getOutcome(predict::predict(**artifact, *mesh), mesh->worldSize());
}
