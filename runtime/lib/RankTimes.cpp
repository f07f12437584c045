//===- RankTimes.cpp - how ranks spend a step -----------------------------===//
//
// SPDX-License-Identifier: Apache-2.0
//
// A rank that comes to a comm op first waits for the other ranks, not for a
// message: that is imbalance, or a pipeline's bubble, and counts as neither of
// the two kinds distinguished here.
//
//===----------------------------------------------------------------------===//
#include "pprt/RankTimes.h"
#include "pprt/Program.h"

#include <algorithm>
#include <limits>

using namespace pprt;

/// Returns the union, sorted and disjoint.
static std::vector<Span> unite(std::vector<Span> spans) {
  std::sort(spans.begin(), spans.end(),
            [](const Span &a, const Span &b) { return a.begin < b.begin; });
  std::vector<Span> result;
  for (const Span &span : spans) {
    if (result.empty() || span.begin > result.back().end)
      result.push_back(span);
    else
      result.back().end = std::max(result.back().end, span.end);
  }
  return result;
}

static double lengthOf(const std::vector<Span> &spans) {
  double length = 0;
  for (const Span &span : spans)
    length += span.end - span.begin;
  return length;
}

/// Returns the length of the intersection of two lists of disjoint spans.
static double commonLength(const std::vector<Span> &a,
                           const std::vector<Span> &b) {
  double length = 0;
  for (size_t i = 0, j = 0; i < a.size() && j < b.size();) {
    length += std::max(0.0, std::min(a[i].end, b[j].end) -
                                std::max(a[i].begin, b[j].begin));
    if (a[i].end < b[j].end)
      ++i;
    else
      ++j;
  }
  return length;
}

/// Returns the time from the first begin to the last end.
static double lengthOfStep(const Timeline &timeline) {
  double begin = std::numeric_limits<double>::max(), end = 0;
  for (const std::vector<Span> &spans : timeline)
    for (const Span &span : spans) {
      begin = std::min(begin, span.begin);
      end = std::max(end, span.end);
    }
  return std::max(0.0, end - begin);
}

std::optional<double> RankTimes::bubble() const {
  return busy > 0 ? std::optional<double>(idle / busy) : std::nullopt;
}

std::vector<RankTimes> pprt::timesOfPlayers(const Players &players,
                                            const Timeline &timeline) {
  std::vector<std::vector<Span>> travels(players.size());
  for (const std::vector<Place> &commOp : players.findCommOps()) {
    double begin = 0;
    for (Place place : commOp)
      begin = std::max(begin, timeline[place.player][place.index].begin);
    for (Place place : commOp)
      travels[place.player].push_back(
          {begin, std::max(begin, timeline[place.player][place.index].end)});
  }
  const double whole = lengthOfStep(timeline);
  std::vector<RankTimes> times(players.size());
  for (uint32_t player = 0; player < players.size(); ++player) {
    std::vector<Span> kernels;
    const InstructionList &body = players.body(player);
    for (size_t i = 0; i < body.size(); ++i)
      if (body[i]->opcode == ppx::Opcode_run ||
          body[i]->opcode == ppx::Opcode_gate)
        kernels.push_back(timeline[player][i]);
    kernels = unite(std::move(kernels));
    const std::vector<Span> travel = unite(std::move(travels[player]));
    RankTimes &its = times[player];
    its.busy = lengthOf(kernels);
    // Sums in different orders: a full timeline may seem busier than it is
    // long.
    its.idle = std::max(0.0, whole - its.busy);
    its.hidden = commonLength(travel, kernels);
    its.exposed = lengthOf(travel) - its.hidden;
  }
  return times;
}

RankTimes pprt::meanTimes(const Players &players,
                          const std::vector<RankTimes> &times) {
  RankTimes mean;
  double ranks = 0;
  for (uint32_t player = 0; player < players.size(); ++player)
    ranks += players.weight(player);
  for (uint32_t player = 0; player < players.size(); ++player) {
    const double share = players.weight(player) / ranks;
    mean.busy += share * times[player].busy;
    mean.idle += share * times[player].idle;
    mean.exposed += share * times[player].exposed;
    mean.hidden += share * times[player].hidden;
  }
  return mean;
}
