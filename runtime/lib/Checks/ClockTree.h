//===- ClockTree.h - the latest accesses to ranges of memory ----*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0
//
// Private to the race check. Memory is cut into segments at the ends of slots,
// so that a slot is a run of whole segments however slots share bytes. A
// segment tree holds the clocks of one queue's accesses. Recording an access to
// a run of segments, and finding the latest access to any of them, each visit
// O(log segments) nodes.
//
//===----------------------------------------------------------------------===//
#ifndef PPRT_LIB_CHECKS_CLOCKTREE_H
#define PPRT_LIB_CHECKS_CLOCKTREE_H

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <vector>

namespace pprt::checks {

/// Half open, in segments.
struct SegmentRange {
  size_t begin, end;
};

class ClockTree {
public:
  /// Takes no memory before the first access.
  explicit ClockTree(size_t segmentCount) : segments(segmentCount) {}

  /// Records an access to `range`; clocks come in ascending order.
  void record(SegmentRange range, uint32_t clock) {
    if (nodes.empty())
      nodes.resize(2 * segments);
    forEachPart(range, [&](size_t node) { nodes[node] = {clock, clock}; });
    forEachAbove(range, [&](size_t node) { nodes[node].latest = clock; });
  }

  /// Returns the clock of the latest access to a segment of `range`, or 0.
  uint32_t latest(SegmentRange range) {
    uint32_t clock = 0;
    if (nodes.empty())
      return clock;
    forEachPart(range, [&](size_t node) {
      clock = std::max(clock, nodes[node].latest);
    });
    forEachAbove(range, [&](size_t node) {
      clock = std::max(clock, nodes[node].covering);
    });
    return clock;
  }

  void clear() { nodes = {}; }

  /// Nodes visited so far.
  uint64_t operations() const { return visited; }

private:
  /// Clocks of the latest access that covers all of a node's segments, and of
  /// the latest that touches any.
  struct Node {
    uint32_t covering = 0, latest = 0;
  };

  /// Visits the nodes that make up `range`. Leaves are behind all others; the
  /// children of node i are 2i and 2i + 1.
  template <typename Visitor>
  void forEachPart(SegmentRange range, Visitor visit) {
    size_t begin = range.begin + segments, end = range.end + segments;
    for (; begin < end; begin /= 2, end /= 2) {
      visited += 2;
      if (begin % 2 == 1)
        visit(begin++);
      if (end % 2 == 1)
        visit(--end);
    }
  }
  /// Visits the ancestors of the ends of `range`, which is not empty; some may
  /// lie in the range, which does no harm.
  template <typename Visitor>
  void forEachAbove(SegmentRange range, Visitor visit) {
    size_t first = (range.begin + segments) / 2,
           last = (range.end - 1 + segments) / 2;
    for (; last > 0; first /= 2, last /= 2) {
      visited += 2;
      visit(first);
      if (first != last)
        visit(last);
    }
  }

  const size_t segments;
  std::vector<Node> nodes;
  uint64_t visited = 0;
};

} // namespace pprt::checks

#endif // PPRT_LIB_CHECKS_CLOCKTREE_H
