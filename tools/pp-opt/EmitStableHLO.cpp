//===- EmitStableHLO.cpp - pp-opt --emit=stablehlo ------------------------===//
//
// SPDX-License-Identifier: Apache-2.0
//
// In: the module after the passes, as MlirOptMain writes it. Out: files of
// StableHLO and their description, each whole or not at all.
//
//===----------------------------------------------------------------------===//
#include "Decisions.h"
#include "mlir/Pass/PassManager.h"
#include "pp/Export/StableHLO.h"
#include "pp/IR/Diagnostics.h"
#include "pp/IR/Model.h"
#include "pp/Target/Artifact.h"
#include "pp/Transforms/Passes.h"
#include "pp/Transforms/Pipelines.h"
#include "pprt/Files.h"
#include "pprt/Status.h"
#include "llvm/Support/FileSystem.h"

using namespace mlir;

static LogicalResult refuse(ModuleOp module, const Twine &message) {
  InFlightDiagnostic diagnostic = module.emitError(message);
  pp::setExitCode(diagnostic, int(pprt::ExitCode::usage));
  return diagnostic;
}

/// Checks the module, which may have been edited. Stages are programs of their
/// own, so a step with stages is split into them.
static LogicalResult prepare(ModuleOp module, std::optional<pp::Level> level) {
  PassManager manager(module.getContext());
  manager.enableVerifier(false); // the last pass verifies the level
  if (!level) {
    manager.addPass(pp::createVerifyGraph());
    return manager.run(module);
  }
  pp::MeshOp mesh = pp::lookupMesh(module);
  const bool hasStages = mesh && mesh.getMesh().getStageAxis();
  pp::PipelineOptions options;
  options.stopAfter =
      level == pp::Level::Spmd && hasStages ? pp::Level::Pipeline : *level;
  pp::buildPipeline(manager, options, level, module->hasAttr(pp::attrs::kPlan));
  return manager.run(module);
}

/// The description, which is last, is there only beside what it describes.
static LogicalResult writeAll(ModuleOp module,
                              ArrayRef<pp::ExportedFile> files) {
  (void)llvm::sys::fs::remove(files.back().path);
  for (auto [index, file] : llvm::enumerate(files))
    if (failed(pp::report(module, pprt::writeFile(file.path, file.text.data(),
                                                  file.text.size())))) {
      for (const pp::ExportedFile &written : files.take_front(index))
        (void)llvm::sys::fs::remove(written.path);
      return failure();
    }
  return success();
}

LogicalResult pp::opt::emitStableHLO(StringRef bytecode,
                                     const std::string &input,
                                     const std::string &path,
                                     const DialectRegistry &registry) {
  MLIRContext context(registry);
  OwningOpRef<ModuleOp> module = readBack(bytecode, context);
  if (!module)
    return failure();
  if (llvm::sys::fs::exists(path) && !llvm::sys::fs::is_regular_file(path))
    return refuse(*module, "-o expects a file, beside which others go, got '" +
                               path + "', which is none");
  const std::optional<pp::Level> level = pp::getLevel(*module);
  if (level == pp::Level::Program)
    return refuse(*module,
                  "--emit=stablehlo expects a module of level spmd or before, "
                  "got one of level program: no pass leads back");
  if (failed(prepare(*module, level)))
    return failure();
  auto files = pp::exportStableHLO(*module, path);
  if (failed(files))
    return failure();
  for (const pp::ExportedFile &file : *files)
    if (pprt::isSameFile(input, file.path))
      return refuse(*module, "-o expects other files, got '" + file.path +
                                 "', which is the module");
  return writeAll(*module, *files);
}
