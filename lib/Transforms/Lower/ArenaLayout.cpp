//===- ArenaLayout.cpp - offsets for slots with lifetimes -----------------===//
//
// SPDX-License-Identifier: Apache-2.0
//
// Greedy by size (Pisarchyk and Lee, "Efficient Memory Management for Deep
// Neural Net Inference", 2020): the largest slot first, each at the lowest gap
// among the slots already placed that live with it. A second order, by start,
// wins when lifetimes are stack-like; the smaller result is kept.
//
//===----------------------------------------------------------------------===//
#include "ArenaLayout.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/SmallVector.h"
#include "llvm/Support/MathExtras.h"

using namespace llvm;
using namespace pp;

namespace {

int64_t alignedBytes(const SlotLifetime &slot) {
  return alignTo(slot.bytes, kSlotAlignment);
}

int64_t placeInOrder(MutableArrayRef<SlotLifetime> slots,
                     ArrayRef<unsigned> order, int64_t base) {
  int64_t end = base;
  SmallVector<unsigned> placed; // by offset
  for (unsigned index : order) {
    SlotLifetime &slot = slots[index];
    int64_t offset = base;
    for (unsigned other : placed) {
      const SlotLifetime &neighbour = slots[other];
      if (neighbour.last < slot.first || slot.last < neighbour.first)
        continue;
      if (neighbour.offset >= offset + alignedBytes(slot))
        break;
      offset = std::max(offset, neighbour.offset + alignedBytes(neighbour));
    }
    slot.offset = offset;
    end = std::max(end, offset + alignedBytes(slot));
    auto position =
        upper_bound(placed, offset, [&](int64_t value, unsigned other) {
          return value < slots[other].offset;
        });
    placed.insert(position, index);
  }
  return end;
}

} // namespace

int64_t pp::layoutSlots(MutableArrayRef<SlotLifetime> slots, int64_t base) {
  SmallVector<unsigned> bySize;
  for (auto [index, slot] : enumerate(slots)) {
    slot.offset = base;
    if (slot.first >= 0)
      bySize.push_back(index);
  }
  SmallVector<unsigned> byStart(bySize);
  stable_sort(bySize, [&](unsigned a, unsigned b) {
    return slots[a].bytes > slots[b].bytes;
  });
  stable_sort(byStart, [&](unsigned a, unsigned b) {
    return slots[a].first < slots[b].first;
  });

  SmallVector<SlotLifetime> other(slots.begin(), slots.end());
  int64_t endBySize = placeInOrder(slots, bySize, base);
  int64_t endByStart = placeInOrder(other, byStart, base);
  if (endByStart >= endBySize)
    return endBySize;
  copy(other, slots.begin());
  return endByStart;
}
