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
#include "pp/Target/Artifact.h"
#include "pp/Target/KernelCompiler.h"
#include "pp/Transforms/Pipelines.h"
#include "pprt/Artifact.h"
#include "pprt/Processor.h"

using namespace mlir;

LogicalResult pp::opt::emitArtifact(StringRef bytecode, const std::string &path,
                                    uint64_t cacheLimit,
                                    const DialectRegistry &registry) {
  MLIRContext context(registry);
  context.printOpOnDiagnostic(false);
  OwningOpRef<ModuleOp> module =
      parseSourceString<ModuleOp>(bytecode, &context);
  if (!module)
    return failure();
  if (pp::getLevel(*module) != pp::Level::Program)
    return pp::report(*module,
                      {pprt::ExitCode::usage,
                       "--emit=ppx expects a module of level program, as "
                       "--pp-parallelize makes"});

  auto artifact = pp::buildCheckedArtifact(*module);
  if (failed(artifact))
    return failure();
  pp::CompileOptions compileOptions;
  compileOptions.cacheLimit = cacheLimit;
  auto kernels = pp::CompiledKernels::compile(*module, compileOptions);
  if (failed(kernels))
    return failure();
  auto object = kernels->linkSharedObject();
  if (failed(object))
    return failure();
  (*artifact)->object = std::move(*object);
  (*artifact)->processor = pprt::processorLevel();
  return pp::report(*module, pprt::saveArtifact(**artifact, path));
}
