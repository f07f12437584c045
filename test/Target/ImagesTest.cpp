//===- ImagesTest.cpp - one file for several targets ----------------------===//
//
// SPDX-License-Identifier: Apache-2.0
//
// A target whose library adds nothing in passing and wants more memory has
// other kernels, other workspaces and another arena than this machine's, in an
// image of its own beside it. Both compute the same.
//
//===----------------------------------------------------------------------===//
#include "mlir/Pass/PassManager.h"
#include "pp/IR/Aspects.h"
#include "pp/IR/Kernel.h"
#include "pp/Models/Models.h"
#include "pp/Target/Artifact.h"
#include "pp/Target/KernelCompiler.h"
#include "pp/Transforms/Pipelines.h"
#include "pprt/Artifact.h"
#include "pprt/Checks.h"
#include "pprt/Session.h"
#include "pprt/Target.h"
#include <gtest/gtest.h>

using namespace mlir;
using namespace pp;
namespace ppx = pprt::ppx;

namespace {

class PlainTarget final : public pprt::Target {
public:
  const std::string &name() const override { return label; }
  const std::string &processor() const override { return cpu.processor(); }
  pprt::Status verify(const ppx::ContractionT &contraction) const override {
    if (!contraction.epilogues.empty())
      return {pprt::ExitCode::badArtifact, "expects no epilogues"};
    return cpu.verify(contraction);
  }
  void plan(ppx::ContractionT &contraction, unsigned threads) const override {
    cpu.plan(contraction, threads);
    contraction.workspace_bytes += 1 << 16;
  }

private:
  const std::string label = "plain";
  const pprt::Target &cpu = *pprt::findTarget("cpu");
};

void run(ModuleOp module, const PipelineOptions &options,
         std::optional<Level> from) {
  PassManager manager(module.getContext());
  buildPipeline(manager, options, from);
  ASSERT_TRUE(succeeded(manager.run(module)));
}

uint64_t workspaceOf(const ppx::ArtifactT &artifact) {
  uint64_t most = 0;
  for (const auto &kernel : artifact.kernels)
    if (const auto *contraction = kernel->body.AsContraction())
      most = std::max(most, contraction->workspace_bytes);
  return most;
}

size_t epiloguesOf(const ppx::ArtifactT &artifact) {
  size_t count = 0;
  for (const auto &kernel : artifact.kernels)
    if (const auto *contraction = kernel->body.AsContraction())
      count += contraction->epilogues.size();
  return count;
}

double lossOf(const ppx::ArtifactT &artifact) {
  auto created = pprt::Session::create(
      std::make_shared<const ppx::ArtifactT>(artifact), {});
  if (!created) {
    ADD_FAILURE() << created.status().message();
    return 0;
  }
  pprt::Session &session = **created;
  for (uint32_t i = 0; i < artifact.arguments.size(); ++i) {
    const ppx::Role role = artifact.arguments[i]->role;
    const std::vector<uint8_t> zeros(session.argumentBytes(i));
    if (role == ppx::Role_input || role == ppx::Role_label)
      EXPECT_TRUE(session.setInput(i, zeros.data(), zeros.size()).ok());
  }
  EXPECT_TRUE(session.initialize(3).ok());
  EXPECT_TRUE(session.begin().ok() && session.step().ok());
  const double loss = session.scalar(0);
  EXPECT_TRUE(session.end().ok());
  return loss;
}

TEST(Images, DifferInWhatTargetsTake) {
  pprt::addTarget(std::make_unique<PlainTarget>());
  DialectRegistry registry;
  registerForCompilation(registry);
  MLIRContext context(registry);
  context.loadAllAvailableDialects();
  MlpConfig config;
  OwningOpRef<ModuleOp> module =
      buildMlp(context, config, Float32Type::get(&context));
  ASSERT_TRUE(module);
  PipelineOptions options;
  std::string error;
  ASSERT_TRUE(
      succeeded(parseParallelize("dp=2 pp=2 microbatches=2", options, error)));
  options.stopAfter = Level::Pipeline;
  run(*module, options, std::nullopt);

  std::vector<std::unique_ptr<ppx::ArtifactT>> images;
  for (const char *target : {"cpu", "plain"}) {
    OwningOpRef<ModuleOp> copy = module->clone();
    PipelineOptions rest;
    rest.target = target;
    run(*copy, rest, Level::Pipeline);
    auto artifact = buildCheckedArtifact(*copy);
    ASSERT_TRUE(succeeded(artifact));
    CompileOptions compile;
    compile.useCache = false;
    auto kernels = CompiledKernels::compile(*copy, compile);
    ASSERT_TRUE(succeeded(kernels));
    auto object = kernels->link();
    ASSERT_TRUE(succeeded(object));
    (*artifact)->object = std::move(*object);
    (*artifact)->processor = pprt::processorLevel();
    images.push_back(std::move(*artifact));
  }
  auto file = pprt::packArtifacts({images[0].get(), images[1].get()});
  ASSERT_TRUE(file.ok()) << file.status().message();
  auto take = [&](const std::string &target) {
    auto taken =
        pprt::parseArtifact(file->data(), file->size(), "a.ppx", {target});
    EXPECT_TRUE(taken.ok()) << taken.status().message();
    return std::move(*taken);
  };
  const ppx::ArtifactT cpu = take("cpu"), plain = take("plain");
  EXPECT_EQ(cpu.target, pprt::findTarget("cpu")->name());
  EXPECT_EQ(plain.target, "plain");
  // What the library does in passing, loops do elsewhere.
  EXPECT_GT(epiloguesOf(cpu), 0u);
  EXPECT_EQ(epiloguesOf(plain), 0u);
  EXPECT_GE(workspaceOf(plain), workspaceOf(cpu) + (1 << 16));
  EXPECT_GT(plain.programs[0]->arena_bytes, cpu.programs[0]->arena_bytes);
  EXPECT_NEAR(lossOf(plain), lossOf(cpu), 1e-6);
}

} // namespace
