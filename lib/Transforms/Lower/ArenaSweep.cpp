//===- ArenaSweep.cpp - place slots from the fullest moment outwards ------===//
//
// SPDX-License-Identifier: Apache-2.0
//
// What lives at the fullest instruction is stacked without gaps. From there
// instructions are visited forwards and then backwards: what is no longer live
// leaves a gap, and what begins to be takes the smallest gap that is large
// enough. This takes as long as sorting, however much lives together, and is
// close to the best when micro-batches come and go in one order, as in GPipe.
// Received values lie below all others.
//
//===----------------------------------------------------------------------===//
#include "ArenaBlocks.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/Support/MathExtras.h"
#include <array>
#include <map>
#include <set>

using namespace llvm;
using namespace pp;

namespace {

/// The bytes that no live block takes; the last gap has no end.
class Gaps {
public:
  void add(int64_t begin, int64_t end) {
    if (begin == end)
      return;
    auto next = byBegin.lower_bound(begin);
    if (next != byBegin.end() && next->first == end) {
      end = next->second;
      next = remove(next);
    }
    if (next != byBegin.begin())
      if (auto before = std::prev(next); before->second == begin) {
        begin = before->first;
        remove(before);
      }
    insert(begin, end);
  }

  /// Takes bytes of the smallest gap that has them; returns their begin.
  int64_t take(int64_t bytes, int64_t alignment) {
    for (auto gap = bySize.lower_bound({bytes, 0});; ++gap) {
      const int64_t begin = gap->second, end = begin + gap->first;
      const int64_t offset = alignTo(begin, alignment);
      if (offset + bytes > end)
        continue;
      remove(byBegin.find(begin));
      insert(begin, offset);
      insert(offset + bytes, end);
      return offset;
    }
  }

private:
  using ByBegin = std::map<int64_t, int64_t>; ///< ends

  void insert(int64_t begin, int64_t end) {
    if (begin == end)
      return;
    byBegin.emplace(begin, end);
    bySize.insert({end - begin, begin});
  }
  ByBegin::iterator remove(ByBegin::iterator gap) {
    bySize.erase({gap->second - gap->first, gap->first});
    return byBegin.erase(gap);
  }

  ByBegin byBegin;
  std::set<std::pair<int64_t, int64_t>> bySize; ///< sizes and begins
};

/// An order of the blocks that live at the fullest instruction, bottom first.
using StackOrder = bool (*)(const ArenaBlock &, const ArenaBlock &);

class Sweep {
public:
  Sweep(ArenaBlocks &blocks, bool ofReceived) : blocks(blocks) {
    for (auto [index, block] : enumerate(blocks))
      if (block.isReceived == ofReceived)
        members.push_back(index);
    findFullest();
    for (bool forwards : {false, true})
      orders[forwards] = findOrder(forwards);
  }

  /// Returns the end.
  int64_t run(int64_t base, StackOrder isBelow);

private:
  /// A block, in time that runs away from the fullest instruction.
  struct Visit {
    int64_t begin, end, bytes;
    unsigned index;
  };
  struct Order {
    std::vector<Visit> starting;                      ///< later ones, by begin
    std::vector<std::pair<int64_t, unsigned>> ending; ///< all, by end
  };

  void findFullest();
  Order findOrder(bool forwards) const;
  void goOn(const Order &order, int64_t base);

  ArenaBlocks &blocks;
  std::vector<unsigned> members; ///< the blocks to place
  int64_t fullest = 0;           ///< instruction
  std::vector<unsigned> stack;   ///< what lives there
  std::array<Order, 2> orders;   ///< backwards, forwards
};

} // namespace

void Sweep::findFullest() {
  int64_t end = 0;
  for (unsigned index : members)
    end = std::max(end, blocks[index].last() + 1);
  std::vector<int64_t> changes(end + 1);
  for (unsigned index : members) {
    changes[blocks[index].first()] += blocks[index].bytes;
    changes[blocks[index].last() + 1] -= blocks[index].bytes;
  }
  int64_t live = 0, most = 0;
  for (auto [time, change] : enumerate(changes))
    if ((live += change) > most) {
      most = live;
      fullest = time;
    }
  for (unsigned index : members)
    if (blocks[index].first() <= fullest && fullest <= blocks[index].last())
      stack.push_back(index);
}

int64_t Sweep::run(int64_t base, StackOrder isBelow) {
  stable_sort(stack, [&](unsigned a, unsigned b) {
    return isBelow(blocks[a], blocks[b]);
  });
  // Scratch memory has the largest alignment, and may not be the last.
  std::stable_partition(stack.begin(), stack.end(), [&](unsigned index) {
    return blocks[index].isScratch;
  });
  int64_t top = base;
  for (unsigned index : stack) {
    blocks[index].offset = alignTo(top, blocks[index].alignment);
    top = blocks[index].end();
  }
  goOn(orders[true], base);
  goOn(orders[false], base);
  for (unsigned index : members)
    base = std::max(base, blocks[index].end());
  return base;
}

Sweep::Order Sweep::findOrder(bool forwards) const {
  Order order;
  for (unsigned index : members) {
    const ArenaBlock &block = blocks[index];
    const Visit visit = {forwards ? block.first() : -block.last(),
                         forwards ? block.last() : -block.first(), block.bytes,
                         index};
    const bool isLater = visit.begin > (forwards ? fullest : -fullest);
    if (isLater)
      order.starting.push_back(visit);
    if (isLater || (block.first() <= fullest && fullest <= block.last()))
      order.ending.emplace_back(visit.end, index);
  }
  // Of those that start together, the longest first.
  llvm::sort(order.starting, [](const Visit &a, const Visit &b) {
    return std::tuple(a.begin, -a.end, -a.bytes, a.index) <
           std::tuple(b.begin, -b.end, -b.bytes, b.index);
  });
  llvm::sort(order.ending);
  return order;
}

void Sweep::goOn(const Order &order, int64_t base) {
  Gaps gaps;
  int64_t top = base;
  for (unsigned index : stack) {
    gaps.add(top, blocks[index].offset); // of alignment
    top = blocks[index].end();
  }
  gaps.add(top, std::numeric_limits<int64_t>::max() / 2);
  auto next = order.ending.begin();
  for (const Visit &visit : order.starting) {
    for (; next->first < visit.begin; ++next)
      gaps.add(blocks[next->second].offset, blocks[next->second].end());
    ArenaBlock &block = blocks[visit.index];
    block.offset = gaps.take(block.bytes, block.alignment);
  }
}

int64_t pp::placeOutwards(ArenaBlocks &blocks, int64_t goal) {
  Sweep received(blocks, /*ofReceived=*/true),
      others(blocks, /*ofReceived=*/false);
  ArenaBlocks best;
  int64_t bestEnd = kNoLayout;
  for (StackOrder isBelow : std::initializer_list<StackOrder>{
           [](auto &a, auto &b) { return a.bytes > b.bytes; },
           [](auto &a, auto &b) { return a.last() < b.last(); },
           [](auto &a, auto &b) { return a.last() > b.last(); },
           [](auto &a, auto &b) { return a.first() < b.first(); }}) {
    others.run(received.run(0, isBelow), isBelow);
    const int64_t end = findEnd(blocks);
    if (end < bestEnd) {
      bestEnd = end;
      best = blocks;
    }
    if (bestEnd <= goal)
      break;
  }
  if (bestEnd != kNoLayout)
    blocks = std::move(best);
  return bestEnd;
}
