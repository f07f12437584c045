//===- MessageTime.cpp - time to send and to receive ----------------------===//
//
// SPDX-License-Identifier: Apache-2.0
//
// A receive that takes bytes of the action before it is posted late, and an
// action that overwrites what was just sent waits for that: either puts stages
// in lock step. So received values live an action earlier and sent ones an
// action longer, as far as what lives at once does not grow.
//
//===----------------------------------------------------------------------===//
#include "Slots.h"
#include "llvm/ADT/STLExtras.h"

using namespace mlir;
using namespace pp;

/// The places in the list at which actions begin. Receives are of none: they
/// are named after the action that sends.
static SmallVector<int64_t> findActions(const ProgramList &list) {
  SmallVector<int64_t> begins;
  std::optional<std::tuple<Attribute, Attribute, int>> current;
  for (auto [index, item] : llvm::enumerate(list.items())) {
    Operation *op = list.getOp(item);
    if (isa<RecvOp>(op))
      continue;
    const std::tuple action(op->getAttr("phase"), op->getAttr("stage"),
                            item.microBatch);
    if (current != action)
      begins.push_back(index);
    current = action;
  }
  return begins;
}

void pp::giveMessagesTime(const ProgramList &list,
                          ArrayRef<SmallVector<SlotAccess>> accesses,
                          MessageTime time,
                          MutableArrayRef<CopyLifetime> lifetimes) {
  std::vector<int64_t> live(list.items().size() + 1);
  for (const CopyLifetime &slot : lifetimes)
    if (slot.first >= 0) {
      live[slot.first] += slot.bytes;
      live[slot.last + 1] -= slot.bytes;
    }
  for (size_t index = 1; index < live.size(); ++index)
    live[index] += live[index - 1];
  const int64_t most = *llvm::max_element(live);
  auto fits = [&](const CopyLifetime &slot, int64_t index) {
    return live[index] + slot.bytes <= most;
  };

  const SmallVector<int64_t> actions = findActions(list);
  if (actions.empty())
    return;
  size_t action = 0; // the last that began
  for (auto [index, item] : llvm::enumerate(list.items())) {
    while (action + 1 < actions.size() && actions[action + 1] <= int64_t(index))
      ++action;
    Operation *op = list.getOp(item);
    if (!isa<RecvOp, SendOp>(op))
      continue;
    CopyLifetime &slot = lifetimes[list.getCopy(
        accesses[item.instruction][0].slot, item.microBatch)];
    if (slot.first < 0)
      continue;
    if (isa<RecvOp>(op)) {
      slot.pendingFrom = std::min(slot.first, actions[action]);
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
    const int64_t latest = action + 2 < actions.size()
                               ? actions[action + 2] - 1
                               : list.items().size() - 1;
    while (slot.last < latest && fits(slot, slot.last + 1))
      live[++slot.last] += slot.bytes;
  }
}
