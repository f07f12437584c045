//===- ArenaLayout.cpp - places slots in the arena ------------------------===//
//
// SPDX-License-Identifier: Apache-2.0
//
// Greedy by size (Pisarchyk and Lee, "Efficient Memory Management for Deep
// Neural Net Inference", 2020): the largest slot first, each at the lowest gap
// among the placed slots that live at the same time. A second order, by start,
// wins when lifetimes are stack-like; the smaller result is kept. Slots that
// live at the same time are found by scanning all placed slots, or by sorting
// them, whichever is faster: in models of layers most live long, with many
// micro-batches few live together.
//
//===----------------------------------------------------------------------===//
#include "Slots.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/SmallVector.h"
#include "llvm/Support/MathExtras.h"
#include <cmath>

using namespace llvm;
using namespace pp;

namespace {

int64_t alignedBytes(const SlotLifetime &slot) {
  return alignTo(slot.bytes, pprt::kSlotAlignment);
}

/// The slots that are placed, by lifetime: a tree over all slots in the order
/// of their starts, in which a node knows the last end of those placed below
/// it.
class PlacedSlots {
public:
  explicit PlacedSlots(ArrayRef<SlotLifetime> slots) : slots(slots) {
    for (auto [index, slot] : enumerate(slots))
      if (slot.first >= 0)
        byStart.push_back(index);
    stable_sort(byStart, [&](unsigned a, unsigned b) {
      return slots[a].first < slots[b].first;
    });
    place.resize(slots.size());
    for (auto [position, index] : enumerate(byStart))
      place[index] = position;
    leaves = PowerOf2Ceil(std::max<size_t>(1, byStart.size()));
    lastEnd.assign(2 * leaves, -1);
  }

  void add(unsigned index) {
    for (size_t node = leaves + place[index]; node > 0; node /= 2)
      lastEnd[node] = std::max(lastEnd[node], slots[index].last);
  }

  /// Those that live with `slot`, in any order.
  void findNeighbours(const SlotLifetime &slot,
                      SmallVectorImpl<unsigned> &found) const {
    const auto end = partition_point(byStart, [&](unsigned index) {
      return slots[index].first <= slot.last;
    });
    collect(1, 0, leaves, end - byStart.begin(), slot.first, found);
  }

private:
  /// Among the leaves [begin, begin + count) below `node`, collects those
  /// before `end`.
  void collect(size_t node, size_t begin, size_t count, size_t end,
               int64_t first, SmallVectorImpl<unsigned> &found) const {
    if (begin >= end || lastEnd[node] < first)
      return;
    if (count == 1)
      return found.push_back(byStart[begin]);
    collect(2 * node, begin, count / 2, end, first, found);
    collect(2 * node + 1, begin + count / 2, count / 2, end, first, found);
  }

  ArrayRef<SlotLifetime> slots;
  SmallVector<unsigned> byStart;
  SmallVector<size_t> place; ///< of a slot, in byStart
  size_t leaves = 1;
  SmallVector<int64_t> lastEnd; ///< by node; children of n are 2n and 2n + 1
};

/// The lowest gap for `slot` among others, which are in the order of offsets.
int64_t findGap(const SlotLifetime &slot, ArrayRef<unsigned> others,
                ArrayRef<SlotLifetime> slots, int64_t base, int64_t alignment) {
  int64_t offset = base;
  for (unsigned other : others) {
    const SlotLifetime &neighbour = slots[other];
    if (neighbour.last < slot.first || slot.last < neighbour.first)
      continue;
    if (neighbour.offset >= offset + alignedBytes(slot))
      break;
    offset = std::max<int64_t>(
        offset, alignTo(neighbour.offset + alignedBytes(neighbour), alignment));
  }
  return offset;
}

/// Whether slots are looked through sooner than those that live with each are
/// found and sorted, which takes about as long as to look at so many times
/// more.
bool looksSooner(ArrayRef<SlotLifetime> slots, ArrayRef<unsigned> order) {
  constexpr double ofSorting = 4;
  std::vector<int64_t> starts, ends;
  for (unsigned index : order) {
    starts.push_back(slots[index].first);
    ends.push_back(slots[index].last);
  }
  llvm::sort(starts);
  llvm::sort(ends);
  double pairs = 0;
  for (unsigned index : order)
    pairs += double(upper_bound(starts, slots[index].last) - starts.begin()) -
             double(lower_bound(ends, slots[index].first) - ends.begin());
  const double all = double(order.size()), each = pairs / std::max(1.0, all);
  return all * all <= ofSorting * pairs * std::log2(2 + each);
}

int64_t placeInOrder(MutableArrayRef<SlotLifetime> slots,
                     ArrayRef<unsigned> order, int64_t base,
                     int64_t alignment) {
  const bool looksAtAll = looksSooner(slots, order);
  int64_t end = base;
  PlacedSlots placed(slots);
  SmallVector<unsigned> others; // by offset
  auto isLower = [&](unsigned a, unsigned b) {
    return slots[a].offset < slots[b].offset;
  };
  for (unsigned index : order) {
    SlotLifetime &slot = slots[index];
    if (!looksAtAll) {
      others.clear();
      placed.findNeighbours(slot, others);
      sort(others, isLower);
    }
    slot.offset = findGap(slot, others, slots, base, alignment);
    end = std::max(end, slot.offset + alignedBytes(slot));
    if (looksAtAll)
      others.insert(upper_bound(others, index, isLower), index);
    else
      placed.add(index);
  }
  return end;
}

} // namespace

int64_t pp::layoutSlots(MutableArrayRef<SlotLifetime> slots, int64_t base,
                        int64_t alignment) {
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
  int64_t endBySize = placeInOrder(slots, bySize, base, alignment);
  int64_t endByStart = placeInOrder(other, byStart, base, alignment);
  if (endByStart >= endBySize)
    return endBySize;
  copy(other, slots.begin());
  return endByStart;
}
