//===- ArenaLayout.cpp - places slots in the arena ------------------------===//
//
// SPDX-License-Identifier: Apache-2.0
//
// Offline dynamic storage allocation. No layout is smaller than what lives at
// once; one that is hardly larger is taken as soon as it is found. Few blocks
// are placed by search. Where thousands of values live together, as in GPipe
// with many micro-batches, they are placed outwards from the fullest
// instruction, and searched too if there are not too many pairs.
//
//===----------------------------------------------------------------------===//
#include "ArenaBlocks.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/Support/MathExtras.h"

using namespace llvm;
using namespace pp;

int64_t pp::findMostLive(ArrayRef<CopyLifetime> slots, int64_t alignment) {
  int64_t end = 0;
  for (const CopyLifetime &slot : slots)
    end = std::max(end, slot.last + 1);
  std::vector<int64_t> changes(end + 1);
  for (const CopyLifetime &slot : slots)
    if (slot.first >= 0) {
      const int64_t bytes = alignTo(slot.bytes, alignment);
      changes[slot.first] += bytes;
      changes[slot.last + 1] -= bytes;
    }
  int64_t live = 0, most = 0;
  for (int64_t change : changes)
    most = std::max(most, live += change);
  return most;
}

/// Places `slots`; the end is kNoLayout if each layout that was found ends with
/// scratch memory. At most `live` bytes live at once, behind `base` others.
static ArenaLayout place(ArrayRef<CopyLifetime> slots, int64_t live,
                         int64_t base, ArenaBlocks &blocks) {
  constexpr size_t few = 4096, most = 12288;
  constexpr int64_t steps = int64_t(1) << 24;
  const int64_t goal = live + (base + live) / 256;
  const int64_t period = findPeriod(slots);
  blocks = formBlocks(slots, period);
  int64_t inTurns = kNoLayout;
  if (blocks.size() <= few) {
    inTurns = placeBySearch(blocks, goal, steps);
    if (inTurns <= goal || period == 0)
      return {inTurns, period};
  }
  ArenaBlocks single = formBlocks(slots, /*period=*/0);
  const int64_t alone = single.size() <= few
                            ? placeBySearch(single, goal, steps)
                            : placeOutwards(single, goal);
  if (blocks.size() > few && alone > goal && blocks.size() <= most)
    inTurns = placeBySearch(blocks, goal, steps);
  if (inTurns <= alone)
    return {inTurns, period};
  blocks = std::move(single);
  return {alone, 0};
}

ArenaLayout pp::layoutSlots(MutableArrayRef<CopyLifetime> slots, int64_t base) {
  base = alignTo(
      base,
      any_of(slots, [](const CopyLifetime &slot) { return slot.isScratch; })
          ? pprt::kWorkspaceAlignment
          : pprt::kSlotAlignment);
  const int64_t live = findMostLive(slots, pprt::kSlotAlignment);
  ArenaBlocks blocks;
  auto [end, period] = place(slots, live, base, blocks);
  int64_t others = base;
  if (end == kNoLayout) {
    // Scratch memory lies below all others.
    std::vector<CopyLifetime> rest(slots.begin(), slots.end());
    int64_t scratch = 0;
    for (CopyLifetime &slot : rest)
      if (slot.isScratch) {
        scratch = std::max(scratch, slot.bytes);
        slot.first = -1;
      }
    scratch = alignTo(scratch, pprt::kSlotAlignment);
    others += scratch;
    const ArenaLayout ofRest = place(rest, live, base, blocks);
    end = scratch + ofRest.end;
    period = ofRest.period;
  }
  turnScratchDown(blocks);
  for (CopyLifetime &slot : slots)
    slot.offset = base;
  for (const ArenaBlock &block : blocks)
    for (unsigned slot : block.slots)
      slots[slot].offset = others + block.offset;
  return {base + end, period};
}
