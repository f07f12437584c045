//===- OverlapCollectives.cpp - issue collectives before need -------------===//
//
// SPDX-License-Identifier: Apache-2.0
//
// Takes and leaves level 3 with formed kernels. Queues run beside each other,
// so a collective overlaps everything between it and the first reader of its
// results. A collective without operands from its fragment could stand at the
// fragment's begin, and with all others hold the whole model: the plan limits
// how far it moves up. Sums over stages keep their places, because lists of
// several stages have to match.
//
//===----------------------------------------------------------------------===//
#include "pp/IR/Model.h"
#include "pp/IR/PlanKeys.h"
#include "pp/Transforms/Passes.h"
#include "llvm/ADT/MapVector.h"
#include "llvm/ADT/SetVector.h"

using namespace mlir;
using namespace pp;

namespace pp {
#define GEN_PASS_DEF_OVERLAPCOLLECTIVES
#include "pp/Transforms/Passes.h.inc"
} // namespace pp

namespace {

class Fragment {
public:
  Fragment(FragmentOp fragment, StringAttr stageAxis)
      : fragment(fragment), block(fragment.getBody().front()),
        stageAxis(stageAxis) {
    findPrepared();
  }

  void moveUp(uint64_t ahead);

private:
  bool mayMove(Operation &op) const;
  bool isHeld(Value value);
  void findPrepared();
  /// Collectives that need only arguments of the fragment, by the first
  /// instruction that needs one of them.
  llvm::MapVector<Operation *, SmallVector<Operation *>> findFree() const;
  /// The kernels that compute the operands of `call`, in order.
  SmallVector<Operation *> findKernelsOf(Operation *call) const;

  FragmentOp fragment;
  Block &block;
  StringAttr stageAxis;
  /// Kernels that read only values held between steps, such as a convert of a
  /// parameter.
  llvm::SetVector<Operation *> prepared;
};

struct OverlapCollectivesPass
    : pp::impl::OverlapCollectivesBase<OverlapCollectivesPass> {
  void runOnModule() override {
    auto main = lookupSplitMain(getOperation());
    auto plan = lookupPlan(getOperation());
    if (failed(main) || failed(plan))
      return signalPassFailure();
    StringAttr stageAxis;
    if (MeshAxisAttr axis = plan->getMesh().getStageAxis())
      stageAxis = axis.getName();
    for (auto fragment : main->getOps<FragmentOp>())
      Fragment(fragment, stageAxis).moveUp(plan->getInt(PlanKey::Ahead));
  }
};

} // namespace

bool Fragment::mayMove(Operation &op) const {
  auto axes = op.getAttrOfType<ArrayAttr>("axes");
  return isCollective(&op) &&
         !(stageAxis && llvm::is_contained(axes, stageAxis));
}

bool Fragment::isHeld(Value value) {
  auto given = dyn_cast<BlockArgument>(value);
  auto argument =
      given ? dyn_cast<BlockArgument>(fragment.getOperand(given.getArgNumber()))
            : BlockArgument();
  if (!argument)
    return false;
  auto main = fragment->getParentOfType<func::FuncOp>();
  std::optional<Role> role = getArgRole(main, argument.getArgNumber());
  return role == Role::Param || role == Role::State;
}

void Fragment::findPrepared() {
  for (auto launch : block.getOps<LaunchOp>())
    if (launch->getNumOperands() &&
        llvm::all_of(launch.getOperands(), [&](Value operand) {
          return isHeld(operand) || prepared.contains(operand.getDefiningOp());
        }))
      prepared.insert(launch);
}

SmallVector<Operation *> Fragment::findKernelsOf(Operation *call) const {
  llvm::SmallSetVector<Operation *, 4> kernels;
  SmallVector<Operation *> readers{call};
  while (!readers.empty())
    for (Value operand : readers.pop_back_val()->getOperands())
      if (Operation *producer = operand.getDefiningOp();
          prepared.contains(producer) && kernels.insert(producer))
        readers.push_back(producer);
  SmallVector<Operation *> sorted = kernels.takeVector();
  llvm::sort(sorted,
             [](Operation *a, Operation *b) { return a->isBeforeInBlock(b); });
  return sorted;
}

llvm::MapVector<Operation *, SmallVector<Operation *>>
Fragment::findFree() const {
  SmallVector<Operation *> free;
  llvm::DenseMap<Operation *, Operation *> firstReader;
  for (Operation &op : block)
    if (mayMove(op) && llvm::all_of(op.getOperands(), [&](Value operand) {
          Operation *producer = operand.getDefiningOp();
          return !producer || firstReader.contains(producer) ||
                 prepared.contains(producer);
        })) {
      free.push_back(&op);
      firstReader[&op] = block.getTerminator();
    }
  // A call with several results is needed when the first reader of any runs.
  for (Operation *op : llvm::reverse(free))
    for (Operation *user : op->getUsers()) {
      auto between = firstReader.find(user);
      Operation *reader = between == firstReader.end() ? user : between->second;
      if (reader->isBeforeInBlock(firstReader[op]))
        firstReader[op] = reader;
    }
  llvm::MapVector<Operation *, SmallVector<Operation *>> result;
  SmallVector<Operation *> readers;
  for (Operation *op : free)
    readers.push_back(firstReader[op]);
  llvm::sort(readers,
             [](Operation *a, Operation *b) { return a->isBeforeInBlock(b); });
  for (Operation *reader : readers)
    result.try_emplace(reader);
  for (Operation *op : free)
    result[firstReader[op]].push_back(op);
  return result;
}

void Fragment::moveUp(uint64_t ahead) {
  auto free = findFree();
  SmallVector<Operation *> readers(llvm::make_first_range(free));
  // Before the first of the block that stays.
  llvm::DenseSet<Operation *> moved;
  llvm::MapVector<Operation *, SmallVector<Operation *>> kernels;
  for (const auto &[reader, calls] : free)
    for (Operation *call : calls) {
      kernels[call] = findKernelsOf(call);
      moved.insert(call);
      moved.insert_range(kernels[call]);
    }
  Operation *first = &*llvm::find_if(
      block, [&](Operation &op) { return !moved.contains(&op); });
  // Kernels move up with the first call that needs them, and never down.
  llvm::DenseMap<Operation *, unsigned> places;
  for (Operation &op : block)
    places[&op] = places.size();
  for (auto [index, entry] : llvm::enumerate(free)) {
    Operation *place = index < ahead ? first : readers[index - ahead];
    for (Operation *call : entry.second) {
      for (Operation *kernel : kernels[call])
        if (moved.erase(kernel) && places[kernel] > places[place])
          kernel->moveBefore(place);
      call->moveBefore(place);
    }
  }
}
