//===- ShardingSpread.h - shardings from values to values -------*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0
//
// The fixed point under propagation, over the factors of the rules that tie
// values together. It goes in sweeps: all rules that saw a change propose from
// what was there before the sweep, then each value takes what it can. So the
// order in which values and rules were added has no say: the nearest axis wins,
// of equally near ones the one with the smaller priority, then the one that the
// mesh names first, then the first dimension. Layouts only grow, so it ends.
//
//===----------------------------------------------------------------------===//
#ifndef PP_LIB_TRANSFORMS_SHARD_SHARDINGSPREAD_H
#define PP_LIB_TRANSFORMS_SHARD_SHARDINGSPREAD_H

#include "Factors.h"
#include "llvm/ADT/BitVector.h"

namespace pp {

class ShardingSpread {
public:
  explicit ShardingSpread(MeshView mesh) : mesh(mesh) {}

  /// What ties values together: an op's rule, or the identity between an
  /// argument and its update, or between a value and the result it becomes.
  struct Node {
    mlir::Operation *op = nullptr;
    ShardingRule rule;
    /// Numbers of the values: results, then operands.
    llvm::SmallVector<int, 4> values;
    /// Axes that do not spread through the op: those of a reshard.
    AxisList stopped;
  };

  struct Value {
    llvm::SmallVector<int64_t, 4> sizes;
    Layout layout;
    llvm::SmallBitVector closed; ///< per dimension: spreading adds nothing
    llvm::SmallVector<int, 4> nodes;
    /// An axis that never splits the value, or -1.
    int without = -1;
    /// Axes that it has beyond what was asked of it, by a reshard.
    AxisList added;
  };

  /// A value that is whole and open in all dimensions; returns its number.
  int addValue(llvm::ArrayRef<int64_t> shape);
  void connect(Node node);
  /// Has two values of one shape lie alike.
  void tie(int a, int b);

  /// Gives a dimension `axes`, as far as they extend what it has and no other
  /// dimension has them.
  void place(int value, unsigned dim, const AxisList &axes);
  /// The same when the next spread begins, of all that is proposed by then in
  /// the order in which it goes.
  void propose(int value, unsigned dim, const AxisList &axes);
  /// Spreads what was placed and proposed until nothing changes.
  void spread();

  Value &value(int number) { return values[number]; }
  llvm::ArrayRef<Value> getValues() const { return values; }
  llvm::ArrayRef<Node> getNodes() const { return nodes; }

private:
  /// What a node would have a dimension be.
  struct Proposal {
    int value;
    unsigned dim;
    AxisList axes;
  };

  void visit(int node);
  void touch(int value);
  bool applyProposals();

  MeshView mesh;
  std::vector<Node> nodes;
  std::vector<Value> values;
  std::vector<Proposal> proposals;
  llvm::SmallVector<int> queue;
  llvm::BitVector queued;
};

/// `layout` up to the first of `axes` in each dimension.
Layout cutAt(const AxisList &axes, Layout layout);

} // namespace pp

#endif // PP_LIB_TRANSFORMS_SHARD_SHARDINGSPREAD_H
