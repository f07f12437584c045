//===- VerifyLevelsTest.cpp - a level's check sees what a pass broke ------===//
//
// SPDX-License-Identifier: Apache-2.0
//
// Between passes nothing is verified: the check at the end of a level is the
// first to see an op that a pass left broken in memory, where no parser is in
// between.
//
//===----------------------------------------------------------------------===//
#include "mlir/Pass/PassManager.h"
#include "pp/IR/Aspects.h"
#include "pp/Models/Models.h"
#include "pp/Transforms/Passes.h"
#include "pp/Transforms/Pipelines.h"
#include <gtest/gtest.h>

using namespace mlir;
using namespace pp;

namespace {

class VerifyLevels : public ::testing::Test {
protected:
  VerifyLevels() {
    DialectRegistry registry;
    registry.insert<PPDialect, func::FuncDialect>();
    registerForCompilation(registry);
    context.appendDialectRegistry(registry);
    context.loadAllAvailableDialects();
    context.disableMultithreading();
  }

  LogicalResult run(ModuleOp module, std::unique_ptr<Pass> pass) {
    PassManager manager(&context);
    manager.enableVerifier(false);
    manager.addPass(std::move(pass));
    return manager.run(module);
  }

  /// A model at `level`.
  OwningOpRef<ModuleOp> build(Level level) {
    OwningOpRef<ModuleOp> module =
        buildMlp(context, MlpConfig(), Float32Type::get(&context));
    PipelineOptions options;
    options.stopAfter = level;
    PassManager manager(&context);
    buildPipeline(manager, options, /*from=*/std::nullopt);
    EXPECT_TRUE(succeeded(manager.run(*module)));
    return module;
  }

  MLIRContext context;
};

/// Gives the last op on elements, at whatever depth, whose result another op
/// reads a result of another shape.
void breakOp(ModuleOp module) {
  Operation *last = nullptr;
  module.walk([&](Operation *op) {
    auto ends = [](Operation *user) {
      return user->hasTrait<OpTrait::IsTerminator>();
    };
    if (op->hasTrait<OpTrait::Elementwise>() && op->getNumOperands() == 2 &&
        llvm::none_of(op->getUsers(), ends))
      last = op;
  });
  ASSERT_TRUE(last);
  auto type = cast<RankedTensorType>(last->getResult(0).getType());
  SmallVector<int64_t> shape(type.getShape());
  shape.push_back(3);
  last->getResult(0).setType(type.clone(shape));
}

} // namespace

TEST_F(VerifyLevels, SeeWhatAPassBroke) {
  using Create = std::unique_ptr<Pass> (*)();
  for (auto [level, create] :
       {std::pair<Level, Create>(Level::Graph, createVerifyGraph),
        {Level::Spmd, createVerifySpmd},
        {Level::Pipeline, createVerifyPipeline},
        {Level::Program, createVerifyPrograms}}) {
    SCOPED_TRACE(stringifyLevel(level).str());
    OwningOpRef<ModuleOp> module = build(level);
    ASSERT_TRUE(succeeded(run(*module, create())));
    breakOp(*module);
    std::string said;
    ScopedDiagnosticHandler handler(
        &context, [&](Diagnostic &diagnostic) { said += diagnostic.str(); });
    EXPECT_TRUE(failed(run(*module, create())));
    EXPECT_NE(said.find("the same shape"), std::string::npos) << said;
  }
}
