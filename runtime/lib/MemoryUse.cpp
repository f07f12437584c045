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

using namespace pprt;

static uint64_t &columnOf(ppx::SlotClass slotClass, MemoryUse &use) {
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

/// The instruction at which live slots are largest.
static size_t findPeak(const ppx::ProgramT &program,
                       const std::vector<SlotLife> &lives) {
  std::vector<int64_t> change(program.body.size() + 1);
  for (size_t slot = 0; slot < lives.size(); ++slot) {
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
  return peak;
}

SlotLives pprt::livesOf(const ppx::ProgramT &program) {
  SlotLives lives;
  lives.slots.resize(program.slots.size());
  if (program.body.empty())
    return lives;
  const auto touch = [&](uint32_t slot, size_t index) {
    SlotLife &life = lives.slots[wholeSlot(program, slot)];
    life.first = std::min(life.first, index);
    life.last = std::max(life.last, index);
  };
  for (size_t i = 0; i < program.body.size(); ++i)
    for (uint32_t slot : program.body[i]->arguments)
      touch(slot, i);
  for (uint32_t slot = 0; slot < program.slots.size(); ++slot)
    if (livesThroughStep(program.slots[slot]->slot_class)) {
      touch(slot, 0);
      touch(slot, program.body.size() - 1);
    }
  lives.peak = findPeak(program, lives.slots);
  return lives;
}

MemoryUse pprt::memoryOf(const ppx::ProgramT &program) {
  MemoryUse use;
  use.peak = program.arena_bytes;
  const SlotLives lives = livesOf(program);
  for (size_t slot = 0; slot < lives.slots.size(); ++slot)
    if (lives.slots[slot].contains(lives.peak))
      columnOf(program.slots[slot]->slot_class, use) +=
          program.slots[slot]->bytes;
  return use;
}
