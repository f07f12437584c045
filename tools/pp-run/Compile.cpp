//===- Compile.cpp - from a module to an artifact in memory ---------------===//
//
// SPDX-License-Identifier: Apache-2.0
//
// With the other files that NoCompiler.cpp stands for the only one of pp-run
// that knows MLIR. In: the text of a module and the text of --parallelize. Out:
// an artifact whose kernels are machine code in this process, or the
// diagnostics that say why there is none.
//
//===----------------------------------------------------------------------===//
#include "../OtherInput.h"
#include "SourceState.h"
#include "mlir/AsmParser/AsmParser.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/IR/Diagnostics.h"
#include "mlir/Parser/Parser.h"
#include "mlir/Pass/PassManager.h"
#include "pp/Analysis/Contraction.h"
#include "pp/Analysis/ElementTypes.h"
#include "pp/Analysis/ModuleTarget.h"
#include "pp/Explain/MemoryFit.h"
#include "pp/IR/Aspects.h"
#include "pp/IR/Diagnostics.h"
#include "pp/IR/Model.h"
#include "pp/IR/PP.h"
#include "pp/Target/Artifact.h"
#include "pp/Target/KernelCompiler.h"
#include "pp/Transforms/Pipelines.h"
#include "pp/Transforms/Shard/DivideAxes.h"
#include "pprt/Processor.h"
#include "pprt/Session.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/SourceMgr.h"
#include "llvm/Support/raw_ostream.h"

#include <chrono>
#include <cmath>

using namespace pp::run;
using pprt::ExitCode;
using pprt::Expected;
using pprt::Status;

namespace {

class Stopwatch {
public:
  double ms() const {
    return std::chrono::duration<double, std::milli>(Clock::now() - begin)
        .count();
  }

private:
  using Clock = std::chrono::steady_clock;
  Clock::time_point begin = Clock::now();
};

} // namespace

Expected<pp::PipelineOptions> pp::run::readOptions(const std::string &text) {
  pp::PipelineOptions options;
  std::string error;
  if (mlir::failed(pp::parseParallelize(text, options, error)))
    return Status(ExitCode::usage, "--parallelize: " + error);
  if (options.stopAfter != pp::Level::Program)
    return Status(ExitCode::usage,
                  "--parallelize: 'stop-after' expects program, which pp-run "
                  "runs, got '" +
                      pp::stringifyLevel(options.stopAfter).str() + "'");
  options.skipProgramChecks = true; // checkArtifact follows, with exit codes
  if (!options.plan.isSet(pp::PlanKey::Threads)) {
    const int64_t cores = pprt::coreCount();
    options.plan.set(pp::PlanKey::Threads,
                     std::max<int64_t>(1, cores / options.plan.getRanks()));
  }
  return options;
}

/// Whether `text`, which means something, says how many.
static bool namesThreads(const std::string &text) {
  pp::PipelineOptions options;
  std::string error;
  return mlir::succeeded(pp::parseParallelize(text, options, error)) &&
         options.plan.isSet(pp::PlanKey::Threads);
}

SourceModule::SourceModule(std::unique_ptr<State> state)
    : state(std::move(state)) {}
SourceModule::~SourceModule() = default;

bool pp::run::hasCompiler() { return true; }

bool pp::run::isPlanKey(const std::string &name) {
  return pp::lookupPlanKey(name) != nullptr;
}

Expected<std::unique_ptr<SourceModule>>
SourceModule::parse(const std::string &name, const std::string &text,
                    uint64_t cacheLimit, const std::string &target) {
  if (!target.empty() && !pprt::findTarget(target))
    return Status(ExitCode::usage, "--target expects one of " +
                                       llvm::join(pprt::targetNames(), ", ") +
                                       ", got '" + target + "'" +
                                       pprt::adviseTarget(target));
  if (const std::string other = findOtherInput(text); !other.empty())
    return Status(ExitCode::doesNotCompile, name + ": error: " + other);
  if (isStableHLO(text))
    return Status(ExitCode::doesNotCompile,
                  name +
                      ": error: expects a module of pp, got StableHLO; "
                      "pp-opt " +
                      name +
                      " --inputs=NAME,... --labels=NAME,... -o MODEL.mlir "
                      "makes one of it");
  auto state = std::make_unique<State>();
  state->kernels.cacheLimit = cacheLimit;
  state->target = target;
  state->sources.AddNewSourceBuffer(
      llvm::MemoryBuffer::getMemBufferCopy(text, name), llvm::SMLoc());
  Diagnostics diagnostics(state->sources, state->context);
  state->module =
      mlir::parseSourceFile<mlir::ModuleOp>(state->sources, &state->context);
  if (!state->module)
    return diagnostics.failure();
  return std::unique_ptr<SourceModule>(new SourceModule(std::move(state)));
}

Expected<std::string> SourceModule::planFileOf(const std::string &parallelize) {
  Expected<pp::PipelineOptions> options = readOptions(parallelize);
  if (!options)
    return options.status();
  return options->planFile;
}

Expected<mlir::OwningOpRef<mlir::ModuleOp>>
SourceModule::State::runPasses(mlir::OwningOpRef<mlir::ModuleOp> module,
                               const pp::PipelineOptions &options) {
  Diagnostics diagnostics(sources, context);
  mlir::PassManager manager(&context);
  manager.enableVerifier(false); // each level ends with its own verify pass
  pp::buildPipeline(manager, options, pp::getLevel(*module),
                    module.get()->hasAttr(pp::attrs::kPlan));
  if (mlir::failed(manager.run(*module)))
    return diagnostics.failure();
  return module;
}

Expected<mlir::OwningOpRef<mlir::ModuleOp>>
SourceModule::State::transform(const pp::PipelineOptions &options) {
  return runPasses(module->clone(), options);
}

/// Removes the mesh, and everything that refers to it, from a level 1 module
/// and its plan. One device gets the threads of all.
static void moveToOneDevice(mlir::ModuleOp module) {
  module.walk(pp::dropShardings);
  auto plan = module->getAttrOfType<pp::PlanAttr>(pp::attrs::kPlan);
  auto mesh = pp::MeshAttr::get(module.getContext(), {});
  const int64_t threads =
      std::min(plan.getThreads() * plan.getMesh().getNumDevices(),
               pp::getInfo(pp::PlanKey::Threads).most);
  module->setAttr(pp::attrs::kPlan, pp::PlanAttr::get(module.getContext(), mesh)
                                        .withOptimizer(plan.getOptimizer())
                                        .withSetting(pp::PlanKey::Threads,
                                                     std::to_string(threads)));
  if (pp::MeshOp op = pp::lookupMesh(module))
    op.setMeshAttr(mesh);
}

/// Programs are for one target, which may not be said.
static Status checkTarget(mlir::ModuleOp module, const std::string &target) {
  if (target.empty() || pp::getLevel(module) != pp::Level::Program)
    return {};
  auto own = module->getAttrOfType<mlir::StringAttr>(pp::attrs::kTarget);
  if (!own)
    module->setAttr(pp::attrs::kTarget,
                    mlir::StringAttr::get(module.getContext(), target));
  else if (pprt::findTarget(own.str()) != pprt::findTarget(target))
    return Status(ExitCode::usage,
                  "--target expects " + own.str() +
                      ", the target of the module's programs, got " + target);
  return {};
}

Expected<Compiled> SourceModule::compile(const std::string &parallelize,
                                         Variant variant, Kernels kernels) {
  if (!takesPlan() && !parallelize.empty())
    return Status(ExitCode::usage,
                  "--parallelize expects a model, got a module that has a "
                  "plan; to change the plan, write it with pp-opt --emit=plan, "
                  "edit it, and pass --parallelize=plan=FILE for the model");
  Expected<pp::PipelineOptions> options = readOptions(parallelize);
  if (!options)
    return options.status();
  if (Status status = checkTarget(*state->module, state->target); !status.ok())
    return status;
  const bool isForOneDevice =
      variant == Variant::oneDevice || variant == Variant::oneDeviceInF64;
  // One device is this machine's processor: it judges.
  const pprt::Target *asked = pprt::findTarget(state->target);
  const bool isForHost = !asked || asked->code() == pprt::Code::sharedObject;
  if (!isForHost && namesThreads(parallelize))
    return Status(
        ExitCode::usage,
        "--parallelize: 'threads' is for processors; leave it out for GPUs");
  if (isForHost || !isForOneDevice)
    options->target = state->target;
  options->keepGradients = variant == Variant::withGradients || isForOneDevice;
  if (isForOneDevice)
    options->stopAfter = pp::Level::Graph;
  Stopwatch passes;
  Expected<mlir::OwningOpRef<mlir::ModuleOp>> module =
      state->transform(*options);
  if (module && isForOneDevice) {
    moveToOneDevice(**module);
    if (variant == Variant::oneDeviceInF64)
      widenToF64(**module);
    options->stopAfter = pp::Level::Program;
    module = state->runPasses(std::move(*module), *options);
  }
  if (!module)
    return module.status();
  return state->finish(**module, kernels, passes.ms());
}

Expected<mlir::OwningOpRef<mlir::ModuleOp>>
SourceModule::State::makeEvaluation(const Evaluation &evaluation,
                                    pp::Level level) {
  Expected<pp::PipelineOptions> options = readOptions(evaluation.parallelize);
  if (!options)
    return options.status();
  options->evaluates = true;
  options->predict = evaluation.predict;
  options->stopAfter = level;
  options->target = target;
  mlir::OwningOpRef<mlir::ModuleOp> copy = module->clone();
  if (!evaluation.plan.empty()) {
    Diagnostics diagnostics(sources, context);
    auto plan = llvm::dyn_cast_or_null<pp::PlanAttr>(
        mlir::parseAttribute(evaluation.plan, &context));
    if (!plan)
      return diagnostics.failure();
    pp::attachPlan(*copy, plan);
    pp::setPlan(*copy, plan);
    options->givesPlan = false;
    options->planFile.clear();
  }
  return runPasses(std::move(copy), *options);
}

Expected<Compiled> SourceModule::compileEvaluation(const Evaluation &evaluation,
                                                   Kernels kernels) {
  Stopwatch passes;
  Expected<mlir::OwningOpRef<mlir::ModuleOp>> module =
      state->makeEvaluation(evaluation, pp::Level::Program);
  if (!module)
    return module.status();
  return state->finish(**module, kernels, passes.ms());
}

Expected<Compiled> SourceModule::State::finish(mlir::ModuleOp module,
                                               Kernels kernels,
                                               double passesMs) {
  Diagnostics diagnostics(sources, context);
  mlir::FailureOr<std::unique_ptr<pprt::ppx::ArtifactT>> artifact =
      pp::buildArtifact(module);
  if (mlir::failed(artifact))
    return diagnostics.failure();
  Compiled result;
  const std::shared_ptr<pprt::ppx::ArtifactT> built = std::move(*artifact);
  result.artifact = built;
  result.passesMs = passesMs;
  if (kernels == Kernels::none)
    return result;

  const pprt::Target &target = *pp::getTarget(module);
  const bool isHosts = target.code() == pprt::Code::sharedObject;
  if (isHosts && !pprt::hasProcessorLevel(target.processor()))
    return Status(ExitCode::device,
                  "expects a target that this machine can run, which has " +
                      pprt::processorLevel() + ", got " + target.name());
  this->kernels.processor = target.processor();
  this->kernels.code = target.code();
  Stopwatch stopwatch;
  auto compiled = pp::CompiledKernels::compile(module, this->kernels);
  if (mlir::failed(compiled))
    return diagnostics.failure();
  if (kernels == Kernels::linked || !isHosts) {
    auto object = compiled->link();
    if (mlir::failed(object))
      return diagnostics.failure();
    built->object = std::move(*object);
    built->processor = target.processor();
  } else {
    if (mlir::failed(compiled->load()))
      return diagnostics.failure();
    auto code = std::make_shared<pp::CompiledKernels>(std::move(*compiled));
    result.resolver = [code](const std::string &symbol) {
      return reinterpret_cast<void *>(code->lookup(symbol));
    };
  }
  result.kernelsMs = stopwatch.ms();
  result.warnings = diagnostics.all();
  return result;
}

Status SourceModule::State::checkHasKeys(const std::string &keys) {
  Expected<pp::PipelineOptions> options = readOptions(keys);
  if (!options)
    return options.status();
  const std::string expected = "--fit expects keys that it may change, got ";
  if (!options->planFile.empty())
    return Status(ExitCode::usage, expected + "plan=" + options->planFile +
                                       ": give keys instead, or edit the plan");
  if (pp::getLevel(*module) || module.get()->hasAttr(pp::attrs::kPlan))
    return Status(ExitCode::usage,
                  expected + "a module with a plan of its own: give the model "
                             "without it, and keys");
  return {};
}

Status SourceModule::checkHasKeys(const std::string &parallelize) const {
  return state->checkHasKeys(parallelize);
}

/// Null if no keys can be changed. Keeps what was tried for the next call.
pp::MemoryFit *
SourceModule::State::tryKeys(const std::string &keys, uint64_t limit,
                             const MeasureBeside &measureBeside) {
  if (fit && fitOf == std::pair(keys, limit))
    return fit.get();
  if (!checkHasKeys(keys).ok())
    return nullptr;
  fitOf = {keys, limit};
  fit = std::make_unique<pp::MemoryFit>(
      *module, keys, limit,
      [this](const std::string &changed) {
        pp::PipelineOptions options = *readOptions(changed); // was checked
        options.target = target;
        return options;
      },
      measureBeside);
  return fit.get();
}

static PlanTrial describe(pp::KeyTrial trial) {
  PlanTrial result;
  result.change = std::move(trial.change);
  result.keys = std::move(trial.keys);
  result.refusal = std::move(trial.refusal);
  if (trial.outcome) {
    result.bytes = trial.outcome->bytes;
    result.seconds = trial.outcome->seconds;
    result.devices = trial.outcome->devices;
  }
  return result;
}

std::vector<PlanTrial>
SourceModule::trySmallerPlans(const std::string &parallelize, uint64_t limit,
                              const MeasureBeside &measureBeside) {
  std::vector<PlanTrial> trials;
  pp::MemoryFit *fit = state->tryKeys(parallelize, limit, measureBeside);
  if (!fit)
    return trials;
  for (pp::KeyTrial &trial : fit->tryAlone())
    trials.push_back(describe(std::move(trial)));
  auto found = findPlanThatFits(parallelize, limit, measureBeside);
  if (found && llvm::none_of(trials, [&](const PlanTrial &trial) {
        return trial.keys == found->keys;
      }))
    trials.push_back(std::move(*found));
  return trials;
}

std::optional<PlanTrial>
SourceModule::findPlanThatFits(const std::string &parallelize, uint64_t limit,
                               const MeasureBeside &measureBeside) {
  pp::MemoryFit *fit = state->tryKeys(parallelize, limit, measureBeside);
  std::optional<pp::KeyTrial> found =
      fit ? fit->find() : std::optional<pp::KeyTrial>();
  return found ? std::optional(describe(std::move(*found))) : std::nullopt;
}

bool SourceModule::isModel() const { return !pp::getLevel(*state->module); }

bool SourceModule::takesPlan() const {
  return isModel() || pp::isStepWithoutPlan(*state->module);
}

bool SourceModule::isUnpartitioned() const {
  return isModel() || pp::getLevel(*state->module) == pp::Level::Graph;
}

Status SourceModule::adoptPlan(const std::string &text) {
  Diagnostics diagnostics(state->sources, state->context);
  auto plan = llvm::dyn_cast_or_null<pp::PlanAttr>(
      mlir::parseAttribute(text, &state->context));
  if (!plan)
    return Status(ExitCode::badArtifact,
                  "expects a program with its plan, got '" + text + "'");
  mlir::ModuleOp module = *state->module;
  module->setAttr(pp::attrs::kPlan, plan);
  // A program that was edited may be on another mesh.
  module.walk(pp::dropShardings);
  if (pp::MeshOp old = pp::lookupMesh(module))
    old->erase();
  mlir::OpBuilder builder = mlir::OpBuilder::atBlockBegin(module.getBody());
  pp::MeshOp::create(builder, module.getLoc(), "mesh", plan.getMesh());
  return {};
}
