//===- EmitArtifact.cpp - pp-opt --emit=ppx -------------------------------===//
//
// SPDX-License-Identifier: Apache-2.0
//
// In: what the passes left, as MlirOptMain writes it. Out: a .ppx file that
// passed every check, since nobody can repair it afterwards.
//
//===----------------------------------------------------------------------===//
#include "EmitArtifact.h"
#include "mlir/IR/Diagnostics.h"
#include "mlir/Parser/Parser.h"
#include "mlir/Pass/PassManager.h"
#include "pp/Analysis/Target.h"
#include "pp/IR/Model.h"
#include "pp/Target/Artifact.h"
#include "pp/Target/KernelCompiler.h"
#include "pp/Transforms/Pipelines.h"
#include "pprt/Artifact.h"

using namespace mlir;
using Image = std::unique_ptr<pprt::ppx::ArtifactT>;

/// An image of a module of level 4.
static FailureOr<Image> buildImage(ModuleOp module, uint64_t cacheLimit) {
  auto artifact = pp::buildCheckedArtifact(module);
  if (failed(artifact))
    return failure();
  pp::CompileOptions options;
  options.cacheLimit = cacheLimit;
  options.processor = pp::getTarget(module)->processor();
  options.code = pp::getTarget(module)->code();
  auto kernels = pp::CompiledKernels::compile(module, options);
  if (failed(kernels))
    return failure();
  auto object = kernels->link();
  if (failed(object))
    return failure();
  (*artifact)->object = std::move(*object);
  (*artifact)->processor = options.processor;
  return artifact;
}

/// Makes programs of a copy.
static FailureOr<Image> buildImage(ModuleOp module, const std::string &target,
                                   uint64_t cacheLimit) {
  OwningOpRef<ModuleOp> copy = module.clone();
  pp::PipelineOptions options;
  options.target = target;
  PassManager manager(module.getContext());
  manager.enableVerifier(false); // the last pass verifies the level
  pp::buildPipeline(manager, options, pp::Level::Pipeline);
  if (failed(manager.run(*copy)))
    return failure();
  return buildImage(*copy, cacheLimit);
}

/// What is wrong with the level of a module; nothing for one that is right.
static std::string checkLevel(ModuleOp module, bool hasTargets) {
  std::optional<pp::Level> level = pp::getLevel(module);
  if (hasTargets && level == pp::Level::Program) {
    auto target = module->getAttrOfType<StringAttr>(pp::attrs::kTarget);
    return "--targets expects a module whose kernels are still to be formed, "
           "of level pipeline or before it, got programs for " +
           (target ? target.str() : "cpu");
  }
  if (level != (hasTargets ? pp::Level::Pipeline : pp::Level::Program))
    return "--emit=ppx expects a module of level program, as "
           "--pp-parallelize makes";
  return "";
}

LogicalResult pp::opt::emitArtifact(StringRef bytecode, const std::string &path,
                                    const std::vector<std::string> &targets,
                                    uint64_t cacheLimit,
                                    const DialectRegistry &registry) {
  MLIRContext context(registry);
  context.printOpOnDiagnostic(false);
  OwningOpRef<ModuleOp> module =
      parseSourceString<ModuleOp>(bytecode, &context);
  if (!module)
    return failure();
  if (std::string wrong = checkLevel(*module, !targets.empty()); !wrong.empty())
    return pp::report(*module, {pprt::ExitCode::usage, wrong});

  std::vector<Image> images;
  for (const std::string &target : targets) {
    FailureOr<Image> image = buildImage(*module, target, cacheLimit);
    if (failed(image))
      return failure();
    images.push_back(std::move(*image));
  }
  if (targets.empty()) {
    FailureOr<Image> image = buildImage(*module, cacheLimit);
    if (failed(image))
      return failure();
    images.push_back(std::move(*image));
  }
  std::vector<const pprt::ppx::ArtifactT *> all;
  for (const Image &image : images)
    all.push_back(image.get());
  return pp::report(*module, pprt::saveArtifacts(all, path));
}
