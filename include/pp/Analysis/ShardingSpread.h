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
// With every axis stays where it came from; of alike ones that is the first
// rule added; so it is of parts of an axis that exclude each other, 2 and 3 of
// 6.
//
//===----------------------------------------------------------------------===//
#ifndef PP_ANALYSIS_SHARDINGSPREAD_H
#define PP_ANALYSIS_SHARDINGSPREAD_H

#include "pp/Analysis/AxisDivisions.h"
#include "pp/Analysis/Factors.h"
#include "pp/Analysis/RuleTable.h"
#include "llvm/ADT/BitVector.h"

namespace pp {

class ShardingSpread {
public:
  explicit ShardingSpread(MeshView mesh) : mesh(mesh), divisions(mesh.attr()) {}

  /// What ties values together: an op's rule, or the identity between an
  /// argument and its update, or between a value and the result it becomes.
  struct Node {
    mlir::Operation *op = nullptr;
    const ShardingRule *rule = nullptr;
    /// Numbers of the values: results, then operands.
    llvm::SmallVector<int, 4> values;
    /// Axes that do not spread through the op: it may have them on one side
    /// alone.
    AxisList stopped;
    /// Of a tie: the result of @main on one side of it, and whether the other
    /// side is the argument that it updates.
    int result = -1;
    bool isUpdate = false;
  };

  /// Where a value has an axis from: from tensor `giver` of a node, or, with
  /// node -1, from whoever asked for it.
  struct Source {
    int axis;
    int node, giver;
    mlir::StringAttr root; ///< who asked for it first
    int length = 0;        ///< edges from there
  };

  struct Value {
    llvm::ArrayRef<int64_t> sizes;
    Layout layout;
    llvm::SmallBitVector closed; ///< per dimension: spreading adds nothing
    llvm::SmallVector<int, 4> nodes;
    /// An axis that never splits the value, or -1.
    int without = -1;
    /// Axes that it has beyond what was asked of it, by a reshard.
    AxisList added;
    llvm::SmallVector<Source, 2> sources;

    const Source *findSource(int axis) const;
  };

  /// Says how many values and nodes there will be about.
  void reserve(size_t numValues, size_t numNodes);
  /// A value that is whole and open in all dimensions, with the shape of a
  /// type; returns its number.
  int addValue(llvm::ArrayRef<int64_t> shape);
  void connect(Node node, ShardingRule rule);
  /// Has two values of one shape lie alike, the sides of a result.
  void tie(int a, int b, int result, bool isUpdate);

  /// Gives a dimension `axes`, as far as they extend what it has and no other
  /// dimension has them; `root` says who asks for it.
  void place(int value, unsigned dim, const AxisList &axes,
             mlir::StringAttr root);
  /// The same when the next spread begins, of all that is proposed by then in
  /// the order in which it goes.
  void propose(int value, unsigned dim, const AxisList &axes,
               mlir::StringAttr root);
  /// From now on `axes` do not spread through a node.
  void stop(size_t node, AxisList axes) { nodes[node].stopped = axes; }
  /// Spreads what was placed and proposed until nothing changes.
  void spread();

  /// The axes that went no further, but would have gone by a part of theirs.
  const AxisDivisions &getDivisions() const { return divisions; }

  Value &value(int number) { return values[number]; }
  llvm::ArrayRef<Value> getValues() const { return values; }
  llvm::ArrayRef<Node> getNodes() const { return nodes; }

private:
  /// What a node, or `root` without one, would have a dimension be, and which
  /// tensor of the node gives each axis.
  struct Proposal {
    int value;
    unsigned dim;
    AxisList axes;
    int node;
    llvm::SmallVector<int, 2> givers;
    mlir::StringAttr root;
  };

  void visit(int node);
  bool extend(const Proposal &proposal);
  void touch(int value);
  bool applyProposals();

  MeshView mesh;
  AxisDivisions divisions;
  RuleTable rules;
  std::vector<Node> nodes;
  std::vector<Value> values;
  std::vector<Proposal> proposals;
  llvm::SmallVector<int> queue;
  llvm::BitVector queued;
};

/// `layout` up to the first of `axes` in each dimension.
Layout cutAt(const AxisList &axes, Layout layout);

} // namespace pp

#endif // PP_ANALYSIS_SHARDINGSPREAD_H
