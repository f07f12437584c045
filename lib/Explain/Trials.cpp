//===- Trials.cpp - predictions for changed plans -------------------------===//
//
// SPDX-License-Identifier: Apache-2.0
//
// In: a model with its plan, and changes, or a model and whole plans. Out:
// predictions for programs that are compiled with each, in a context and thread
// of its own.
//
//===----------------------------------------------------------------------===//
#include "mlir/AsmParser/AsmParser.h"
#include "mlir/Bytecode/BytecodeWriter.h"
#include "mlir/IR/Diagnostics.h"
#include "mlir/Parser/Parser.h"
#include "mlir/Pass/PassManager.h"
#include "pp/Explain/Explain.h"
#include "pp/IR/Model.h"
#include "pp/IR/PlanText.h"
#include "pp/Target/Artifact.h"
#include "pp/Transforms/Pipelines.h"
#include "llvm/Support/ThreadPool.h"
#include <mutex>

using namespace mlir;
using namespace pp;

Outcome pp::getOutcome(const predict::Prediction &prediction,
                       uint32_t devices) {
  Outcome outcome{devices, prediction.stepSeconds, 0};
  for (const predict::ProgramPrediction &program : prediction.programs)
    for (uint32_t rank : program.ranks)
      outcome.bytes = std::max(
          outcome.bytes, predict::memoryOf(prediction, program, rank).peak);
  return outcome;
}

/// Empty on failure.
static std::string writeBytecode(ModuleOp module) {
  std::string bytes;
  llvm::raw_string_ostream stream(bytes);
  return succeeded(writeBytecodeToFile(module, stream)) ? bytes : "";
}

void Trials::setModel(ModuleOp module) {
  auto plan = module->getAttrOfType<PlanAttr>(attrs::kPlan);
  hasSeeds = plan && !plan.getSeeds().empty();
  module.getContext()->getDialectRegistry().appendTo(registry);
  model.clear();
  if (plan)
    model = writeBytecode(module);
}

bool Trials::canHave(StringRef change) const {
  return !hasSeeds || !choosesSeeds(change);
}

/// Gives the module the plan that `trial` is about.
static LogicalResult change(ModuleOp module, const Trial &trial,
                            StringRef obeyed) {
  auto plan = module->getAttrOfType<PlanAttr>(attrs::kPlan);
  if (isSeedChange(trial.change))
    plan = cast<PlanAttr>(parseAttribute(obeyed, module.getContext()));
  FailureOr<PlanAttr> changed =
      withChange(plan, trial.change, [&] { return module.emitError(); });
  if (succeeded(changed))
    attachPlan(module, *changed);
  return changed;
}

static FailureOr<Outcome> predictOutcome(ModuleOp programs,
                                         const MeasureBeside &measureBeside) {
  FailureOr<MeshedArtifact> built = buildMeshedArtifact(programs);
  if (failed(built))
    return failure();
  Outcome outcome = getOutcome(predict::predict(*built->artifact, built->mesh),
                               built->mesh.worldSize());
  if (measureBeside)
    outcome.besideArena = measureBeside(*built->artifact);
  outcome.bytes += outcome.besideArena;
  return outcome;
}

namespace {

/// The model of some trials. Each compiles it in a context of its own.
struct Compilation {
  const DialectRegistry &registry;
  StringRef model; ///< bytecode
  const PipelineOptions &options;
  std::optional<Level> from;
  /// Gives the module its plan, unless the options do.
  std::function<LogicalResult(ModuleOp)> prepare;
  MeasureBeside measureBeside;

  void run(Trial &trial) const;
};

} // namespace

void Compilation::run(Trial &trial) const {
  MLIRContext context(registry, MLIRContext::Threading::DISABLED);
  // Dialects bring the tool's own handler, which would report as if the user's
  // plan were refused.
  context.loadAllAvailableDialects();
  ScopedDiagnosticHandler listener(&context, [&](Diagnostic &diagnostic) {
    if (trial.refusal.empty() &&
        diagnostic.getSeverity() == DiagnosticSeverity::Error)
      trial.refusal = diagnostic.str();
    return success();
  });
  auto module = parseSourceString<ModuleOp>(model, &context);
  if (!module || (prepare && failed(prepare(*module))))
    return;
  PassManager manager(&context);
  manager.enableVerifier(false); // each level is verified at its end
  buildPipeline(manager, options, from, /*hasPlan=*/bool(prepare));
  if (failed(manager.run(*module)))
    return;
  if (FailureOr<Outcome> outcome = predictOutcome(*module, measureBeside);
      succeeded(outcome))
    trial.outcome = *outcome;
}

std::vector<Trial> pp::tryPlans(ModuleOp model, ArrayRef<PipelineOptions> plans,
                                const MeasureBeside &measureBeside) {
  std::vector<Trial> trials(plans.size());
  std::mutex mutex;
  const MeasureBeside alone = [&](const pprt::ppx::ArtifactT &artifact) {
    const std::lock_guard<std::mutex> lock(mutex);
    return measureBeside(artifact);
  };
  const std::string bytes = writeBytecode(model);
  const DialectRegistry &registry = model.getContext()->getDialectRegistry();
  llvm::DefaultThreadPool pool(llvm::hardware_concurrency());
  for (auto [trial, options] : llvm::zip_equal(trials, plans))
    pool.async([&, &trial = trial, &options = options] {
      Compilation{registry, bytes, options, std::nullopt, nullptr, alone}.run(
          trial);
    });
  pool.wait();
  return trials;
}

std::vector<Trial> Trials::run(ArrayRef<std::string> changes,
                               ModuleOp programs) const {
  std::vector<Trial> trials;
  for (const std::string &change : changes)
    trials.push_back({change, std::nullopt, ""});
  if (!hasModel())
    return trials;
  std::string plan;
  llvm::raw_string_ostream(plan)
      << programs->getAttrOfType<PlanAttr>(attrs::kPlan);
  auto target = programs->getAttrOfType<StringAttr>(attrs::kTarget);
  llvm::DefaultThreadPool pool(llvm::hardware_concurrency());
  PipelineOptions options;
  options.target = target ? target.str() : "";
  for (Trial &trial : MutableArrayRef(trials).take_front(kMost))
    pool.async([&] {
      Compilation{registry,
                  model,
                  options,
                  Level::Graph,
                  [&](ModuleOp module) { return change(module, trial, plan); },
                  nullptr}
          .run(trial);
    });
  pool.wait();
  return trials;
}
