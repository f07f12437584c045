//===- QueueAccesses.h - what one queue has touched -------------*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0
//
// Private to the race check. An access of another queue conflicts only with
// accesses that are not known to be complete when it starts: in programs as
// compilers write them few, the last ones. They are looked at one by one. Only
// if they are many, trees over the memory find the latest, so that no program
// takes more than a logarithm for an access.
//
//===----------------------------------------------------------------------===//
#ifndef PPRT_LIB_CHECKS_QUEUEACCESSES_H
#define PPRT_LIB_CHECKS_QUEUEACCESSES_H

#include "ClockTree.h"

namespace pprt::checks {

class QueueAccesses {
public:
  explicit QueueAccesses(size_t segmentCount)
      : readers(segmentCount), writers(segmentCount) {}

  /// Clocks come in ascending order; a clock is 1 or more.
  void record(SegmentRange range, uint32_t clock, bool reads, bool writes) {
    recorded.push_back({range, clock, reads, writes});
  }

  /// Index of the first access after clock `completed`; size() if none is.
  size_t after(uint32_t completed) const {
    // Most often it is among the last: looks at more and more of these.
    size_t begin = size(), step = 1;
    while (begin > 0 && recorded[begin - 1].clock > completed) {
      begin -= std::min(begin, step);
      step *= 2;
    }
    return size_t(std::upper_bound(recorded.begin() + ptrdiff_t(begin),
                                   recorded.end(), completed,
                                   [](uint32_t clock, const Access &access) {
                                     return clock < access.clock;
                                   }) -
                  recorded.begin());
  }
  size_t size() const { return recorded.size(); }

  /// The clocks of the latest accesses that write and that read a segment of
  /// `range`, of those from index `begin` on; 0, or clocks before, if none
  /// does.
  struct Latest {
    uint32_t writer = 0, reader = 0;
  };
  Latest latest(SegmentRange range, size_t begin) {
    if (size() - begin > kFew)
      return latestOfMany(range);
    Latest found;
    for (size_t i = size(); i-- > begin; ++visited) {
      const Access &access = recorded[i];
      if (access.range.begin >= range.end || range.begin >= access.range.end)
        continue;
      if (access.writes && found.writer == 0)
        found.writer = access.clock;
      if (access.reads && found.reader == 0)
        found.reader = access.clock;
    }
    return found;
  }

  void clear() {
    recorded.clear();
    if (inTrees > 0) {
      readers.clear();
      writers.clear();
    }
    inTrees = 0;
  }

  /// Steps taken so far.
  uint64_t operations() const {
    return visited + readers.operations() + writers.operations();
  }

private:
  static constexpr size_t kFew = 64;

  struct Access {
    SegmentRange range;
    uint32_t clock;
    bool reads, writes;
  };

  Latest latestOfMany(SegmentRange range) {
    for (; inTrees < size(); ++inTrees) {
      const Access &access = recorded[inTrees];
      if (access.reads)
        readers.record(access.range, access.clock);
      if (access.writes)
        writers.record(access.range, access.clock);
    }
    return {writers.latest(range), readers.latest(range)};
  }

  std::vector<Access> recorded;
  size_t inTrees = 0; ///< how many are
  ClockTree readers, writers;
  uint64_t visited = 0;
};

} // namespace pprt::checks

#endif // PPRT_LIB_CHECKS_QUEUEACCESSES_H
