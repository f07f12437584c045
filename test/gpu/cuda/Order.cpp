//===- Order.cpp - which accesses have an order between them --------------===//
//
// SPDX-License-Identifier: Apache-2.0
//
// The history is a map of segments. An access splits those at its two ends; a
// write makes one of all that lie between.
//
//===----------------------------------------------------------------------===//
#include "Order.h"

#include <algorithm>

using namespace emulated;

void Clock::join(const Clock &other) {
  if (latest.size() < other.latest.size())
    latest.resize(other.latest.size());
  for (size_t i = 0; i < other.latest.size(); ++i)
    latest[i] = std::max(latest[i], other.latest[i]);
}

Moment Clock::tick(uint32_t component) {
  if (latest.size() <= component)
    latest.resize(component + 1);
  return {component, ++latest[component]};
}

void History::split(uint64_t address) {
  auto next = segments.upper_bound(address);
  if (next == segments.begin())
    return;
  auto &[begin, segment] = *std::prev(next);
  if (begin == address || segment.end <= address)
    return;
  Segment upper = segment;
  segment.end = address;
  segments.emplace_hint(next, address, std::move(upper));
}

static std::string describe(const char *access, const History::By &by) {
  return std::string(access) + " by " + by->what;
}

std::string History::touch(const By &by, uint64_t begin, uint64_t end,
                           bool isWrite) {
  std::string conflict;
  split(begin);
  split(end);
  auto unordered = [&](const By &other, const char *access) {
    if (conflict.empty() && other && !by->clock.covers(other->moment))
      conflict = describe(access, other);
  };
  const auto first = segments.lower_bound(begin);
  for (auto at = first; at != segments.end() && at->first < end; ++at) {
    unordered(at->second.writer, "a write");
    if (isWrite)
      for (const By &reader : at->second.readers)
        unordered(reader, "a read");
  }
  if (isWrite) {
    segments.erase(first, segments.lower_bound(end));
    segments[begin] = {end, by, {}};
    return conflict;
  }
  // A read: also of what nobody has touched.
  uint64_t next = begin;
  for (auto at = first; next < end;) {
    if (at == segments.end() || at->first > next) {
      const uint64_t limit =
          at == segments.end() ? end : std::min(end, at->first);
      at = segments.emplace_hint(at, next, Segment{limit, nullptr, {}});
    }
    std::vector<By> &readers = at->second.readers;
    const auto same =
        std::find_if(readers.begin(), readers.end(), [&](const By &reader) {
          return reader->moment.component == by->moment.component;
        });
    if (same == readers.end())
      readers.push_back(by);
    else
      *same = by;
    next = at->second.end;
    ++at;
  }
  return conflict;
}

std::string History::findOpen(const Clock &clock, uint64_t begin,
                              uint64_t end) const {
  auto at = segments.upper_bound(begin);
  if (at != segments.begin() && std::prev(at)->second.end > begin)
    --at;
  for (; at != segments.end() && at->first < end; ++at) {
    const Segment &segment = at->second;
    if (segment.writer && !clock.covers(segment.writer->moment))
      return describe("a write", segment.writer);
    for (const By &reader : segment.readers)
      if (!clock.covers(reader->moment))
        return describe("a read", reader);
  }
  return "";
}

void History::forget(uint64_t begin, uint64_t end) {
  split(begin);
  split(end);
  segments.erase(segments.lower_bound(begin), segments.lower_bound(end));
}
