//===- MinCut.cpp - the minimum cut of a graph ----------------------------===//
//
// SPDX-License-Identifier: Apache-2.0
//
// Dinic's algorithm (1970) finds the largest flow, whose saturated edges are
// the cut.
//
//===----------------------------------------------------------------------===//
#include "MinCut.h"
#include <algorithm>

using namespace pp;

void MinCut::link(unsigned from, unsigned to, int64_t capacity) {
  leaving[from].push_back(unsigned(edges.size()));
  edges.push_back({to, capacity});
  leaving[to].push_back(unsigned(edges.size()));
  edges.push_back({from, 0});
}

bool MinCut::findLevels() {
  level.assign(leaving.size(), -1);
  level[kSource] = 0;
  std::vector<unsigned> queue{kSource};
  for (size_t head = 0; head < queue.size(); ++head)
    for (unsigned index : leaving[queue[head]])
      if (const Edge &edge = edges[index];
          edge.capacity > 0 && level[edge.to] < 0) {
        level[edge.to] = level[queue[head]] + 1;
        queue.push_back(edge.to);
      }
  return level[kSink] >= 0;
}

bool MinCut::push() {
  std::vector<unsigned> path; // edges from the source on
  unsigned at = kSource;
  while (at != kSink) {
    unsigned &position = next[at];
    const auto leads = [&](unsigned index) {
      return edges[index].capacity > 0 &&
             level[edges[index].to] == level[at] + 1;
    };
    while (position < leaving[at].size() && !leads(leaving[at][position]))
      ++position;
    if (position < leaving[at].size()) {
      path.push_back(leaving[at][position]);
      at = edges[path.back()].to;
      continue;
    }
    if (path.empty())
      return false;
    at = edges[path.back() ^ 1].to;
    path.pop_back();
    ++next[at];
  }
  int64_t flow = kInfinite;
  for (unsigned index : path)
    flow = std::min(flow, edges[index].capacity);
  for (unsigned index : path) {
    edges[index].capacity -= flow;
    edges[index ^ 1].capacity += flow;
  }
  return true;
}

std::vector<bool> MinCut::solve() {
  while (findLevels()) {
    next.assign(leaving.size(), 0);
    while (push())
      ;
  }
  // Vertices that can still send to the sink lie behind the cut.
  std::vector<bool> behind(leaving.size());
  behind[kSink] = true;
  std::vector<unsigned> work{kSink};
  while (!work.empty()) {
    const unsigned vertex = work.back();
    work.pop_back();
    for (unsigned index : leaving[vertex]) {
      unsigned from = edges[index].to;
      if (edges[index ^ 1].capacity > 0 && !behind[from]) {
        behind[from] = true;
        work.push_back(from);
      }
    }
  }
  behind.erase(behind.begin(), behind.begin() + 2);
  return behind;
}
