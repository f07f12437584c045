//===- CutStages.cpp - assign ops and arguments to stages -----------------===//
//
// SPDX-License-Identifier: Apache-2.0
//
// Takes a level 1 training step (origins and kinds set) and a plan. Sets
// pp.stages on every op that derives from a forward op, and on every argument
// the stages that use it. Without `cuts` in the plan the planner chooses them.
// Constants and what is computed from constants alone, and the ops of the
// update, stay unassigned: they are placed with their users.
//
//===----------------------------------------------------------------------===//
#include "pp/IR/Model.h"
#include "pp/Planner/StageCuts.h"
#include "pp/Transforms/Passes.h"
#include <set>

using namespace mlir;
using namespace pp;

namespace pp {
#define GEN_PASS_DEF_CUTSTAGES
#include "pp/Transforms/Passes.h.inc"
} // namespace pp

namespace {

/// Checks the user's cuts: strictly increasing origins that leave no stage
/// empty.
LogicalResult verifyCuts(func::FuncOp main, ArrayRef<int64_t> cuts,
                         int64_t stages, int64_t origins) {
  int64_t last = 0;
  if (static_cast<int64_t>(cuts.size()) != stages - 1)
    return main.emitError("expects ") << stages - 1 << " cuts for " << stages
                                      << " stages, got " << cuts.size();
  for (auto [index, cut] : llvm::enumerate(cuts)) {
    if (cut <= last || cut >= origins)
      return main.emitError("expects cut ")
             << index << " between " << last + 1 << " and " << origins - 1
             << ", got " << cut << ": a stage would be empty";
    last = cut;
  }
  return success();
}

struct CutStagesPass : pp::impl::CutStagesBase<CutStagesPass> {
  void runOnOperation() override {
    ModuleOp module = getOperation();
    auto main = lookupMain(module);
    auto plan = lookupPlan(module);
    if (failed(main) || failed(plan))
      return signalPassFailure();
    MeshAxisAttr axis = plan->getMesh().getStageAxis();
    int64_t stages = axis ? axis.getSize() : 1;

    Block &body = main->getBody().front();
    int64_t origins = 0;
    for (Operation &op : body)
      origins = std::max(origins, getOrigin(&op) + 1);
    if (origins == 0) {
      main->emitError("expects forward ops that pp-differentiate numbered "
                      "(pp.origin), got none");
      return signalPassFailure();
    }
    SmallVector<int64_t> cuts(plan->getCuts());
    if (cuts.empty()) {
      auto chosen = chooseStageCuts(*main, stages);
      if (failed(chosen))
        return signalPassFailure();
      cuts = std::move(*chosen);
      module->setAttr(attrs::kPlan, plan->withCuts(cuts));
    }
    if (failed(verifyCuts(*main, cuts, stages, origins)))
      return signalPassFailure();

    for (Operation &op : body.without_terminator()) {
      int64_t origin = getOrigin(&op);
      if (origin < 0 || getKind(&op) == Kind::Update)
        continue;
      int64_t stage = llvm::upper_bound(cuts, origin) - cuts.begin();
      setStages(&op, stage);
    }
    placeFreeOps(body);
    placeArguments(*main, stages);
  }

  /// Ops that depend on no argument lose their stage: they are cloned into
  /// every fragment that uses them.
  static void placeFreeOps(Block &body) {
    llvm::DenseSet<Operation *> free;
    for (Operation &op : body.without_terminator()) {
      bool isFree = llvm::all_of(op.getOperands(), [&](Value operand) {
        return operand.getDefiningOp() &&
               free.contains(operand.getDefiningOp());
      });
      if (!isFree)
        continue;
      free.insert(&op);
      op.removeAttr(attrs::kStages);
    }
  }

  /// An argument lives on every stage with an op that uses it; optimizer state
  /// lives with its parameter, and what no stage uses on the first one that has
  /// parameters: there a norm of all gradients can be had.
  void placeArguments(func::FuncOp main, int64_t stages) {
    SmallVector<std::set<int64_t>> homes(main.getNumArguments());
    for (BlockArgument arg : main.getArguments())
      for (Operation *user : arg.getUsers())
        homes[arg.getArgNumber()].insert(getStages(user).begin(),
                                         getStages(user).end());
    std::set<int64_t> used;
    for (unsigned index = 0; index < main.getNumArguments(); ++index)
      if (getArgRole(main, index) == Role::Param)
        used.insert(homes[index].begin(), homes[index].end());
    int64_t fallback = used.empty() ? 0 : *used.begin();
    for (unsigned index = 0; index < main.getNumArguments(); ++index) {
      if (homes[index].empty())
        homes[index] = homesOfState(main, index, homes, stages, fallback);
      SmallVector<int64_t> list(homes[index].begin(), homes[index].end());
      main.setArgAttr(index, attrs::kStages,
                      DenseI64ArrayAttr::get(&getContext(), list));
    }
  }

  /// Stages of an argument that only the update uses: those of the parameter
  /// whose dotted name ends its own, or all of them (a step counter).
  static std::set<int64_t> homesOfState(func::FuncOp main, unsigned index,
                                        ArrayRef<std::set<int64_t>> homes,
                                        int64_t stages, int64_t fallback) {
    StringRef name = getArgName(main, index);
    if (getArgRole(main, index) != Role::State)
      return {fallback};
    for (unsigned other = 0; other < main.getNumArguments(); ++other)
      if (getArgRole(main, other) == Role::Param &&
          name.ends_with(("." + getArgName(main, other)).str()))
        return homes[other].empty() ? std::set<int64_t>{fallback}
                                    : homes[other];
    std::set<int64_t> all;
    for (int64_t stage = 0; stage < stages; ++stage)
      all.insert(stage);
    return all;
  }
};

} // namespace
