//===- SplitConstants.cpp - a constant of its own for every use -----------===//
//
// SPDX-License-Identifier: Apache-2.0
//
// In and out: level 1. Constants, iotas and broadcasts make dimensions that
// come from nowhere: one of them with two uses ties the shardings of two
// computations that have nothing to do with each other. So each use gets its
// own. What still lies alike after partitioning is merged there.
//
//===----------------------------------------------------------------------===//
#include "mlir/IR/Builders.h"
#include "pp/IR/Model.h"
#include "pp/IR/Values.h"
#include "pp/Transforms/Passes.h"

using namespace mlir;
using namespace pp;

namespace pp {
#define GEN_PASS_DEF_SPLITCONSTANTS
#include "pp/Transforms/Passes.h.inc"
} // namespace pp

/// True for ops that make dimensions which no operand has. Random bits are left
/// alone: they are work, which two uses share.
static bool isSource(Operation &op) {
  if (auto broadcast = dyn_cast<BroadcastOp>(op))
    return ranked(broadcast).getRank() >
           ranked(broadcast.getOperand()).getRank();
  return isa<ConstantOp, IotaOp>(op) && ranked(op.getResult(0)).getRank() > 0;
}

namespace {

struct SplitConstantsPass : pp::impl::SplitConstantsBase<SplitConstantsPass> {
  void runOnOperation() override {
    auto main = lookupMain(getOperation());
    if (failed(main))
      return signalPassFailure();
    // Backwards: the constant that is broadcast for many has as many uses then.
    for (Operation &op :
         llvm::make_early_inc_range(llvm::reverse(main->getBody().front()))) {
      if (!isSource(op))
        continue;
      // The last use in the list keeps the op.
      while (!op.use_empty() && !op.getResult(0).hasOneUse()) {
        OpOperand &use = *op.getResult(0).use_begin();
        OpBuilder builder(&op);
        use.set(builder.clone(op)->getResult(0));
      }
    }
  }
};

} // namespace
