//===- Decisions.cpp - the plan and the schedule a module has -------------===//
//
// SPDX-License-Identifier: Apache-2.0
//
// In: the module after all passes. Out: its plan as a file for plan=FILE, one
// decision a line, its schedule as a picture, and the predicted needs of its
// programs.
//
//===----------------------------------------------------------------------===//
#include "Decisions.h"
#include "mlir/IR/BuiltinOps.h"
#include "mlir/Pass/PassInstrumentation.h"
#include "pp/Explain/Explain.h"
#include "pp/IR/Diagnostics.h"
#include "pp/IR/Model.h"
#include "pp/IR/PlanKeys.h"
#include "pp/IR/PlanText.h"
#include "pp/Predict/DrawStep.h"
#include "pp/Predict/MemoryReport.h"
#include "pp/Schedule/Simulate.h"
#include "pp/Target/Artifact.h"
#include "pprt/Status.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/raw_ostream.h"
#include <filesystem>

using namespace mlir;
using namespace pp;
using namespace pp::opt;

namespace {

/// Reads shardings behind the pass that writes them, since the partitioner
/// removes them, even if a later pass fails.
struct WatchShardings : PassInstrumentation {
  explicit WatchShardings(Decisions &decisions) : decisions(&decisions) {}

  void runAfterPass(Pass *pass, Operation *op) override {
    auto module = dyn_cast<ModuleOp>(op);
    if (!module || pass->getArgument() != "pp-propagate-shardings")
      return;
    if (FailureOr<std::string> text =
            describeShardings(module, decisions->shardingsOf);
        succeeded(text))
      decisions->shardings = std::move(*text);
    decisions->hasSeenShardings = true;
  }

  Decisions *decisions;
};

/// Keeps the model with the plan that was given: behind the last check of level
/// 1, before passes fill the plan in.
struct WatchModel : PassInstrumentation {
  explicit WatchModel(Trials &trials) : trials(trials) {}

  void runAfterPass(Pass *pass, Operation *op) override {
    auto module = dyn_cast<ModuleOp>(op);
    if (module && pass->getArgument() == "pp-verify-graph")
      trials.setModel(module);
  }

  Trials &trials;
};

struct ReadDecisions : PassWrapper<ReadDecisions, OperationPass<ModuleOp>> {
  MLIR_DEFINE_EXPLICIT_INTERNAL_INLINE_TYPE_ID(ReadDecisions)

  explicit ReadDecisions(Decisions &decisions) : decisions(&decisions) {}

  StringRef getName() const override { return "read-decisions"; }

  void runOnOperation() override {
    markAllAnalysesPreserved();
    if (decisions->wantsPlan && failed(readPlan()))
      return signalPassFailure();
    if (decisions->wantsSchedule && failed(writeSchedule()))
      return signalPassFailure();
    if (decisions->wantsDrawing != Decisions::Drawing::None && failed(draw()))
      return signalPassFailure();
    if (decisions->wantsShardings && failed(readShardings()))
      return signalPassFailure();
    if ((decisions->wantsPrediction || decisions->wantsMemory) &&
        failed(predict()))
      return signalPassFailure();
    if (decisions->wantsExplanation && failed(explain()))
      signalPassFailure();
  }

private:
  InFlightDiagnostic refuse(const Twine &message) {
    InFlightDiagnostic diagnostic = getOperation().emitError(message);
    setExitCode(diagnostic, int(pprt::ExitCode::usage));
    return diagnostic;
  }

  /// The path of a table, as a plan spells it: from the plan's folder.
  std::string besidePlan(StringRef table) {
    namespace fs = std::filesystem;
    std::error_code error;
    const fs::path path(table.str());
    if (path.is_absolute() || decisions->planFile == "-")
      return table.str();
    const fs::path folder = fs::path(decisions->planFile).parent_path();
    const fs::path beside =
        fs::relative(path, folder.empty() ? "." : folder, error);
    return error || beside.empty() ? fs::absolute(path).string()
                                   : beside.string();
  }

  LogicalResult readPlan() {
    auto plan = getOperation()->getAttrOfType<PlanAttr>(attrs::kPlan);
    if (!plan)
      return refuse("--emit=plan expects a module with a plan, as "
                    "--pp-parallelize makes, got one without");
    plan = withDefaults(plan);
    if (plan.getSchedule().ends_with(".csv"))
      plan =
          plan.withSetting(PlanKey::Schedule, besidePlan(plan.getSchedule()));
    llvm::raw_string_ostream os(decisions->plan);
    os << "// A plan of pp: edit it and pass plan=FILE.\n";
    printLines(plan, os);
    return success();
  }

  /// The module's schedule, for `option`.
  FailureOr<schedule::Schedule> findSchedule(StringRef option) {
    auto main = getOperation().lookupSymbol<func::FuncOp>("main");
    auto attribute = main ? main->getAttrOfType<ScheduleAttr>(attrs::kSchedule)
                          : ScheduleAttr();
    if (!attribute)
      return refuse(option + " expects a module with a schedule, as "
                             "--pp-parallelize makes, got one without");
    schedule::Schedule schedule = attribute.getTable();
    std::string error;
    if (!schedule::verify(schedule, error))
      return main.emitError("expects a schedule that can run: ") << error;
    if (MeshOp mesh = lookupMesh(getOperation())) {
      const int64_t positions = mesh.getMesh().getNumStagePositions();
      if (int64_t(schedule.ranks.size()) != positions)
        return main.emitError("expects a schedule of ")
               << positions << " positions, got one of "
               << schedule.ranks.size();
    }
    return schedule;
  }

  LogicalResult writeSchedule() {
    FailureOr<schedule::Schedule> schedule = findSchedule("--emit=schedule");
    if (succeeded(schedule))
      decisions->schedule = schedule::printCsv(*schedule);
    return schedule;
  }

  /// A picture of programs shows times as predicted and memory; any other, and
  /// text, the order alone.
  LogicalResult draw() {
    FailureOr<schedule::Schedule> schedule = findSchedule("--draw-schedule");
    if (failed(schedule))
      return failure();
    const bool isSvg = decisions->wantsDrawing == Decisions::Drawing::Svg;
    if (isSvg && !getOperation().getOps<ProgramOp>().empty()) {
      FailureOr<MeshedArtifact> built = buildMeshedArtifact(getOperation());
      if (failed(built))
        return failure();
      decisions->drawing = predict::drawStep(
          predict::predict(*built->artifact, built->mesh), *built->artifact,
          built->mesh, nullptr, decisions->drawsTransfers);
      return success();
    }
    schedule::Timeline timeline =
        schedule::simulate(*schedule, schedule::Durations::usual());
    decisions->drawing = isSvg ? schedule::drawSvg(*schedule, timeline,
                                                   decisions->drawsTransfers)
                               : schedule::drawText(*schedule, timeline);
    return success();
  }

  /// `option` reads programs.
  LogicalResult expectPrograms(StringRef option) {
    if (!getOperation().getOps<ProgramOp>().empty())
      return success();
    return refuse(option + " expects a module of level program, as "
                           "--pp-parallelize makes without stop-after, got one "
                           "without programs");
  }

  /// The output of `pp-run --dry-run`, from the same instruction lists.
  LogicalResult predict() {
    if (failed(expectPrograms(decisions->wantsPrediction
                                  ? "--pp-predict"
                                  : "--pp-memory-report")))
      return failure();
    // A program that is not sound, or does not end, has no timeline.
    FailureOr<MeshedArtifact> built = buildMeshedArtifact(getOperation());
    if (failed(built))
      return failure();
    const predict::Prediction prediction =
        predict::predict(*built->artifact, built->mesh);
    if (decisions->wantsPrediction)
      decisions->prediction = predict::print(prediction, *built->artifact);
    if (decisions->wantsMemory)
      decisions->memory = predict::spellMemory(
          predict::reportMemory(prediction, *built->artifact),
          decisions->memoryFile);
    return success();
  }

  LogicalResult explain() {
    if (failed(expectPrograms("--pp-explain")))
      return failure();
    FailureOr<std::string> text =
        pp::explain(getOperation(), decisions->trials);
    if (succeeded(text))
      decisions->explanation = std::move(*text);
    return text;
  }

  /// A module may come with shardings.
  LogicalResult readShardings() {
    if (!decisions->hasSeenShardings) {
      auto main = getOperation().lookupSymbol<func::FuncOp>("main");
      if (!main || llvm::none_of(main.getOps(), [](Operation &op) {
            return op.hasAttr(attrs::kShardings);
          }))
        return refuse(
            "--pp-shardings expects a module with shardings; run it together "
            "with --pp-parallelize on a module of level graph");
      FailureOr<std::string> text =
          describeShardings(getOperation(), decisions->shardingsOf);
      if (succeeded(text))
        decisions->shardings = std::move(*text);
    }
    return success(!decisions->shardings.empty());
  }

  Decisions *decisions;
};

} // namespace

void pp::opt::addReader(PassManager &manager, Decisions &decisions) {
  if (decisions.wantsPlan || decisions.wantsSchedule ||
      decisions.wantsExplanation || decisions.wantsPrediction ||
      decisions.wantsMemory || decisions.wantsShardings ||
      decisions.wantsDrawing != Decisions::Drawing::None)
    manager.addPass(std::make_unique<ReadDecisions>(decisions));
  if (decisions.wantsShardings)
    manager.addInstrumentation(std::make_unique<WatchShardings>(decisions));
  if (decisions.wantsExplanation)
    manager.addInstrumentation(std::make_unique<WatchModel>(decisions.trials));
}
