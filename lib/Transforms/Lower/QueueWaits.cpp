//===- QueueWaits.cpp - waits of an instruction ---------------------------===//
//
// SPDX-License-Identifier: Apache-2.0
//
//===----------------------------------------------------------------------===//
#include "QueueWaits.h"
#include "llvm/ADT/DenseMap.h"
#include "llvm/ADT/STLExtras.h"
#include <algorithm>

using namespace llvm;
using namespace pp;

std::vector<bool> pp::findContested(ArrayRef<QueueBytes> ranges) {
  struct Edge {
    int64_t at, queue;
    int change;
  };
  std::vector<Edge> edges;
  for (const QueueBytes &range : ranges)
    if (range.begin < range.end) {
      edges.push_back({range.begin, range.queue, 1});
      edges.push_back({range.end, range.queue, -1});
    }
  sort(edges, [](const Edge &a, const Edge &b) { return a.at < b.at; });
  // Ascending and apart: [begin, end) of bytes that several queues touch.
  std::vector<std::pair<int64_t, int64_t>> contested;
  DenseMap<int64_t, int64_t> open; // ranges by queue
  int64_t numQueues = 0, from = 0;
  for (size_t i = 0; i < edges.size(); ++i) {
    const int64_t before = numQueues;
    int64_t &count = open[edges[i].queue];
    numQueues -= count > 0;
    count += edges[i].change;
    numQueues += count > 0;
    if (before < 2 && numQueues >= 2)
      from = edges[i].at;
    else if (before >= 2 && numQueues < 2 && from < edges[i].at)
      contested.push_back({from, edges[i].at});
  }
  std::vector<bool> result;
  for (const QueueBytes &range : ranges) {
    auto next = upper_bound(contested, range.begin,
                            [](int64_t byte, std::pair<int64_t, int64_t> its) {
                              return byte < its.second;
                            });
    result.push_back(range.begin < range.end && next != contested.end() &&
                     next->first < range.end);
  }
  return result;
}

QueueWaits::QueueWaits(unsigned queues)
    : known(queues, Clock(queues, 0)), history(queues) {}

void QueueWaits::split(int64_t position) {
  auto it = segments.upper_bound(position);
  if (it == segments.begin())
    return;
  --it;
  if (it->first == position || it->second.end <= position)
    return;
  Bytes upper = it->second;
  it->second.end = position;
  segments.emplace(position, std::move(upper));
}

void QueueWaits::collect(const ByteAccess &access, Event event, Clock &needed) {
  if (access.begin >= access.end)
    return;
  split(access.begin);
  split(access.end);
  auto require = [&](ArrayRef<Event> events) {
    for (Event other : events)
      needed[other.queue] = std::max(needed[other.queue], other.count);
  };
  auto begin = segments.lower_bound(access.begin),
       end = segments.lower_bound(access.end);
  for (auto it = begin; it != end; ++it) {
    require(it->second.writers);
    if (access.writes)
      require(it->second.readers);
  }
  if (access.writes) {
    segments.erase(begin, end);
    segments[access.begin] = {access.end, {event}, {}};
    return;
  }
  // A reader per queue is enough: queues complete in order.
  int64_t cursor = access.begin;
  SmallVector<std::pair<int64_t, int64_t>> gaps;
  for (auto it = begin; it != end; ++it) {
    if (cursor < it->first)
      gaps.push_back({cursor, it->first});
    cursor = it->second.end;
    auto &readers = it->second.readers;
    auto same = find_if(
        readers, [&](Event other) { return other.queue == event.queue; });
    if (same != readers.end())
      same->count = event.count;
    else
      readers.push_back(event);
  }
  if (cursor < access.end)
    gaps.push_back({cursor, access.end});
  for (auto [from, to] : gaps)
    segments[from] = {to, {}, {event}};
}

QueueCounts QueueWaits::finish(int64_t queue, const Clock &needed) {
  Clock &clock = known[queue];
  QueueCounts waits;
  for (int64_t other = 0; other < static_cast<int64_t>(known.size()); ++other) {
    if (other == queue || needed[other] <= clock[other])
      continue;
    waits.push_back({other, needed[other]});
  }
  // Everything that those instructions had waited for is complete too.
  for (auto [other, count] : waits) {
    clock[other] = std::max(clock[other], count);
    const Clock &theirs = history[other][count - 1];
    for (size_t q = 0; q < clock.size(); ++q)
      clock[q] = std::max(clock[q], theirs[q]);
  }
  history[queue].push_back(clock);
  clock[queue] = history[queue].size();
  history[queue].back()[queue] = history[queue].size();
  return waits;
}

QueueCounts QueueWaits::add(int64_t queue, ArrayRef<ByteAccess> accesses) {
  Event event{queue, static_cast<int64_t>(history[queue].size()) + 1};
  Clock needed(known.size(), 0);
  // Reads first: an in-place instruction must not wait for itself.
  for (const ByteAccess &access : accesses)
    if (!access.writes)
      collect(access, event, needed);
  for (const ByteAccess &access : accesses)
    if (access.writes)
      collect(access, event, needed);
  return finish(queue, needed);
}

QueueCounts QueueWaits::addBarrier(int64_t queue) {
  Clock needed(known.size(), 0);
  for (size_t other = 0; other < known.size(); ++other)
    needed[other] = history[other].size();
  return finish(queue, needed);
}
