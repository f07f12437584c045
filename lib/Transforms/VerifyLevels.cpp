//===- VerifyLevels.cpp - the contract of each level ----------------------===//
//
// SPDX-License-Identifier: Apache-2.0
//
// A verify pass names the leftover op, its place, and the pass that should have
// removed it.
//
//===----------------------------------------------------------------------===//
#include "Pipeline/StepPlacement.h"
#include "mlir/IR/Verifier.h"
#include "pp/IR/VerifyModel.h"
#include "pp/Transforms/Passes.h"
#include "pp/Transforms/Pipelines.h"

using namespace mlir;
using namespace pp;

namespace pp {
#define GEN_PASS_DEF_VERIFYGRAPH
#define GEN_PASS_DEF_VERIFYSPMD
#include "pp/Transforms/Passes.h.inc"
} // namespace pp

namespace {

/// More than any machine holds, and few enough to be added up.
constexpr int64_t kMaxTensorBytes = int64_t(1) << 50;

/// Sizes and costs are computed in 64 bits.
LogicalResult verifySize(Value value) {
  auto type = cast<RankedTensorType>(value.getType());
  int64_t bytes = std::max(1u, type.getElementTypeBitWidth() / 8);
  for (int64_t size : type.getShape()) {
    if (size > 0 && bytes > kMaxTensorBytes / size)
      return emitError(value.getLoc(), "expects a tensor of at most ")
             << kMaxTensorBytes << " bytes, got " << type;
    bytes *= size;
  }
  return success();
}

/// More ops than any model has: a slip of the keyboard.
constexpr int64_t kMaxOrigin = 1 << 22;

/// Forward ops are numbered, and gradients carry the number of theirs.
LogicalResult verifyOrigin(Operation *op) {
  auto origin = op->getAttrOfType<IntegerAttr>(attrs::kOrigin);
  if (!origin || (origin.getInt() >= 0 && origin.getInt() <= kMaxOrigin))
    return success();
  return op->emitOpError("expects pp.origin to number a forward op, got ")
         << origin.getInt() << "; pp-differentiate numbers them (step_c2)";
}

/// A model whose loss does not depend on a batch has no forward pass. The
/// dependence may disappear when constants are folded.
LogicalResult verifyLoss(func::FuncOp main, bool isFolded) {
  Value loss = main.getBody().front().getTerminator()->getOperand(0);
  if (loss.getDefiningOp() && getBatchDependent(main).contains(loss))
    return success();
  return emitError(loss.getLoc(), "expects a loss that is computed from an "
                                  "input or label, got ")
         << (loss.getDefiningOp() ? "a loss that is not" : "an argument")
         << (isFolded ? " when constants are folded" : "") << " (graph_c1)";
}

struct VerifyGraphPass : pp::impl::VerifyGraphBase<VerifyGraphPass> {
  LogicalResult verify() {
    auto main = lookupMain(getOperation());
    if (failed(mlir::verify(getOperation())) || failed(main))
      return failure();
    auto lossType = main->getNumResults()
                        ? dyn_cast<RankedTensorType>(main->getResultTypes()[0])
                        : RankedTensorType();
    if (!lossType || lossType.getRank() != 0 ||
        !isa<FloatType>(lossType.getElementType()))
      return main->emitError(
          "expects a scalar float loss as the first result of @main");
    Block &body = main->getBody().front();
    std::optional<Level> level = getLevel(getOperation());
    for (Operation &op : body.without_terminator())
      if (failed(verifyOp(op, level)))
        return failure();
    SmallVector<Value> values(body.getArguments());
    for (Operation &op : body.without_terminator())
      llvm::append_range(values, op.getResults());
    for (Value value : values)
      if (failed(verifySize(value)))
        return failure();
    if (failed(verifyModel(getOperation(), *main, level)))
      return failure();
    if (level && failed(verifyKinds(*main)))
      return failure();
    return verifyLoss(*main, /*isFolded=*/level.has_value());
  }

  static LogicalResult verifyOp(Operation &op, std::optional<Level> level) {
    if (!isGraphOp(&op))
      return op.emitError("expects an op of level 1, got ") << op.getName();
    if (!level && failed(verifyHasNone(&op, {attrs::kKind, attrs::kOrigin},
                                       "pp-differentiate")))
      return failure();
    if (failed(verifyHasNone(&op, {attrs::kStages}, "pp-cut-stages")) ||
        failed(
            verifyHasNone(&op, {attrs::kShardings}, "pp-propagate-shardings")))
      return failure();
    return verifyOrigin(&op);
  }

  void runOnModule() override {
    markAllAnalysesPreserved();
    if (failed(verify()))
      signalPassFailure();
  }
};

//===----------------------------------------------------------------------===//
// Level 2
//===----------------------------------------------------------------------===//

/// A collective or accumulate is over the axes it is meant for.
LogicalResult verifyAxes(Operation *op, MeshAttr mesh) {
  if (auto accumulate = dyn_cast<AccumulateOp>(op)) {
    MeshAxisAttr time = mesh.getTimeAxis();
    if (!time || time.getName() != accumulate.getAxisAttr())
      return op->emitOpError("expects the time axis of ")
             << mesh << ", got " << accumulate.getAxisAttr()
             << "; pp-partition writes it (step_c4)";
    return success();
  }
  if (!isCollective(op) || !mesh.getStageAxis())
    return success();
  for (StringAttr axis :
       op->getAttrOfType<ArrayAttr>("axes").getAsRange<StringAttr>())
    if (axis == mesh.getStageAxis().getName())
      return op->emitOpError("expects no collective over the stage axis yet, "
                             "got ")
             << axis << "; pp-split-stages makes them (step_c4)";
  return success();
}

struct VerifySpmdPass : pp::impl::VerifySpmdBase<VerifySpmdPass> {
  LogicalResult verify() {
    auto main = lookupMain(getOperation());
    if (failed(mlir::verify(getOperation())) || failed(main))
      return failure();
    FailureOr<MeshOp> mesh = requireMesh(getOperation());
    if (failed(mesh))
      return failure();
    for (Operation &op : main->getBody().front().without_terminator()) {
      if (op.hasAttr(attrs::kShardings) || op.hasAttr(attrs::kInShards) ||
          isa<ShardingConstraintOp, ReshardOp, NameOp>(op))
        return op.emitError("expects no sharding left undone, got ")
               << op.getName() << "; pp-partition should have removed it";
      if (!isSpmdOp(&op))
        return op.emitError("expects an op of level 2, got ") << op.getName();
      if (failed(verifyOrigin(&op)) || failed(verifyAxes(&op, mesh->getMesh())))
        return failure();
    }
    if (failed(verifyModel(getOperation(), *main, Level::Spmd)) ||
        failed(verifyKinds(*main)))
      return failure();
    // Its findings have no other place: every value must be available where it
    // is needed.
    return success(succeeded(getAnalysis<StepPlacementAnalysis>().placement));
  }

  void runOnModule() override {
    // pp-split-stages, which comes next, needs the placement again.
    markAllAnalysesPreserved();
    if (failed(verify()))
      signalPassFailure();
  }
};

} // namespace
