//===- Pipelines.cpp - the story of the compiler --------------------------===//
//
// SPDX-License-Identifier: Apache-2.0
//
// Read this file first. It is the order of all passes, level by level, and why
// each pass sits where it sits.
//
//===----------------------------------------------------------------------===//
#include "pp/Transforms/Pipelines.h"
#include "mlir/Pass/PassRegistry.h"
#include "mlir/Transforms/Passes.h"
#include "pp/IR/Diagnostics.h"
#include "pp/IR/Model.h"
#include "pp/Transforms/Passes.h"

using namespace mlir;
using namespace pp;

/// Leftovers of independent rules (zeros added, moves undone) are folded while
/// it is one graph. Equal constants stay apart: each has its stage.
static void addFolding(OpPassManager &manager) {
  manager.addPass(
      createCanonicalizerPass(GreedyRewriteConfig().enableConstantCSE(false)));
  manager.addPass(createCSEPass());
}

/// From a model with a plan to the whole training step.
static void addTraining(OpPassManager &manager, bool keepGradients) {
  // While it is the model that the user wrote.
  manager.addPass(createDigestModel());

  // Dropout and batch norm are those of training from here on.
  manager.addPass(createTakeTraining());

  // Types before gradients, which then have the types of what they belong to.
  manager.addPass(createLowerPrecision());

  // Differentiate before partitioning: the gradient of a collective is then
  // never needed, and the partitioner sees forward, backward and update as one
  // graph of global tensors, in which it can choose every collective. Equal
  // forward expressions are merged first, for then their gradients are, too.
  manager.addPass(createCSEPass());
  manager.addPass(createDifferentiate());

  // The optimizer is ordinary ops over state arguments, so that states are
  // sharded, placed and counted as everything else. Unused gradients are
  // dropped with the work that led to them.
  manager.addPass(createAddOptimizer({keepGradients}));
  addFolding(manager);
}

/// From a model with a plan to its evaluation, which has the layouts of the
/// training step: the same passes, but gradients and updates.
static void addEvaluation(OpPassManager &manager,
                          const PipelineOptions &options) {
  manager.addPass(createPlanTraining({options.target}));
  manager.addPass(createLowerPrecision());
  manager.addPass(createEvaluate({options.predict}));
  addFolding(manager);
}

static void addPlan(OpPassManager &manager, const PipelineOptions &options) {
  if (!options.planFile.empty())
    manager.addPass(createLoadPlan({options.planFile}));
  else
    manager.addPass(createMakePlan(options.plan));
}

/// From a step that comes with gradients and update to one with a plan, too.
static void addStepPasses(OpPassManager &manager, PipelineOptions options) {
  if (options.hasDefaultOptimizer)
    options.plan.unset(PlanKey::Optimizer);
  addPlan(manager, options);
  manager.addPass(createVerifyGraph());
  manager.addPass(createDigestModel());
  addFolding(manager);
  manager.addPass(createVerifyGraph());
}

/// From a model's loss to the whole step, still for one device.
static void addGraphPasses(OpPassManager &manager,
                           const PipelineOptions &options, bool hasPlan) {
  // The model is the user's: report its errors before anything else touches it.
  manager.addPass(createVerifyGraph());

  // Names that plans may speak of, where the model has none.
  manager.addPass(createNameHeads());

  // Every decision is in the plan before the first pass that obeys one.
  if (options.givesPlan || !hasPlan)
    addPlan(manager, options);

  if (options.evaluates)
    addEvaluation(manager, options);
  else
    addTraining(manager, options.keepGradients);
  manager.addPass(createVerifyGraph());
}

/// The order of the work, which a plan may leave open.
static void addOrder(OpPassManager &manager, const std::string &target) {
  // Ops that share only a constant must not share a stage or a sharding because
  // of it.
  manager.addPass(createSplitConstants());

  // The order says how many stages there are, and where they lie.
  manager.addPass(createSchedule({target}));
}

/// The other choices that a plan may leave open.
static void addCutsAndSeeds(OpPassManager &manager) {
  // Stages first: the cut looks at whole layers, which a partitioned graph no
  // longer shows, and a cut value has one sharding on both sides.
  manager.addPass(createCutStages());

  // Few seeds on arguments.
  manager.addPass(createAnnotateShardings());
}

/// From global tensors with an order to one device's tensors and collectives.
static void addSpmdPasses(OpPassManager &manager) {
  addCutsAndSeeds(manager);

  // Then a fixed point. Every op has its sharding in the IR before the
  // partitioner runs, so that it decides nothing.
  manager.addPass(createPropagateShardings());

  // Ops that need a split dimension whole work in its shards: before padding,
  // which would make the dimension whole for them.
  manager.addPass(createSplitScans());

  // Only now is it known which dimensions are cut, and how finely; and the
  // partitioner may assume that everything divides.
  manager.addPass(createPadDimensions());

  // The last look at whole tensors and all their shardings; --pp-explain prints
  // the findings with the program.
  manager.addPass(createLintShardings());

  // Collectives where values change their layout, one by one; then those that
  // became superfluous are removed.
  manager.addPass(createPartition());
  manager.addPass(createOptimizeCollectives());
  manager.addPass(createCSEPass());
  manager.addPass(createVerifySpmd());
}

/// From the choice of what is kept to the end of level 3.
static void addRematerialization(OpPassManager &manager) {
  manager.addPass(createRematerialize());

  // Only now is it known which reductions run in one fragment.
  manager.addPass(createBucketCollectives());
  manager.addPass(createVerifyPipeline());
}

/// From a step with an order to fragments per stage.
static void addPipelinePasses(OpPassManager &manager,
                              const PipelineOptions &options) {
  // Fragments need local sizes and all collectives, hence after partitioning: a
  // value crosses a stage in its layout on the devices.
  manager.addPass(createSplitStages());

  // The residuals between fragments, local sizes and collectives are known now.
  // First the choice, then the work; kernels that are formed later read what
  // remains.
  manager.addPass(createChooseResiduals({options.target}));
  addRematerialization(manager);
}

/// From fragments to an instruction list per rank.
static void addProgramPasses(OpPassManager &manager,
                             const PipelineOptions &options) {
  // Kernels first: they decide which values exist in memory at all; then the
  // scratch memory for the others. From here on a program is for one target.
  manager.addPass(createFormKernels({options.target}));
  manager.addPass(createReserveScratch());

  // The order of kernel launches is known now, and so what can run beside them;
  // calls that are issued early keep values longer, which only the lists show.
  manager.addPass(createOverlapCollectives());

  // First the lists in order, with a slot for every value; then, since all
  // readers and their order are known, shared slots where that is invisible;
  // then places in memory: a slot's life is a range of its list. Places create
  // the waits between queues, so checks come last and see everything that will
  // run.
  manager.addPass(createLowerToPrograms());
  manager.addPass(createShareSlots());
  manager.addPass(createPlanBuffers());
  if (!options.skipProgramChecks)
    manager.addPass(createVerifyPrograms());
}

/// A module that comes from a file may have been edited, and says only of
/// itself that it is of this level.
static void addEntryCheck(OpPassManager &manager, Level level,
                          const PipelineOptions &options) {
  switch (level) {
  case Level::Graph:
    return manager.addPass(createVerifyGraph());
  case Level::Spmd:
    return manager.addPass(createVerifySpmd());
  case Level::Pipeline:
    return manager.addPass(createVerifyPipeline());
  case Level::Program:
    if (!options.skipProgramChecks)
      manager.addPass(createVerifyPrograms());
  }
}

void pp::buildPipeline(OpPassManager &manager, const PipelineOptions &options,
                       std::optional<Level> from, bool hasPlan) {
  if (from == Level::Graph && !hasPlan)
    addStepPasses(manager, options);
  else if (from)
    addEntryCheck(manager, *from, options);
  auto isNeeded = [&](Level level) {
    return level <= options.stopAfter && (!from || *from < level);
  };
  if (isNeeded(Level::Graph))
    addGraphPasses(manager, options, hasPlan);
  if (isNeeded(Level::Spmd)) {
    addOrder(manager, options.target);
    addSpmdPasses(manager);
  }
  if (isNeeded(Level::Pipeline)) {
    // A module that comes in at level 2 may have no order yet.
    manager.addPass(createSchedule({options.target}));
    addPipelinePasses(manager, options);
  }
  if (isNeeded(Level::Program))
    addProgramPasses(manager, options);
}

void pp::addPassesToSeeds(OpPassManager &manager, std::string target) {
  addTraining(manager, /*keepGradients=*/false);
  addOrder(manager, target);
  addCutsAndSeeds(manager);
}

LogicalResult pp::runOnCopy(ModuleOp copy,
                            function_ref<void(OpPassManager &)> addPasses) {
  PassManager passes(copy.getContext());
  passes.enableVerifier(false); // the module itself is verified later
  addPasses(passes);
  return passes.run(copy);
}

/// Of passes that only see what a choice needs.
static PipelineOptions getOptionsOfTrial(std::string target) {
  PipelineOptions options;
  options.target = std::move(target);
  options.skipProgramChecks = true;
  return options;
}

void pp::addPassesAfterSchedule(OpPassManager &manager, std::string target) {
  const PipelineOptions options = getOptionsOfTrial(std::move(target));
  addSpmdPasses(manager);
  addPipelinePasses(manager, options);
  addProgramPasses(manager, options);
}

void pp::addPassesAfterResiduals(OpPassManager &manager, std::string target) {
  addRematerialization(manager);
  addProgramPasses(manager, getOptionsOfTrial(std::move(target)));
}

std::optional<Level> pp::getLevel(ModuleOp module) {
  auto level = module->getAttrOfType<LevelAttr>(attrs::kLevel);
  return level ? std::optional(level.getValue()) : std::nullopt;
}

/// The pass that makes modules of a level from those of the one before.
static StringRef findMaker(Level level) {
  switch (level) {
  case Level::Graph:
    return "pp-add-optimizer";
  case Level::Spmd:
    return "pp-partition";
  case Level::Pipeline:
    return "pp-split-stages";
  case Level::Program:
    return "pp-lower-to-programs";
  }
  llvm_unreachable("every level is listed");
}

/// Whether a module that says no level is a model: of graph ops that no pass
/// has marked, between arguments and a loss.
static bool isModel(ModuleOp module) {
  auto main = module.lookupSymbol<func::FuncOp>("main");
  if (!main || main.isExternal() || main.getNumResults() == 0 ||
      getResultRole(main, 0) != Role::Loss)
    return false;
  for (unsigned index = 0; index < main.getNumArguments(); ++index)
    if (!getArgRole(main, index) || main.getArgAttr(index, attrs::kGlobalShape))
      return false;
  return llvm::all_of(main.getOps(), [](Operation &op) {
    return isa<func::ReturnOp>(op) ||
           (isGraphOp(&op) && !op.hasAttr(attrs::kKind) &&
            !op.hasAttr(attrs::kStages));
  });
}

LogicalResult pp::checkLevel(ModuleOp module, StringRef pass, Level level) {
  std::optional<Level> given = getLevel(module);
  if (!given && isModel(module))
    given = Level::Graph;
  if (!given || *given == level)
    return success();
  InFlightDiagnostic error = module.emitError(pass)
                             << " expects a module of level "
                             << stringifyLevel(level) << ", got one of level "
                             << stringifyLevel(*given);
  if (*given < level)
    error << ": " << findMaker(level) << " and the passes before it come first";
  else
    error << ": no pass leads back";
  return error;
}

namespace {

/// The passes depend on the module's level, which is only known when it is
/// there: the list is built, and run, then.
struct ParallelizePass : PassWrapper<ParallelizePass, OperationPass<ModuleOp>> {
  MLIR_DEFINE_EXPLICIT_INTERNAL_INLINE_TYPE_ID(ParallelizePass)

  explicit ParallelizePass(const PipelineOptions &options) : options(options) {}

  StringRef getName() const override { return kParallelize; }

  void getDependentDialects(DialectRegistry &registry) const override {
    OpPassManager all(ModuleOp::getOperationName());
    buildPipeline(all, options, /*from=*/std::nullopt);
    all.getDependentDialects(registry);
  }

  void runOnOperation() override {
    std::optional<Level> level = getLevel(getOperation());
    if (level && failed(options.evaluates ? refuseToEvaluate(*level)
                                          : checkGoesOn(*level)))
      return signalPassFailure();
    options.stopAfter =
        std::min(options.stopAfter,
                 std::max(options.leavesAfter, level.value_or(Level::Graph)));
    OpPassManager remaining(ModuleOp::getOperationName());
    buildPipeline(remaining, options, level,
                  getOperation()->hasAttr(attrs::kPlan));
    if (failed(runPipeline(remaining, getOperation())))
      signalPassFailure();
  }

  /// A module of `level` has its plan, and no pass leads back.
  LogicalResult checkGoesOn(Level level) {
    if (isStepWithoutPlan(getOperation()))
      return success();
    if (!options.givesPlan && options.stopAfter >= level)
      return success();
    InFlightDiagnostic diagnostic = getOperation().emitError("pp-parallelize ");
    if (options.givesPlan)
      diagnostic << "expects no key but stop-after for a module that has a "
                    "plan, as one of level "
                 << stringifyLevel(level)
                 << " does; to change it, write it with --emit=plan, edit it, "
                    "and give plan=FILE to the model";
    else
      diagnostic << "expects stop-after=" << stringifyLevel(level)
                 << " or a later level for a module of that level, got "
                 << stringifyLevel(options.stopAfter);
    setExitCode(diagnostic, kUsage);
    return diagnostic;
  }

  LogicalResult refuseToEvaluate(Level level) {
    InFlightDiagnostic diagnostic =
        getOperation().emitError("expects a model to evaluate, got a module of "
                                 "level ")
        << stringifyLevel(level);
    setExitCode(diagnostic, kUsage);
    return diagnostic;
  }

  static constexpr int kUsage = 2;
  PipelineOptions options;
};

} // namespace

void pp::registerPipelines(std::function<void(PipelineOptions &)> adjust) {
  registerPassPipeline(
      kParallelize,
      "every pass from the module's level to programs, as the text says",
      [adjust](OpPassManager &manager, StringRef text,
               function_ref<LogicalResult(const Twine &)> emitError) {
        PipelineOptions options;
        std::string error;
        if (failed(parseParallelize(text, options, error)))
          return emitError("pp-parallelize: " + error);
        if (adjust)
          adjust(options);
        manager.addPass(std::make_unique<ParallelizePass>(options));
        return success();
      },
      [](function_ref<void(const mlir::detail::PassOptions &)>) {});
}
