//===- MessageTime.cpp - time to send and to receive ----------------------===//
//
// SPDX-License-Identifier: Apache-2.0
//
// A receive that takes bytes of the run before it is posted late, and a run
// that overwrites what was just sent waits for that: either puts stages in lock
// step. So received values live a run earlier and sent ones a run longer, as
// far as what lives at once does not grow.
//
//===----------------------------------------------------------------------===//
#include "Slots.h"
#include "llvm/ADT/STLExtras.h"

using namespace mlir;
using namespace pp;

/// Whether two instructions are of one run of a fragment.
static bool isOfOneRun(Operation *a, Operation *b) {
  return llvm::all_of(
      ArrayRef<StringRef>{"phase", "stage", "micro_batch"},
      [&](StringRef name) { return a->getAttr(name) == b->getAttr(name); });
}

/// Instructions at which runs begin. Receives are of none: they are named after
/// the run that sends.
static SmallVector<int64_t> findRuns(ArrayRef<Operation *> instructions) {
  SmallVector<int64_t> runs;
  for (auto [index, op] : llvm::enumerate(instructions))
    if (!isa<RecvOp>(op) &&
        (runs.empty() || !isOfOneRun(op, instructions[runs.back()])))
      runs.push_back(index);
  return runs;
}

void pp::giveMessagesTime(ArrayRef<Operation *> instructions,
                          ArrayRef<SmallVector<SlotAccess>> accesses,
                          MessageTime time,
                          MutableArrayRef<SlotLifetime> lifetimes) {
  std::vector<int64_t> live(instructions.size() + 1);
  for (const SlotLifetime &slot : lifetimes)
    if (slot.first >= 0) {
      live[slot.first] += slot.bytes;
      live[slot.last + 1] -= slot.bytes;
    }
  for (size_t index = 1; index < live.size(); ++index)
    live[index] += live[index - 1];
  const int64_t most = *llvm::max_element(live);
  auto fits = [&](const SlotLifetime &slot, int64_t index) {
    return live[index] + slot.bytes <= most;
  };

  const SmallVector<int64_t> runs = findRuns(instructions);
  size_t run = 0; // the last that began
  for (auto [index, op] : llvm::enumerate(instructions)) {
    while (run + 1 < runs.size() && runs[run + 1] <= int64_t(index))
      ++run;
    if (!isa<RecvOp, SendOp>(op))
      continue;
    SlotLifetime &slot = lifetimes[accesses[index][0].slot];
    if (slot.first < 0)
      continue;
    if (isa<RecvOp>(op)) {
      slot.pendingFrom = std::min(slot.first, runs[run]);
      slot.postable = slot.first;
      const int64_t earliest = time == MessageTime::None ? slot.first
                               : time == MessageTime::Scant
                                   ? (slot.pendingFrom + slot.first) / 2
                                   : slot.pendingFrom;
      while (slot.postable > earliest && fits(slot, slot.postable - 1))
        live[--slot.postable] += slot.bytes;
      continue;
    }
    slot.isSent = true;
    if (time != MessageTime::Ample)
      continue;
    const int64_t latest =
        run + 2 < runs.size() ? runs[run + 2] - 1 : instructions.size() - 1;
    while (slot.last < latest && fits(slot, slot.last + 1))
      live[++slot.last] += slot.bytes;
  }
}
