//===- MemoryUse.cpp - the contents of an arena at its peak ---------------===//
//
// SPDX-License-Identifier: Apache-2.0
//
// A value lives from the instruction that writes it to the last that reads it;
// a slot that keeps its value between steps lives through all of the body.
//
//===----------------------------------------------------------------------===//
#include "pprt/MemoryUse.h"
#include "ListAccesses.h"
#include "pprt/SlotAccesses.h"

#include <algorithm>
#include <limits>

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
static size_t findPeak(const ppx::ProgramT &program, size_t size,
                       const std::vector<SlotLife> &lives) {
  std::vector<int64_t> change(size + 1);
  for (const SlotLife &life : lives) {
    change[life.first] += int64_t(program.slots[life.slot]->bytes);
    change[life.last + 1] -= int64_t(program.slots[life.slot]->bytes);
  }
  int64_t live = 0, most = -1;
  size_t peak = 0;
  for (size_t i = 0; i < size; ++i)
    if ((live += change[i]) > most) {
      most = live;
      peak = i;
    }
  return peak;
}

namespace {

/// Walks a body and begins and extends values.
class LivesOfBody {
public:
  LivesOfBody(const ppx::ProgramT &program, size_t size)
      : copies(program), current(copies.size(), kNone), hasOne(copies.size()),
        readAt(copies.size(), std::numeric_limits<size_t>::max()) {
    for (uint32_t copy = 0; copy < copies.size(); ++copy) {
      hasOne[copy] = livesThroughStep(copies[copy].slot_class);
      if (hasOne[copy])
        current[copy] = begin(copy, 0, size - 1);
    }
  }

  void visit(size_t index, const std::vector<SlotAccess> &accesses) {
    for (const SlotAccess &access : accesses)
      if (access.reads)
        readAt[numberOf(access)] = index;
    for (const SlotAccess &access : accesses) {
      const uint32_t copy = numberOf(access);
      const bool isRead = readAt[copy] == index;
      if (current[copy] == kNone || (!isRead && !hasOne[copy]))
        current[copy] = begin(copy, index, index);
    }
    std::vector<uint32_t> &its = lives.touched.emplace_back();
    for (const SlotAccess &access : accesses) {
      its.push_back(current[numberOf(access)]);
      SlotLife &life = lives.all[its.back()];
      life.last = std::max(life.last, index);
    }
  }

  SlotLives lives;

private:
  static constexpr uint32_t kNone = ~uint32_t(0);

  uint32_t numberOf(const SlotAccess &access) const {
    return copies.number(access.slot, access.copy);
  }
  uint32_t begin(uint32_t copy, size_t first, size_t last) {
    lives.all.push_back({copies.slotOf(copy), copy, first, last});
    return uint32_t(lives.all.size() - 1);
  }

  const SlotCopies copies;
  std::vector<uint32_t> current; ///< by copy
  std::vector<bool> hasOne;      ///< by copy: one value throughout
  std::vector<size_t> readAt;    ///< by copy: the last instruction that reads
};

} // namespace

SlotLives pprt::livesOf(const ppx::ArtifactT &artifact,
                        const ppx::ProgramT &program) {
  const InstructionList body(program, Section::body);
  if (body.empty())
    return {};
  LivesOfBody lives(program, body.size());
  ListAccesses accesses(artifact, body);
  for (size_t i = 0; i < body.size(); ++i)
    lives.visit(i, accesses.of(i));
  lives.lives.peak = findPeak(program, body.size(), lives.lives.all);
  return std::move(lives.lives);
}

std::vector<bool> SlotLives::atPeak(const SlotCopies &copies) const {
  std::vector<bool> result(copies.size());
  for (const SlotLife &life : all)
    if (life.contains(peak))
      result[life.copy] = true;
  return result;
}

MemoryUse pprt::memoryOf(const ppx::ArtifactT &artifact,
                         const ppx::ProgramT &program) {
  return memoryOf(program, livesOf(artifact, program));
}

MemoryUse pprt::memoryOf(const ppx::ProgramT &program, const SlotLives &lives) {
  MemoryUse use;
  use.peak = program.arena_bytes;
  for (const SlotLife &life : lives.all)
    if (life.contains(lives.peak))
      columnOf(program.slots[life.slot]->slot_class, use) +=
          program.slots[life.slot]->bytes;
  return use;
}
