//===- ArenaSearch.cpp - search for a good order of placing ---------------===//
//
// SPDX-License-Identifier: Apache-2.0
//
// A layout follows from an order: each block in turn takes the lowest gap among
// the placed ones that it conflicts with (Pisarchyk and Lee, "Efficient Memory
// Management for Deep Neural Net Inference", 2020), or the smallest. No order
// is the best for every program: that of the fullest instructions is often, as
// those decide (Maas et al., "TelaMalloc", 2022), then that of sizes. The best
// few are improved by moving a block that ends too high before others, and
// kept unless that is worse. Counts steps, so that the result is the same on
// every machine.
//
//===----------------------------------------------------------------------===//
#include "ArenaBlocks.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/Support/MathExtras.h"
#include <numeric>
#include <random>

using namespace llvm;
using namespace pp;

namespace {

/// Which blocks must not share bytes.
class Conflicts {
public:
  explicit Conflicts(const ArenaBlocks &blocks);

  bool contain(size_t a, size_t b) const {
    return row(a)[b / 64] >> (b % 64) & 1;
  }
  const uint64_t *row(size_t block) const { return &bits[block * words]; }
  int64_t count(size_t block) const {
    return std::accumulate(
        row(block), row(block) + words, int64_t(0),
        [](int64_t sum, uint64_t word) { return sum + popcount(word); });
  }

private:
  /// Adds left blocks that live together with right ones, from `begin` on.
  template <typename IsLeft, typename IsRight>
  void addMeetings(const ArenaBlocks &blocks, int64_t ArenaLife::*begin,
                   IsLeft isLeft, IsRight isRight);

  size_t words; ///< of a row
  std::vector<uint64_t> bits;
};

Conflicts::Conflicts(const ArenaBlocks &blocks)
    : words(divideCeil(blocks.size(), 64)), bits(blocks.size() * words) {
  auto isReceived = [](const ArenaBlock &block) { return block.isReceived; };
  auto isOther = [](const ArenaBlock &block) { return !block.isReceived; };
  auto isSent = [](const ArenaBlock &block) { return block.isSent; };
  addMeetings(blocks, &ArenaLife::first, isReceived, isReceived);
  addMeetings(blocks, &ArenaLife::first, isOther, isOther);
  addMeetings(blocks, &ArenaLife::postable, isReceived, isOther);
  addMeetings(blocks, &ArenaLife::pendingFrom, isReceived, isSent);
  for (size_t a = 0; a < blocks.size(); ++a)
    for (size_t word = 0; word < words; ++word)
      for (uint64_t rest = row(a)[word]; rest; rest &= rest - 1) {
        const size_t b = word * 64 + countr_zero(rest);
        bits[b * words + a / 64] |= uint64_t(1) << (a % 64);
      }
}

template <typename IsLeft, typename IsRight>
void Conflicts::addMeetings(const ArenaBlocks &blocks,
                            int64_t ArenaLife::*begin, IsLeft isLeft,
                            IsRight isRight) {
  using Event = std::tuple<int64_t, bool, unsigned>; // time, ends, block
  std::vector<Event> events;
  for (auto [index, block] : enumerate(blocks))
    if (isLeft(block) || isRight(block))
      for (const ArenaLife &life : block.lives) {
        events.push_back({life.*begin, false, unsigned(index)});
        events.push_back({life.last, true, unsigned(index)});
      }
  llvm::sort(events);
  std::vector<uint64_t> left(words), right(words);
  std::vector<unsigned> lives(blocks.size()); // those of one block may meet
  for (auto [time, ends, block] : events) {
    const uint64_t ofLeft = isLeft(blocks[block]) ? ~uint64_t(0) : 0,
                   ofRight = isRight(blocks[block]) ? ~uint64_t(0) : 0;
    for (size_t word = 0; !ends && word < words; ++word)
      bits[block * words + word] |=
          (right[word] & ofLeft) | (left[word] & ofRight);
    if (ends ? --lives[block] > 0 : lives[block]++ > 0)
      continue;
    const uint64_t bit = uint64_t(1) << (block % 64);
    left[block / 64] ^= bit & ofLeft;
    right[block / 64] ^= bit & ofRight;
  }
}

/// An order, and how a block chooses its gap.
struct Candidate {
  std::vector<unsigned> order;
  bool takesSmallest;
  int64_t end;
};

class Search {
public:
  explicit Search(ArenaBlocks &blocks)
      : blocks(blocks), conflicts(blocks), pressure(findPressure()),
        places(blocks.size()) {}

  int64_t run(int64_t goal, int64_t steps);

private:
  std::vector<int64_t> findPressure() const;
  std::vector<Candidate> listOrders() const;
  int64_t place(const Candidate &candidate, int64_t limit);
  void improve(Candidate candidate, int64_t goal, int64_t steps);
  void keepIfBest(int64_t end);

  ArenaBlocks &blocks;
  const Conflicts conflicts;
  const std::vector<int64_t>
      pressure; ///< by block: the most that lives with it
  struct Placed {
    int64_t begin, end;
    unsigned block;
  };
  std::vector<Placed> placed; ///< by begin
  std::vector<size_t> places; ///< by block: its place in an order
  std::vector<int64_t> best;  ///< offsets
  int64_t bestEnd = kNoLayout;
  int64_t taken = 0; ///< steps
  std::mt19937 random{1};
};

} // namespace

std::vector<int64_t> Search::findPressure() const {
  // The total at each instruction where it grows, and the most of two, four,
  // eight and so on from there.
  std::vector<std::pair<int64_t, int64_t>> changes;
  for (const ArenaBlock &block : blocks)
    for (ArenaLife life : block.lives) {
      changes.push_back({life.first, block.bytes});
      changes.push_back({life.last + 1, -block.bytes});
    }
  llvm::sort(changes);
  std::vector<int64_t> times;
  std::vector<std::vector<int64_t>> most(1);
  int64_t live = 0;
  for (auto [time, change] : changes) {
    live += change;
    if (times.empty() || times.back() != time) {
      times.push_back(time);
      most[0].push_back(live);
    } else {
      most[0].back() = live;
    }
  }
  for (size_t span = 1; 2 * span <= times.size(); span *= 2) {
    const std::vector<int64_t> &half = most.back();
    std::vector<int64_t> whole(half.size() - span);
    for (size_t i = 0; i < whole.size(); ++i)
      whole[i] = std::max(half[i], half[i + span]);
    most.push_back(std::move(whole));
  }
  std::vector<int64_t> pressure;
  for (const ArenaBlock &block : blocks) {
    int64_t highest = 0;
    for (ArenaLife life : block.lives) {
      const size_t begin = lower_bound(times, life.first) - times.begin(),
                   end = upper_bound(times, life.last) - times.begin();
      const unsigned level = Log2_64(end - begin);
      highest = std::max({highest, most[level][begin],
                          most[level][end - (size_t(1) << level)]});
    }
    pressure.push_back(highest);
  }
  return pressure;
}

std::vector<Candidate> Search::listOrders() const {
  std::vector<int64_t> length(blocks.size());
  for (auto [index, block] : enumerate(blocks))
    for (ArenaLife life : block.lives)
      length[index] += life.last - life.first + 1;
  std::vector<Candidate> candidates;
  auto add = [&](bool takesSmallest, auto key) {
    std::vector<unsigned> order(blocks.size());
    std::iota(order.begin(), order.end(), 0);
    stable_sort(order, [&](unsigned a, unsigned b) { return key(a) > key(b); });
    candidates.push_back({std::move(order), takesSmallest, kNoLayout});
  };
  auto bytes = [&](unsigned block) { return blocks[block].bytes; };
  auto pressureAndLength = [&](unsigned block) {
    return std::pair(pressure[block], length[block]);
  };
  auto pressureAndBytes = [&](unsigned block) {
    return std::pair(pressure[block], bytes(block));
  };
  add(false, pressureAndLength);
  add(true, pressureAndBytes);
  add(false, bytes);
  add(false, [&](unsigned block) { return length[block]; });
  add(false,
      [&](unsigned block) { return double(bytes(block)) * length[block]; });
  add(false, [&](unsigned block) {
    return double(bytes(block)) * conflicts.count(block);
  });
  add(false, pressureAndBytes);
  add(true, pressureAndLength);
  add(true, bytes);
  add(true, [&](unsigned block) { return -blocks[block].first(); });
  return candidates;
}

/// Places all blocks; gives up where one ends behind `limit`.
int64_t Search::place(const Candidate &candidate, int64_t limit) {
  placed.clear();
  for (unsigned index : candidate.order) {
    ArenaBlock &block = blocks[index];
    const uint64_t *row = conflicts.row(index);
    int64_t offset = 0, chosen = -1, smallest = kNoLayout;
    size_t position = 0;
    for (; position < placed.size(); ++position) {
      const Placed &other = placed[position];
      if (!(row[other.block / 64] >> (other.block % 64) & 1))
        continue;
      if (const int64_t gap = other.begin - offset;
          gap >= block.bytes && gap < smallest) {
        smallest = gap;
        chosen = offset;
        if (!candidate.takesSmallest)
          break;
      }
      offset = std::max<int64_t>(offset, alignTo(other.end, block.alignment));
    }
    taken += position + 1;
    block.offset = chosen < 0 ? offset : chosen;
    if (block.end() > limit)
      return kNoLayout;
    auto behind = partition_point(placed, [&](const Placed &other) {
      return other.begin <= block.offset;
    });
    placed.insert(behind, {block.offset, block.end(), index});
  }
  return findEnd(blocks);
}

void Search::keepIfBest(int64_t end) {
  if (end >= bestEnd)
    return;
  bestEnd = end;
  best.clear();
  for (const ArenaBlock &block : blocks)
    best.push_back(block.offset);
}

/// Moves blocks that end in the upper half of what is above the goal.
void Search::improve(Candidate now, int64_t goal, int64_t steps) {
  now.end = place(now, kNoLayout);
  std::vector<unsigned> high;
  auto findHigh = [&] {
    high.clear();
    for (unsigned index : now.order)
      if (blocks[index].end() >= now.end - (now.end - goal) / 2)
        high.push_back(index);
  };
  findHigh();
  Candidate next = now;
  while (taken < steps && now.end > goal) {
    next.order = now.order;
    auto &order = next.order;
    const unsigned block = high[random() % high.size()];
    const auto from = find(order, block);
    const size_t above = from - order.begin();
    taken += above + 1;
    if (above == 0)
      continue;
    const auto to = order.begin() + random() % above;
    switch (random() % 3) {
    case 0: // first
      std::rotate(to, from, from + 1);
      break;
    case 1: // the other way around
      if (conflicts.contain(block, *to))
        std::iter_swap(to, from);
      break;
    default: // the other one behind it
      if (conflicts.contain(block, *to))
        std::rotate(to, to + 1, from + 1);
      break;
    }
    const int64_t end = place(next, now.end);
    if (end == kNoLayout)
      continue;
    std::swap(now.order, next.order);
    now.end = end;
    keepIfBest(end);
    findHigh();
  }
}

int64_t Search::run(int64_t goal, int64_t steps) {
  // What an order costs, many times over.
  steps = std::min<int64_t>(steps, 1024 * blocks.size() * blocks.size());
  std::vector<Candidate> candidates = listOrders();
  size_t tried = 0;
  for (Candidate &candidate : candidates) {
    // The first is always tried.
    if (bestEnd <= goal || (tried > 0 && taken >= steps / 2))
      break;
    candidate.end = place(candidate, kNoLayout);
    keepIfBest(candidate.end);
    ++tried;
  }
  candidates.resize(tried);
  stable_sort(candidates, [](const Candidate &a, const Candidate &b) {
    return a.end < b.end;
  });
  constexpr size_t kept = 3;
  candidates.resize(std::min(tried, kept));
  for (auto [index, candidate] : enumerate(candidates))
    if (candidate.end != kNoLayout && bestEnd > goal)
      improve(std::move(candidate), goal,
              taken + (steps - taken) / int64_t(candidates.size() - index));
  if (bestEnd != kNoLayout)
    for (auto [block, offset] : zip_equal(blocks, best))
      block.offset = offset;
  return bestEnd;
}

int64_t pp::placeBySearch(ArenaBlocks &blocks, int64_t goal, int64_t steps) {
  return Search(blocks).run(goal, steps);
}
