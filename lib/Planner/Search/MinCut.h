//===- MinCut.h - the minimum cut of a graph --------------------*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0
//
// Capacities are not negative, and their sum is below kInfinite.
//
//===----------------------------------------------------------------------===//
#ifndef PP_LIB_PLANNER_SEARCH_MINCUT_H
#define PP_LIB_PLANNER_SEARCH_MINCUT_H

#include <cstdint>
#include <limits>
#include <vector>

namespace pp {

/// A directed graph between a source and a sink.
class MinCut {
public:
  static constexpr int64_t kInfinite = std::numeric_limits<int64_t>::max() / 4;

  /// Adds vertices, numbered from 0 on.
  void addVertices(unsigned count) { leaving.resize(leaving.size() + count); }
  void connect(unsigned from, unsigned to, int64_t capacity) {
    link(from + 2, to + 2, capacity);
  }
  void connectSource(unsigned to, int64_t capacity) {
    link(kSource, to + 2, capacity);
  }
  void connectSink(unsigned from) { link(from + 2, kSink, kInfinite); }

  /// The vertices on the sink's side of the cheapest cut; of several cuts the
  /// one nearest to the sink.
  std::vector<bool> solve();

private:
  /// Edge 2i+1 is the way back of edge 2i.
  struct Edge {
    unsigned to;
    int64_t capacity;
  };
  static constexpr unsigned kSource = 0, kSink = 1;

  void link(unsigned from, unsigned to, int64_t capacity);
  bool findLevels();
  /// Sends flow along one path; false if there is none.
  bool push();

  std::vector<Edge> edges;
  std::vector<std::vector<unsigned>> leaving{{}, {}}; ///< edges of each vertex
  std::vector<int> level;
  std::vector<unsigned> next; ///< the edge to try
};

} // namespace pp

#endif // PP_LIB_PLANNER_SEARCH_MINCUT_H
