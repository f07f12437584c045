//===- TakeTraining.cpp - what a model is while it trains -----------------===//
//
// SPDX-License-Identifier: Apache-2.0
//
// In: a model. Out: the same without `pp.if_training`, and without names that
// serve evaluation alone.
//
//===----------------------------------------------------------------------===//
#include "mlir/Interfaces/SideEffectInterfaces.h"
#include "pp/IR/Model.h"
#include "pp/IR/PP.h"
#include "pp/Transforms/Passes.h"
#include "llvm/ADT/DenseSet.h"

using namespace mlir;
using namespace pp;

namespace pp {
#define GEN_PASS_DEF_TAKETRAINING
#include "pp/Transforms/Passes.h.inc"
} // namespace pp

namespace {
struct TakeTrainingPass : pp::impl::TakeTrainingBase<TakeTrainingPass> {
  void runOnModule() override {
    auto main = lookupMain(getOperation());
    if (failed(main))
      return signalPassFailure();
    for (auto op : llvm::make_early_inc_range(main->getOps<NameOp>()))
      if (op.use_empty())
        op.erase();
    // What makes only values of evaluation goes with them.
    SmallVector<Value> pending;
    for (auto op : llvm::make_early_inc_range(main->getOps<IfTrainingOp>())) {
      pending.push_back(op.getEvaluation());
      op.replaceAllUsesWith(op.getTraining());
      op.erase();
    }
    llvm::DenseSet<Operation *> before;
    while (!pending.empty())
      if (Operation *op = pending.pop_back_val().getDefiningOp();
          op && before.insert(op).second)
        llvm::append_range(pending, op->getOperands());
    for (Operation &op :
         llvm::make_early_inc_range(llvm::reverse(main->getBody().front())))
      if (before.contains(&op) && isOpTriviallyDead(&op))
        op.erase();
  }
};
} // namespace
