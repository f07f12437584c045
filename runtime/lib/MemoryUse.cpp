//===- MemoryUse.cpp - the contents of an arena at its peak ---------------===//
//
// SPDX-License-Identifier: Apache-2.0
//
// A slot lives from its first to its last use in the body; a slot that keeps
// its value between steps lives through all of it.
//
//===----------------------------------------------------------------------===//
#include "pprt/MemoryUse.h"

#include <algorithm>
#include <limits>

using namespace pprt;

namespace {

/// The first and last instruction of a body that touch a slot.
struct Life {
  size_t first = std::numeric_limits<size_t>::max(), last = 0;
  void touch(size_t index) {
    first = std::min(first, index);
    last = std::max(last, index);
  }
};

uint64_t &columnOf(ppx::SlotClass slotClass, MemoryUse &use) {
  switch (slotClass) {
  case ppx::SlotClass_parameter:
    return use.parameters;
  case ppx::SlotClass_optimizer:
    return use.optimizer;
  case ppx::SlotClass_gradient:
    return use.gradients;
  case ppx::SlotClass_activation:
  case ppx::SlotClass_input:
    return use.activations;
  case ppx::SlotClass_gathered:
    return use.gathered;
  case ppx::SlotClass_workspace:
    return use.workspace;
  case ppx::SlotClass_communication:
    break;
  }
  return use.communication;
}

} // namespace

/// Finds the live slots at the instruction of the body that needs the most.
MemoryUse pprt::memoryOf(const ppx::ProgramT &program) {
  MemoryUse use;
  use.peak = program.arena_bytes;
  if (program.body.empty())
    return use;
  std::vector<Life> lives(program.slots.size());
  for (size_t i = 0; i < program.body.size(); ++i)
    for (uint32_t slot : program.body[i]->arguments)
      lives[slot].touch(i);
  std::vector<int64_t> change(program.body.size() + 1);
  for (size_t slot = 0; slot < lives.size(); ++slot) {
    const ppx::SlotClass slotClass = program.slots[slot]->slot_class;
    // Slots that keep their value between steps live through all of the body.
    if (slotClass == ppx::SlotClass_parameter ||
        slotClass == ppx::SlotClass_optimizer)
      lives[slot] = {0, program.body.size() - 1};
    if (lives[slot].first > lives[slot].last)
      continue;
    change[lives[slot].first] += int64_t(program.slots[slot]->bytes);
    change[lives[slot].last + 1] -= int64_t(program.slots[slot]->bytes);
  }
  int64_t live = 0, most = -1;
  size_t peak = 0;
  for (size_t i = 0; i < program.body.size(); ++i)
    if ((live += change[i]) > most) {
      most = live;
      peak = i;
    }
  for (size_t slot = 0; slot < lives.size(); ++slot)
    if (lives[slot].first <= peak && peak <= lives[slot].last)
      columnOf(program.slots[slot]->slot_class, use) +=
          program.slots[slot]->bytes;
  return use;
}
