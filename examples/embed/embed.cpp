//===- embed.cpp - a compiler that embeds pp ------------------------------===//
//
// SPDX-License-Identifier: Apache-2.0
//
// From a graph to training steps in one process: an example. MLIR prints what
// is wrong with a module; the runtime returns it.
//
//===----------------------------------------------------------------------===//
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Pass/PassManager.h"
#include "pp/IR/Aspects.h"
#include "pp/IR/PP.h"
#include "pp/Models/Models.h"
#include "pp/Target/Artifact.h"
#include "pp/Target/KernelCompiler.h"
#include "pp/Transforms/Pipelines.h"
#include "pprt/Checks.h"
#include "pprt/Session.h"
#include <cmath>
#include <cstdio>

static int fail(const std::string &message) {
  std::fprintf(stderr, "embed: error: %s\n", message.c_str());
  return 1;
}

int main() {
  // The ops, and the answers that passes ask of them.
  mlir::DialectRegistry registry;
  pp::registerForCompilation(registry);
  mlir::MLIRContext context(registry);
  context.loadAllAvailableDialects();

  // A model. This one comes from lib/Models; another compiler builds its own
  // @main with MLIR's OpBuilder, as those do.
  pp::MlpConfig config;
  auto module = pp::buildMlp(context, config, mlir::Float32Type::get(&context));
  if (!module)
    return 1;

  // All passes, obeying the keys of pp-opt --pp-parallelize.
  pp::PipelineOptions options;
  std::string error;
  if (failed(pp::parseParallelize("dp=2 tp=2 microbatches=2 optimizer=sgd "
                                  "lr=0.5",
                                  options, error)))
    return fail(error);
  mlir::PassManager passes(&context);
  pp::buildPipeline(passes, options, pp::getLevel(*module));
  if (failed(passes.run(*module)))
    return 1;

  // The programs of all ranks, and machine code for this process. To a file:
  // see tools/pp-opt/EmitArtifact.cpp.
  auto built = pp::buildArtifact(*module);
  auto kernels = pp::CompiledKernels::compile(*module);
  if (failed(built) || failed(kernels) || failed(kernels->load()))
    return 1;
  std::shared_ptr<const pprt::ppx::ArtifactT> artifact = std::move(*built);
  if (pprt::CheckResult checks = pprt::checkArtifact(*artifact); !checks.ok())
    return fail(checks.status().message());

  // A session runs them, a thread per rank.
  pprt::SessionOptions how;
  how.resolver = [&](const std::string &symbol) {
    return reinterpret_cast<void *>(kernels->lookup(symbol));
  };
  auto session = pprt::Session::create(artifact, how);
  if (!session)
    return fail(session.status().message());

  // Whole tensors go in and come out, however they are split.
  std::vector<float> x(config.batch * config.input);
  std::vector<int32_t> labels(config.batch);
  for (size_t i = 0; i < x.size(); ++i)
    x[i] = std::sin(float(i));
  for (size_t i = 0; i < labels.size(); ++i)
    labels[i] = int32_t(i % config.classes);
  auto give = [&](const char *name, const auto &values) {
    return (*session)->setInput(*(*session)->findArgument(name), values.data(),
                                values.size() * sizeof(values[0]));
  };
  for (const pprt::Status &status :
       {(*session)->initialize(/*seed=*/0), give("x", x),
        give("labels", labels), (*session)->begin()})
    if (!status.ok())
      return fail(status.message());
  for (int step = 1; step <= 3; ++step) {
    if (pprt::Status status = (*session)->step(); !status.ok())
      return fail(status.message());
    // The first output is the loss.
    std::printf("step %d loss %.3f\n", step, (*session)->scalar(0));
  }
  if (pprt::Status status = (*session)->end(); !status.ok())
    return fail(status.message());
  return 0;
}
