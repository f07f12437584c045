//===- ShareSlots.cpp - two slots become one where a copy joins them ------===//
//
// SPDX-License-Identifier: Apache-2.0
//
// Takes and leaves level 4 programs with unplaced slots. Only this pass decides
// what may be overwritten. pp-lower-to-programs gives every value a separate
// slot and copies operands that a kernel overwrites; a copy, and an all_reduce,
// pairs the slot it reads with the one it writes. The two become one unless one
// of them holds a value that is still to be read while the other holds another:
// by any fragment and micro-batch of the list, and for an argument's slot by
// the next step. Slots with copies for micro-batches become one if they may for
// every micro-batch. The remaining copies are needed.
//
//===----------------------------------------------------------------------===//
#include "Slots.h"
#include "mlir/IR/Builders.h"
#include "pp/IR/Model.h"
#include "pp/Transforms/Passes.h"
#include "llvm/ADT/STLExtras.h"
#include <limits>
#include <numeric>

using namespace mlir;
using namespace pp;

namespace pp {
#define GEN_PASS_DEF_SHARESLOTS
#include "pp/Transforms/Passes.h.inc"
} // namespace pp

namespace {

/// From the instruction that writes a value to the last that reads it, both
/// included.
struct Life {
  int64_t begin, end;
};

/// Before the first instruction, and after the last.
constexpr int64_t kStart = -1;
constexpr int64_t kEnd = std::numeric_limits<int64_t>::max();

using SlotPairs = SmallVector<std::pair<int64_t, int64_t>>;
using Lives = SmallVector<Life, 2>;

/// Pairs of a slot and the slot that may take its place, for an instruction.
SlotPairs getPairs(Operation *op);

class SlotSharer {
public:
  SlotSharer(ProgramOp program, SymbolTable &symbols)
      : program(program), symbols(symbols), list(program),
        accesses(listAccesses(list, symbols)),
        slots(program.getSlots().getOps<SlotOp>()), lives(list.getNumCopies()),
        persists(slots.size()), joinedWith(slots.size()) {
    std::iota(joinedWith.begin(), joinedWith.end(), 0);
    for (Operation *op : list.instructions())
      pairs.push_back(getPairs(op));
  }

  void run();

private:
  void findPersistent();
  void measureLives();
  int64_t find(int64_t slot) {
    while (joinedWith[slot] != slot)
      slot = joinedWith[slot] = joinedWith[joinedWith[slot]];
    return slot;
  }
  void tryToJoin(int64_t source, int64_t target, bool isCopy);
  /// True if a copy of `a` and that of `b` are live at once, other than where
  /// one is handed over to the other.
  bool interfere(int64_t a, int64_t b);
  bool interfere(int64_t a, int64_t b, int64_t copy);
  /// True if the list's instruction `index` may write in `from` instead of
  /// `to`.
  bool handsOver(int64_t index, int64_t from, int64_t to);
  Lives &livesOf(int64_t slot, int64_t copy) {
    return lives[list.getFirstCopy(slot) + copy];
  }
  void rewrite();

  ProgramOp program;
  SymbolTable &symbols;
  ProgramList list;
  std::vector<SmallVector<SlotAccess>> accesses; ///< by instruction as written
  SmallVector<SlotOp> slots;
  std::vector<SlotPairs> pairs;    ///< by instruction as written
  std::vector<Lives> lives;        ///< by copy of a slot, ascending
  std::vector<bool> persists;      ///< by slot: holds a value from step to step
  SmallVector<int64_t> joinedWith; ///< by slot, towards the one kept
};

SlotPairs getPairs(Operation *op) {
  auto collective = dyn_cast<CollectiveInstructionOp>(op);
  bool reduces =
      collective && collective.getKind() == CollectiveKind::AllReduce;
  if (!reduces && !isa<CopyOp>(op))
    return {};
  ArrayRef<int64_t> named =
      op->getAttrOfType<DenseI64ArrayAttr>("slots").asArrayRef();
  llvm::DenseMap<int64_t, int64_t> counts; // one call may name thousands
  for (int64_t slot : named)
    ++counts[slot];
  SlotPairs pairs;
  for (auto [source, target] :
       llvm::zip_equal(named.take_front(named.size() / 2),
                       named.drop_front(named.size() / 2)))
    if (counts[source] == 1 && counts[target] == 1)
      pairs.push_back({source, target});
  return pairs;
}

/// Arguments persist, and so do values that one section of a program leaves for
/// another, or a body for the next.
void SlotSharer::findPersistent() {
  for (auto [slot, op] : llvm::enumerate(slots))
    persists[slot] = op.getArgument().has_value();
  for (Region *section : {&program.getSetup(), &program.getTeardown()})
    for (Operation &op : section->front())
      for (SlotAccess access : getAccesses(op, symbols))
        persists[access.slot] = true;
  std::vector<bool> isWritten(list.getNumCopies());
  for (const ProgramList::Item &item : list.items()) {
    ArrayRef<SlotAccess> its = accesses[item.instruction];
    for (SlotAccess access : its)
      if (access.reads && !isWritten[list.getCopy(access.slot, item)])
        persists[access.slot] = true;
    for (SlotAccess access : its)
      if (access.writes)
        isWritten[list.getCopy(access.slot, item)] = true;
  }
}

void SlotSharer::measureLives() {
  auto forEachPersistent = [&](function_ref<void(Lives &)> visit) {
    for (auto [number, slot] : llvm::enumerate(slots))
      for (int64_t copy = 0;
           persists[number] && copy < int64_t(slot.getCopies()); ++copy)
        visit(livesOf(number, copy));
  };
  forEachPersistent([](Lives &own) { own.push_back({kStart, kStart}); });
  for (auto [index, item] : llvm::enumerate(list.items())) {
    int64_t now = index;
    ArrayRef<SlotAccess> its = accesses[item.instruction];
    for (SlotAccess access : its)
      if (access.reads)
        lives[list.getCopy(access.slot, item)].back().end = now;
    for (SlotAccess access : its) {
      Lives &own = lives[list.getCopy(access.slot, item)];
      // A slot that is overwritten in place lives on.
      if (access.writes && (own.empty() || own.back().end != now))
        own.push_back({now, now});
    }
  }
  forEachPersistent([](Lives &own) { own.back().end = kEnd; });
}

bool SlotSharer::handsOver(int64_t index, int64_t from, int64_t to) {
  if (index < 0 || index >= static_cast<int64_t>(list.items().size()))
    return false;
  return llvm::any_of(pairs[list.items()[index].instruction], [&](auto pair) {
    return find(pair.first) == from && find(pair.second) == to;
  });
}

bool SlotSharer::interfere(int64_t a, int64_t b) {
  return llvm::any_of(llvm::seq<int64_t>(slots[a].getCopies()),
                      [&](int64_t copy) { return interfere(a, b, copy); });
}

bool SlotSharer::interfere(int64_t a, int64_t b, int64_t copy) {
  ArrayRef<Life> ofA = livesOf(a, copy), ofB = livesOf(b, copy);
  while (!ofA.empty() && !ofB.empty()) {
    Life x = ofA.front(), y = ofB.front();
    bool meet = x.begin <= y.end && y.begin <= x.end;
    if (meet && !(x.end == y.begin && handsOver(x.end, a, b)) &&
        !(y.end == x.begin && handsOver(y.end, b, a)))
      return true;
    if (x.end <= y.end)
      ofA = ofA.drop_front();
    else
      ofB = ofB.drop_front();
  }
  return false;
}

/// Leaves none in `from`.
static void moveLives(Lives &from, Lives &to) {
  Lives both;
  std::merge(from.begin(), from.end(), to.begin(), to.end(),
             std::back_inserter(both), [](const Life &a, const Life &b) {
               return std::pair(a.begin, a.end) < std::pair(b.begin, b.end);
             });
  from.clear();
  to.clear();
  for (Life life : both)
    if (!to.empty() && to.back().end >= life.begin)
      to.back().end = std::max(to.back().end, life.end);
    else
      to.push_back(life);
}

void SlotSharer::tryToJoin(int64_t source, int64_t target, bool isCopy) {
  source = find(source);
  target = find(target);
  // Received values are placed apart (MessageTime.cpp).
  auto isReceived = [&](int64_t slot) {
    return slots[slot].getSlotClass() == SlotClass::Communication;
  };
  if (source == target || isReceived(source) || isReceived(target) ||
      (persists[source] && persists[target]) ||
      slots[source].getType() != slots[target].getType() ||
      slots[source].getCopies() != slots[target].getCopies() ||
      interfere(source, target))
    return;
  // A copy goes to where the value belongs.
  bool keepsTarget = persists[target] || (isCopy && !persists[source]);
  int64_t kept = keepsTarget ? target : source;
  int64_t dropped = kept == source ? target : source;
  joinedWith[dropped] = kept;
  for (int64_t copy = 0; copy < int64_t(slots[kept].getCopies()); ++copy)
    moveLives(livesOf(dropped, copy), livesOf(kept, copy));
}

/// Names the slots that are kept by their new numbers; drops the others, and
/// the copies between slots that became one.
void SlotSharer::rewrite() {
  SmallVector<int64_t> numbers(slots.size());
  int64_t numKept = 0;
  for (int64_t slot = 0; slot < static_cast<int64_t>(slots.size()); ++slot)
    if (find(slot) == slot)
      numbers[slot] = numKept++;
  auto rename = [&](Operation &op) {
    SmallVector<int64_t> renamed;
    for (int64_t slot :
         op.getAttrOfType<DenseI64ArrayAttr>("slots").asArrayRef())
      renamed.push_back(numbers[find(slot)]);
    if (isa<CopyOp>(op) && renamed[0] == renamed[1])
      op.erase();
    else
      op.setAttr("slots", DenseI64ArrayAttr::get(op.getContext(), renamed));
  };
  for (Region *section : {&program.getSetup(), &program.getTeardown()})
    for (Operation &op : llvm::make_early_inc_range(section->front()))
      rename(op);
  for (Operation *op : list.instructions())
    rename(*op);
  for (auto [number, slot] : llvm::enumerate(slots))
    if (joinedWith[number] != static_cast<int64_t>(number))
      slot.erase();
}

void SlotSharer::run() {
  findPersistent();
  measureLives();
  for (auto [op, ofOp] : llvm::zip_equal(list.instructions(), pairs))
    for (auto [source, target] : ofOp)
      tryToJoin(source, target, isa<CopyOp>(op));
  rewrite();
}

struct ShareSlotsPass : pp::impl::ShareSlotsBase<ShareSlotsPass> {
  void runOnModule() override {
    auto programs = lookupPrograms(getOperation());
    if (failed(programs))
      return signalPassFailure();
    SymbolTable symbols(getOperation());
    for (ProgramOp program : *programs)
      SlotSharer(program, symbols).run();
  }
};

} // namespace
