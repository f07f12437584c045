//===- SplitConstants.cpp - copies constants for every use ----------------===//
//
// SPDX-License-Identifier: Apache-2.0
//
// In and out: level 1. Constants, iotas and broadcasts make new dimensions: one
// with two uses ties the shardings of two unrelated computations. So each use
// gets a copy. Values computed from constants alone, such as a mask from two
// iotas, tie as much: each further use gets copies of everything behind them.
// Copies with equal shardings after partitioning are merged there.
//
//===----------------------------------------------------------------------===//
#include "mlir/IR/Builders.h"
#include "pp/IR/Model.h"
#include "pp/IR/Values.h"
#include "pp/Transforms/Passes.h"
#include "llvm/ADT/DenseSet.h"
#include "llvm/ADT/MapVector.h"

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

class ConstantSplitter {
public:
  explicit ConstantSplitter(Block &body);

  void run();

private:
  /// Whether `op` computes something with dimensions from constants alone.
  bool isComputed(Operation &op) const {
    return constants.contains(&op) && !isSource(op) &&
           ranked(op.getResult(0)).getRank() > 0;
  }
  void split(Operation &op);

  Block &body;
  /// Ops that depend on no argument.
  llvm::DenseSet<Operation *> constants;
  /// The use, by something else, that a computed op serves. All uses of it
  /// serve one, since users come before operands.
  llvm::DenseMap<Operation *, int64_t> served;
  int64_t numServed = 0;
};

ConstantSplitter::ConstantSplitter(Block &body) : body(body) {
  for (Operation &op : body.without_terminator())
    if (!isa<RandomBitsOp>(op) && op.getNumResults() == 1 &&
        llvm::all_of(op.getOperands(), [&](Value operand) {
          return constants.contains(operand.getDefiningOp());
        }))
      constants.insert(&op);
}

/// A source is cloned for each of its uses, a computed value for each source
/// use that it serves: one for each of its own uses would double it at every
/// step of a chain of ops that use a value twice.
void ConstantSplitter::split(Operation &op) {
  bool perUse = isSource(op);
  llvm::MapVector<int64_t, SmallVector<OpOperand *>> groups;
  SmallVector<int64_t> owners; // what the ops of a group serve
  int64_t numGroups = 0;
  for (OpOperand &use : op.getUses()) {
    auto user = served.find(use.getOwner());
    int64_t owner = user != served.end() ? user->second : numServed++;
    groups[perUse ? numGroups++ : owner].push_back(&use);
    if (owners.size() < groups.size())
      owners.push_back(owner);
  }
  for (auto [index, group] : llvm::enumerate(groups)) {
    // The last use in the list keeps the op.
    Operation *own = index + 1 < groups.size() ? OpBuilder(&op).clone(op) : &op;
    if (constants.contains(&op))
      served[own] = owners[index];
    for (OpOperand *use : group.second)
      use->set(own->getResult(0));
  }
}

/// Backwards: the constant that is used by many clones has as many uses then.
void ConstantSplitter::run() {
  for (Operation &op : llvm::make_early_inc_range(llvm::reverse(body)))
    if (isSource(op) || isComputed(op))
      split(op);
}

struct SplitConstantsPass : pp::impl::SplitConstantsBase<SplitConstantsPass> {
  void runOnModule() override {
    auto main = lookupMain(getOperation());
    if (failed(main))
      return signalPassFailure();
    ConstantSplitter(main->getBody().front()).run();
  }
};

} // namespace
