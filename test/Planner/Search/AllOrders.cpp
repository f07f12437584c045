//===- AllOrders.cpp - judges an order against all orders -----------------===//
//
// SPDX-License-Identifier: Apache-2.0
//
// Grows all partial orders by one action at a time. Of those that have run the
// same actions one is left out if another has no time later than it: whatever
// follows could follow that one as early. And one is left out if a position has
// more work left than there is time.
//
//===----------------------------------------------------------------------===//
#include "AllOrders.h"
#include <algorithm>
#include <map>

using namespace pp;

namespace {

using Counts = std::vector<unsigned char>; // stage by stage: F, B, W
using Times = std::vector<int64_t>;

constexpr int64_t kNotYet = int64_t(1) << 60;

/// All orders in which given stages are split.
class AllOrders {
public:
  AllOrders(const ScheduleSearchProblem &problem, const Placement &placement,
            unsigned splits, int64_t seconds)
      : problem(problem), placement(placement), splits(splits),
        seconds(seconds), stages(placement.loads.size()), p(problem.positions),
        m(problem.microBatches) {}

  bool reachesEnd();

private:
  using Layer = std::map<Counts, std::vector<Times>>;

  bool isSplit(size_t stage) const { return splits >> stage & 1; }
  int64_t duration(size_t stage, int kind) const;
  bool fits(const Counts &counts, unsigned position) const;
  bool hasTime(const Counts &counts, const Times &times) const;
  void grow(const Counts &counts, const Times &times, size_t stage, int kind,
            Layer &layer) const;
  // Times: of positions, of edges between each two of them, then the arrivals
  // of F and of B for each stage and micro-batch.
  size_t edge(unsigned from, unsigned to) const { return p + from * p + to; }
  size_t arrival(size_t stage, int kind, size_t i) const {
    return p + p * p + (stage * 2 + kind) * m + i;
  }

  const ScheduleSearchProblem &problem;
  const Placement &placement;
  const unsigned splits;
  const int64_t seconds;
  const size_t stages, p, m;
};

int64_t AllOrders::duration(size_t stage, int kind) const {
  const StageLoad &load = placement.loads[stage];
  return int64_t(kind == 0        ? load.forwardSeconds
                 : kind == 2      ? load.weightSeconds
                 : isSplit(stage) ? load.backwardSeconds
                                  : load.mergedSeconds);
}

bool AllOrders::fits(const Counts &counts, unsigned position) const {
  int64_t bytes = 0;
  for (size_t s = 0; s < stages; ++s) {
    if (placement.positionOf[s] != position)
      continue;
    const unsigned char *n = &counts[3 * s];
    bytes += (n[0] - n[1]) * placement.loads[s].residualBytes;
    if (isSplit(s))
      bytes += (n[1] - n[2]) * placement.loads[s].weightBytes;
  }
  return problem.limits.empty() || bytes <= problem.limits[position];
}

bool AllOrders::hasTime(const Counts &counts, const Times &times) const {
  std::vector<int64_t> end(times.begin(), times.begin() + p);
  for (size_t s = 0; s < stages; ++s)
    for (int kind = 0; kind < (isSplit(s) ? 3 : 2); ++kind)
      end[placement.positionOf[s]] +=
          int64_t(m - counts[3 * s + kind]) * duration(s, kind);
  return *std::max_element(end.begin(), end.end()) < seconds;
}

void AllOrders::grow(const Counts &counts, const Times &times, size_t stage,
                     int kind, Layer &layer) const {
  const size_t i = counts[3 * stage + kind];
  if (i == m || (kind > 0 && i >= counts[3 * stage + kind - 1]))
    return;
  if (kind < 2 && times[arrival(stage, kind, i)] == kNotYet)
    return;
  Counts more = counts;
  ++more[3 * stage + kind];
  const unsigned position = placement.positionOf[stage];
  if (!fits(more, position))
    return;
  Times then = times;
  int64_t start = times[position];
  if (kind < 2)
    start = std::max(start, times[arrival(stage, kind, i)]);
  const int64_t end = then[position] = start + duration(stage, kind);
  const bool sends = kind == 0 ? stage + 1 < stages : kind == 1 && stage > 0;
  if (sends) {
    const size_t to = kind == 0 ? stage + 1 : stage - 1;
    int64_t arrives = end;
    if (const unsigned there = placement.positionOf[to]; there != position) {
      int64_t &free = then[edge(position, there)];
      free = arrives =
          std::max(free, end) +
          int64_t(kind == 0 ? placement.loads[stage].sendForwardSeconds
                            : placement.loads[stage].sendBackwardSeconds);
    }
    then[arrival(to, kind, i)] = arrives;
  }
  if (!hasTime(more, then))
    return;
  auto isNoLater = [](const Times &a, const Times &b) {
    for (size_t t = 0; t < a.size(); ++t)
      if (a[t] > b[t])
        return false;
    return true;
  };
  std::vector<Times> &others = layer[more];
  for (const Times &other : others)
    if (isNoLater(other, then))
      return;
  others.erase(std::remove_if(
                   others.begin(), others.end(),
                   [&](const Times &other) { return isNoLater(then, other); }),
               others.end());
  others.push_back(std::move(then));
}

bool AllOrders::reachesEnd() {
  Times start(arrival(stages, 0, 0), 0);
  for (size_t s = 0; s < stages; ++s)
    for (size_t i = 0; i < m; ++i) {
      start[arrival(s, 0, i)] = s == 0 ? 0 : kNotYet;
      start[arrival(s, 1, i)] = s + 1 == stages ? 0 : kNotYet;
    }
  size_t actions = 0;
  for (size_t s = 0; s < stages; ++s)
    actions += m * (isSplit(s) ? 3 : 2);
  Layer layer{{Counts(3 * stages), {start}}};
  for (size_t n = 0; n < actions; ++n) {
    Layer next;
    for (const auto &[counts, all] : layer)
      for (const Times &times : all)
        for (size_t s = 0; s < stages; ++s)
          for (int kind = 0; kind < (isSplit(s) ? 3 : 2); ++kind)
            grow(counts, times, s, kind, next);
    layer = std::move(next);
  }
  return !layer.empty();
}

} // namespace

bool pp::hasShorterOrder(const ScheduleSearchProblem &problem,
                         const Placement &placement, int64_t seconds) {
  for (unsigned splits = 0; splits < 1u << placement.loads.size(); ++splits)
    if (AllOrders(problem, placement, splits, seconds).reachesEnd())
      return true;
  return false;
}
