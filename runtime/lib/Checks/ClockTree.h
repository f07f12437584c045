//===- ClockTree.h - the latest accesses to ranges of memory ----*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0
//
// Private to the race check. Memory is cut into segments at the ends of slots,
// so that a slot is a run of whole segments however slots share bytes. A
// segment tree holds, per queue, the clock of its latest access to every
// segment. Recording an access to a run of segments, and finding one in it that
// is not ordered before now, each visit O(log segments) nodes.
//
//===----------------------------------------------------------------------===//
#ifndef PPRT_LIB_CHECKS_CLOCKTREE_H
#define PPRT_LIB_CHECKS_CLOCKTREE_H

#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

namespace pprt::checks {

/// The `clock`-th instruction of `queue`, counting from 1.
struct Event {
  uint32_t queue, clock;
};

/// Half open, in segments.
struct SegmentRange {
  size_t begin, end;
};

class ClockTree {
public:
  ClockTree(size_t segmentCount, size_t queueCount)
      : segments(segmentCount ? segmentCount : 1), queues(queueCount),
        covering(4 * segments * queues), latest(4 * segments * queues) {}

  /// Notes an access to `range`. Of one queue, events come in order.
  void record(SegmentRange range, Event event) {
    record(0, {0, segments}, range, event);
  }

  /// An access to a segment of `range` that is later than `now` knows of, where
  /// `now` counts per queue the instructions that have surely completed.
  std::optional<Event> findUnordered(SegmentRange range, const uint32_t *now) {
    return findUnordered(0, {0, segments}, range, now);
  }

  /// Nodes visited so far, times the clocks looked at in each.
  uint64_t operations() const { return visited; }

private:
  static SegmentRange leftHalf(SegmentRange span) {
    return {span.begin, span.begin + (span.end - span.begin) / 2};
  }
  static SegmentRange rightHalf(SegmentRange span) {
    return {span.begin + (span.end - span.begin) / 2, span.end};
  }
  static bool disjoint(SegmentRange a, SegmentRange b) {
    return a.end <= b.begin || b.end <= a.begin;
  }
  static bool contains(SegmentRange outer, SegmentRange inner) {
    return outer.begin <= inner.begin && inner.end <= outer.end;
  }

  void record(size_t node, SegmentRange span, SegmentRange range, Event event) {
    ++visited;
    if (disjoint(span, range))
      return;
    latest[node * queues + event.queue] = event.clock;
    if (contains(range, span)) {
      covering[node * queues + event.queue] = event.clock;
      return;
    }
    record(2 * node + 1, leftHalf(span), range, event);
    record(2 * node + 2, rightHalf(span), range, event);
  }

  std::optional<Event> findUnordered(size_t node, SegmentRange span,
                                     SegmentRange range, const uint32_t *now) {
    if (disjoint(span, range)) {
      ++visited;
      return std::nullopt;
    }
    // A node inside the range speaks for all below it; one that only overlaps
    // it, for the accesses that covered all of its span.
    const bool inside = contains(range, span);
    const uint32_t *clocks = &(inside ? latest : covering)[node * queues];
    visited += queues;
    for (uint32_t queue = 0; queue < queues; ++queue)
      if (clocks[queue] > now[queue])
        return Event{queue, clocks[queue]};
    if (inside)
      return std::nullopt;
    if (auto event = findUnordered(2 * node + 1, leftHalf(span), range, now))
      return event;
    return findUnordered(2 * node + 2, rightHalf(span), range, now);
  }

  const size_t segments, queues;
  /// Per node and queue: the latest access that covers the node's whole span,
  /// and the latest that touches any of it.
  std::vector<uint32_t> covering, latest;
  uint64_t visited = 0;
};

} // namespace pprt::checks

#endif // PPRT_LIB_CHECKS_CLOCKTREE_H
