//===- ArenaBlocks.cpp - slots that take one place in turn ----------------===//
//
// SPDX-License-Identifier: Apache-2.0
//
//===----------------------------------------------------------------------===//
#include "ArenaBlocks.h"
#include "llvm/ADT/DenseMap.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/Support/MathExtras.h"
#include <map>

using namespace llvm;
using namespace pp;

/// The end of scratch memory if nothing else ends there, else 0.
static int64_t findTopScratch(const ArenaBlocks &blocks) {
  int64_t ofScratch = 0, ofOthers = 0;
  for (const ArenaBlock &block : blocks) {
    int64_t &end = block.isScratch ? ofScratch : ofOthers;
    end = std::max(end, block.end());
  }
  return ofScratch > ofOthers ? ofScratch : 0;
}

int64_t pp::findEnd(const ArenaBlocks &blocks) {
  int64_t end = findTopScratch(blocks);
  if (end == 0) {
    for (const ArenaBlock &block : blocks)
      end = std::max(end, block.end());
    return end;
  }
  return any_of(blocks,
                [](const ArenaBlock &block) {
                  return !block.isScratch && block.offset == 0;
                })
             ? end
             : kNoLayout;
}

void pp::turnScratchDown(ArenaBlocks &blocks) {
  if (const int64_t top = findTopScratch(blocks))
    for (ArenaBlock &block : blocks)
      block.offset = top - block.end();
}

ArenaBlocks pp::formBlocks(ArrayRef<CopyLifetime> slots, int64_t period) {
  ArenaBlocks blocks;
  DenseMap<std::pair<int64_t, int64_t>, size_t> shared;
  for (auto [index, slot] : enumerate(slots)) {
    if (slot.first < 0 || slot.bytes == 0)
      continue;
    size_t place = blocks.size();
    if (period > 0 && slot.pattern >= 0)
      place = shared.try_emplace({slot.pattern, slot.copy % period}, place)
                  .first->second;
    if (place == blocks.size())
      blocks.push_back({{},
                        {},
                        int64_t(alignTo(slot.bytes, slot.alignment)),
                        slot.alignment,
                        slot.postable >= 0,
                        slot.isSent,
                        slot.isScratch});
    ArenaBlock &block = blocks[place];
    block.slots.push_back(index);
    block.isSent |= slot.isSent;
    block.lives.push_back(
        block.isReceived
            ? ArenaLife{slot.first, slot.last, slot.postable, slot.pendingFrom}
            : ArenaLife{slot.first, slot.last, slot.first, slot.first});
  }
  for (ArenaBlock &block : blocks)
    llvm::sort(block.lives, [](const ArenaLife &a, const ArenaLife &b) {
      return a.first < b.first;
    });
  return blocks;
}

int64_t pp::findPeriod(ArrayRef<CopyLifetime> slots) {
  std::map<int64_t, SmallVector<const CopyLifetime *>> patterns;
  for (const CopyLifetime &slot : slots)
    if (slot.first >= 0 && slot.pattern >= 0)
      patterns[slot.pattern].push_back(&slot);
  int64_t most = 0; // of one pattern that live together
  int64_t numMicroBatches = 0;
  for (auto &[pattern, alike] : patterns) {
    llvm::sort(alike, [](const CopyLifetime *a, const CopyLifetime *b) {
      return a->first < b->first;
    });
    SmallVector<int64_t> ends = map_to_vector(
        alike, [](const CopyLifetime *slot) { return slot->last; });
    llvm::sort(ends);
    int64_t ended = 0;
    for (auto [started, slot] : enumerate(alike)) {
      while (ends[ended] < slot->first)
        ++ended;
      most = std::max<int64_t>(most, started + 1 - ended);
      numMicroBatches = std::max(numMicroBatches, slot->copy + 1);
    }
  }
  auto isPeriod = [&](int64_t period) {
    SmallVector<int64_t> last;
    for (const auto &[pattern, alike] : patterns) {
      last.assign(period, -1);
      for (const CopyLifetime *slot : alike) {
        int64_t &end = last[slot->copy % period];
        if (slot->first <= end)
          return false;
        end = slot->last;
      }
    }
    return true;
  };
  // A schedule that repeats needs no more than it holds, or few more.
  constexpr int64_t tries = 4;
  for (int64_t period = std::max<int64_t>(most, 1);
       period < std::min(numMicroBatches, most + tries); ++period)
    if (isPeriod(period))
      return period;
  return 0;
}
