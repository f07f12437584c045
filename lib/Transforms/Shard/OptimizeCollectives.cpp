//===- OptimizeCollectives.cpp - fewer and smaller collectives ------------===//
//
// SPDX-License-Identifier: Apache-2.0
//
// In and out: level 2. Every device runs the same function, so what is done to
// a collective here is done by all its members. Three rewrites: a collective
// whose result nobody uses goes; of two equal ones on the same value the second
// goes; a reduction of which only this device's slice is used becomes a
// reduce_scatter.
//
//===----------------------------------------------------------------------===//
#include "mlir/IR/Builders.h"
#include "pp/IR/Model.h"
#include "pp/Transforms/Passes.h"

using namespace mlir;
using namespace pp;

namespace pp {
#define GEN_PASS_DEF_OPTIMIZECOLLECTIVES
#include "pp/Transforms/Passes.h.inc"
} // namespace pp

/// What changes how a value lies on the devices, whether or not it is sent.
static bool isReshard(Operation &op) {
  return isCollective(&op) || isa<AllSliceOp>(op);
}

/// Erases collectives without uses, last first so that chains go at once.
static void eraseUnused(Block &body) {
  for (Operation &op : llvm::make_early_inc_range(llvm::reverse(body)))
    if (isReshard(op) && op.use_empty())
      op.erase();
}

/// Lets later collectives use the results of equal earlier ones.
static void shareEqual(Block &body) {
  DenseMap<Value, SmallVector<Operation *, 2>> byOperand;
  for (Operation &op : llvm::make_early_inc_range(body)) {
    if (!isReshard(op) || op.getNumOperands() != 1)
      continue;
    SmallVector<Operation *, 2> &earlier = byOperand[op.getOperand(0)];
    auto isEqual = [&](Operation *other) {
      return other->getName() == op.getName() &&
             other->getResultTypes() == op.getResultTypes() &&
             getKind(other) == getKind(&op) &&
             other->getPropertiesAsAttribute() == op.getPropertiesAsAttribute();
    };
    auto found = llvm::find_if(earlier, isEqual);
    if (found == earlier.end()) {
      earlier.push_back(&op);
      continue;
    }
    op.replaceAllUsesWith(*found);
    op.erase();
  }
}

/// all_slice(all_reduce(x)) over the same axes -> reduce_scatter(x)
static void formReduceScatters(Block &body) {
  for (Operation &op : llvm::make_early_inc_range(body)) {
    auto slice = dyn_cast<AllSliceOp>(op);
    auto reduce =
        slice ? slice.getOperand().getDefiningOp<AllReduceOp>() : AllReduceOp();
    if (!reduce || reduce.getNumOperands() != 1 || reduce.getStages() ||
        !reduce->hasOneUse() || reduce.getAxes() != slice.getAxes())
      continue;
    OpBuilder builder(slice);
    auto scatter = ReduceScatterOp::create(
        builder, builder.getFusedLoc({reduce.getLoc(), slice.getLoc()}),
        TypeRange(slice.getType()), reduce.getReductionAttr(),
        reduce.getOperands(),
        builder.getDenseI64ArrayAttr(slice.getDimension()), slice.getMeshAttr(),
        slice.getAxes());
    scatter->setDiscardableAttrs(reduce->getDiscardableAttrDictionary());
    slice.replaceAllUsesWith(scatter.getResult(0));
    slice.erase();
    reduce.erase();
  }
}

namespace {

struct OptimizeCollectivesPass
    : pp::impl::OptimizeCollectivesBase<OptimizeCollectivesPass> {
  void runOnOperation() override {
    auto main = lookupMain(getOperation());
    if (failed(main))
      return signalPassFailure();
    Block &body = main->getBody().front();
    shareEqual(body);
    formReduceScatters(body);
    eraseUnused(body);
  }
};

} // namespace
