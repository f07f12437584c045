//===- EmitArtifact.cpp - pp-opt --emit=ppx -------------------------------===//
//
// SPDX-License-Identifier: Apache-2.0
//
// In: the module after the passes, as MlirOptMain writes it. Out: a .ppx file
// that passed every check, since it cannot be repaired afterwards.
//
//===----------------------------------------------------------------------===//
#include "Decisions.h"
#include "mlir/IR/Diagnostics.h"
#include "mlir/Parser/Parser.h"
#include "mlir/Pass/PassManager.h"
#include "pp/Analysis/ModuleTarget.h"
#include "pp/IR/Model.h"
#include "pp/IR/PlanKeys.h"
#include "pp/Target/Artifact.h"
#include "pp/Target/KernelCompiler.h"
#include "pp/Transforms/Pipelines.h"
#include "pprt/Artifact.h"
#include "pprt/Bytes.h"

using namespace mlir;
using Image = std::unique_ptr<pprt::ppx::ArtifactT>;

namespace {
/// An image and the module of level 4 that it is of, whose kernels are still to
/// be compiled.
struct Source {
  OwningOpRef<ModuleOp> module;
  Image image;
};
} // namespace

static FailureOr<Source> buildImage(OwningOpRef<ModuleOp> module) {
  auto artifact = pp::buildCheckedArtifact(*module);
  if (failed(artifact))
    return failure();
  (*artifact)->processor = pp::getTarget(*module)->processor();
  // They take most of the memory of a large model.
  for (auto program :
       llvm::make_early_inc_range(module->getOps<pp::ProgramOp>()))
    program.erase();
  return Source{std::move(module), std::move(*artifact)};
}

/// Gives images their code.
static LogicalResult compileKernels(MutableArrayRef<Source> sources,
                                    uint64_t cacheLimit) {
  std::vector<pp::KernelSet> sets;
  for (Source &source : sources)
    sets.push_back({pp::getLoopsKernels(*source.module),
                    source.image->processor,
                    pp::getTarget(*source.module)->code()});
  pp::CompileOptions options;
  options.cacheLimit = cacheLimit;
  auto kernels = pp::CompiledKernels::compileAll(sets, options);
  if (failed(kernels))
    return failure();
  for (auto [source, compiled] : llvm::zip_equal(sources, *kernels)) {
    auto object = compiled.link();
    if (failed(object))
      return failure();
    source.image->object = std::move(*object);
  }
  return success();
}

/// Makes programs of a copy.
static FailureOr<OwningOpRef<ModuleOp>>
makePrograms(ModuleOp module, const std::string &target) {
  OwningOpRef<ModuleOp> copy = module.clone();
  pp::PipelineOptions options;
  options.target = target;
  PassManager manager(module.getContext());
  manager.enableVerifier(false); // the last pass verifies the level
  pp::buildPipeline(manager, options, pp::Level::Pipeline);
  if (failed(manager.run(*copy)))
    return failure();
  return copy;
}

/// What remat=auto keeps was chosen for the first of several targets.
static LogicalResult checkMemoryLimit(ModuleOp programs,
                                      const std::string &target) {
  auto plan = programs->getAttrOfType<pp::PlanAttr>(pp::attrs::kPlan);
  if (!plan || plan.getWord(pp::PlanKey::Remat) != "auto")
    return success();
  const uint64_t limit =
      *pprt::parseBytes(plan.getWord(pp::PlanKey::MemoryLimit).str());
  for (auto program : programs.getOps<pp::ProgramOp>())
    if (program.getArenaBytes() > limit)
      return pp::report(
          programs,
          {pprt::ExitCode::outOfMemory,
           "remat=auto expects " + pprt::printLimit(limit) +
               " of a rank for all of --targets, got " +
               pprt::printLimit(program.getArenaBytes()) + " for " + target +
               ", because it chooses for the first of them; make an artifact "
               "for each"});
  return success();
}

/// The error in the level of a module; empty if it is right.
static std::string checkLevel(ModuleOp module, bool hasTargets) {
  std::optional<pp::Level> level = pp::getLevel(module);
  if (hasTargets && level == pp::Level::Program) {
    auto target = module->getAttrOfType<StringAttr>(pp::attrs::kTarget);
    return "--targets expects a module of level pipeline or before, got "
           "programs for " +
           (target ? target.str() : "cpu");
  }
  if (level != (hasTargets ? pp::Level::Pipeline : pp::Level::Program))
    return "--emit=ppx expects a module of level program, as "
           "--pp-parallelize makes";
  return "";
}

OwningOpRef<ModuleOp> pp::opt::readBack(StringRef bytecode,
                                        MLIRContext &context) {
  context.printOpOnDiagnostic(false);
  return parseSourceString<ModuleOp>(bytecode, &context);
}

LogicalResult pp::opt::emitArtifact(StringRef bytecode, const std::string &path,
                                    const std::vector<std::string> &targets,
                                    uint64_t cacheLimit,
                                    const DialectRegistry &registry) {
  MLIRContext context(registry);
  OwningOpRef<ModuleOp> module = readBack(bytecode, context);
  if (!module)
    return failure();
  if (std::string wrong = checkLevel(*module, !targets.empty()); !wrong.empty())
    return pp::report(*module, {pprt::ExitCode::usage, wrong});

  std::vector<Source> sources;
  auto add = [&](OwningOpRef<ModuleOp> programs) -> LogicalResult {
    FailureOr<Source> source = buildImage(std::move(programs));
    if (failed(source))
      return failure();
    sources.push_back(std::move(*source));
    return success();
  };
  for (const std::string &target : targets)
    if (auto programs = makePrograms(*module, target);
        failed(programs) || failed(checkMemoryLimit(**programs, target)) ||
        failed(add(std::move(*programs))))
      return failure();
  if (targets.empty() && failed(add(std::move(module))))
    return failure();
  if (failed(compileKernels(sources, cacheLimit)))
    return failure();
  std::vector<const pprt::ppx::ArtifactT *> all;
  for (const Source &source : sources)
    all.push_back(source.image.get());
  return pp::report(*sources.front().module, pprt::saveArtifacts(all, path));
}
