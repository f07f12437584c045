//===- MinCut.h - the minimum cut of a graph --------------------*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0
//
// The minimum cut of pp-trim-residuals. Prices are not negative.
//
//===----------------------------------------------------------------------===//
#ifndef PP_LIB_TRANSFORMS_PIPELINE_MINCUT_H
#define PP_LIB_TRANSFORMS_PIPELINE_MINCUT_H

#include "llvm/ADT/SmallVector.h"
#include <cstdint>
#include <limits>

namespace pp {

/// A directed graph whose nodes have a price.
class NodeCut {
public:
  static constexpr int64_t kInfinite = std::numeric_limits<int64_t>::max() / 4;

  /// A node that costs `price` to cut.
  unsigned addNode(int64_t price);
  void addEdge(unsigned from, unsigned to) {
    connect(exit(from), entry(to), kInfinite);
  }
  void markSource(unsigned node) { connect(kSource, entry(node), kInfinite); }
  void markSink(unsigned node) { connect(exit(node), kSink, kInfinite); }

  /// The cheapest nodes without which no sink can be reached from a source; of
  /// several such sets the one nearest to the sinks.
  llvm::SmallVector<unsigned> solve();

private:
  /// Edge 2i+1 is the way back of edge 2i.
  struct Edge {
    unsigned to;
    int64_t capacity;
  };
  static constexpr unsigned kSource = 0, kSink = 1;
  static unsigned entry(unsigned node) { return 2 * node + 2; }
  static unsigned exit(unsigned node) { return 2 * node + 3; }

  void connect(unsigned from, unsigned to, int64_t capacity);
  bool findLevels();
  int64_t push(unsigned from, int64_t limit);

  llvm::SmallVector<Edge> edges;
  llvm::SmallVector<llvm::SmallVector<unsigned>> leaving{
      {}, {}}; ///< edges of each vertex
  llvm::SmallVector<int> level;
  llvm::SmallVector<unsigned> next; ///< the edge to try
};

} // namespace pp

#endif // PP_LIB_TRANSFORMS_PIPELINE_MINCUT_H
