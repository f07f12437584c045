//===- Overlap.cpp - communication hidden behind kernels ------------------===//
//
// SPDX-License-Identifier: Apache-2.0
//
// A rank that comes to a comm op first waits for the other ranks, not for a
// message: that is imbalance, or a pipeline's bubble, and counts as neither of
// the two kinds distinguished here.
//
//===----------------------------------------------------------------------===//
#include "pprt/Program.h"
#include "pprt/Replay.h"

#include <algorithm>

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

TravelTime pprt::travelTime(const Players &players, const Timeline &timeline) {
  std::vector<std::vector<Span>> travels(players.size());
  for (const std::vector<Place> &commOp : players.findCommOps()) {
    double begin = 0;
    for (Place place : commOp)
      begin = std::max(begin, timeline[place.player][place.index].begin);
    for (Place place : commOp)
      travels[place.player].push_back(
          {begin, std::max(begin, timeline[place.player][place.index].end)});
  }
  TravelTime sum;
  double ranks = 0;
  for (uint32_t player = 0; player < players.size(); ++player) {
    std::vector<Span> kernels;
    const InstructionList &body = players.program(player).body;
    for (size_t i = 0; i < body.size(); ++i)
      if (body[i]->opcode == ppx::Opcode_run ||
          body[i]->opcode == ppx::Opcode_gate)
        kernels.push_back(timeline[player][i]);
    const std::vector<Span> travel = unite(std::move(travels[player]));
    const double hidden = commonLength(travel, unite(std::move(kernels)));
    const double weight = players.weight(player);
    sum.hidden += weight * hidden;
    sum.exposed += weight * (lengthOf(travel) - hidden);
    ranks += weight;
  }
  return ranks > 0 ? TravelTime{sum.exposed / ranks, sum.hidden / ranks} : sum;
}
