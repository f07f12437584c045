//===- ReserveScratch.cpp - memory for what lives inside of rows ----------===//
//
// SPDX-License-Identifier: Apache-2.0
//
// In: kernels. Out: those whose rows are too large for the stack have a
// workspace, a part for each thread of the plan. Its size is known when a
// kernel is lowered to buffers, which is done here and discarded: so memory is
// planned with the needs of machine code, and nothing allocates.
//
//===----------------------------------------------------------------------===//
#include "KernelPipeline.h"
#include "pp/Analysis/ModuleTarget.h"
#include "pp/IR/Aspects.h"
#include "pp/IR/Kernel.h"
#include "pp/Transforms/Passes.h"

using namespace mlir;
using namespace pp;

namespace pp {
#define GEN_PASS_DEF_RESERVESCRATCH
#include "pp/Transforms/Passes.h.inc"
} // namespace pp

namespace {

struct ReserveScratchPass : pp::impl::ReserveScratchBase<ReserveScratchPass> {
  void getDependentDialects(DialectRegistry &registry) const override {
    registerKernelDialects(registry);
    registerLinalgModels(registry);
  }

  void runOnModule() override {
    const pprt::Target *target = getTarget(getOperation());
    if (!target)
      return signalPassFailure();
    if (target->code() == pprt::Code::ptx)
      return; // threads of a GPU keep a row in registers
    auto plan = getOperation()->getAttrOfType<PlanAttr>(attrs::kPlan);
    int64_t threads = plan ? plan.getThreads() : 1;
    for (auto kernel : getOperation().getOps<func::FuncOp>()) {
      if (getKernelKind(kernel) != KernelKind::Loops ||
          kernel->hasAttr(attrs::kWorkspace))
        continue;
      auto bytes = measureScratch(kernel);
      if (failed(bytes))
        return signalPassFailure();
      if (*bytes > 0)
        kernel->setAttr(
            attrs::kWorkspace,
            Builder(&getContext()).getI64IntegerAttr(*bytes * threads));
    }
  }
};

} // namespace
