//===- ShardingSpread.h - shardings from values to values -------*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0
//
// The fixed point of propagation, over the factors of the rules that tie values
// together. In each sweep all rules that saw a change propose from the state
// before the sweep, then each value takes what it can. So the order of values
// and rules does not matter: the nearest axis wins, among equally near ones
// that of smaller priority, then the first in the mesh, then the first
// dimension. Layouts only grow, so it ends. Every axis keeps its source; among
// equal ones, and among parts of an axis that exclude each other (2 and 3 of
// 6), the first rule added wins.
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

  /// A tie between values: an op's rule, or the identity between an argument
  /// and its update, or between a value and the result it becomes.
  struct Node {
    mlir::Operation *op = nullptr;
    const ShardingRule *rule = nullptr;
    /// Numbers of the values: results, then operands.
    llvm::SmallVector<int, 4> values;
    /// Axes that do not spread through the op: only one side has them.
    AxisList stopped;
    /// For a tie: its result of @main, and whether the other side is the
    /// argument that it updates.
    int result = -1;
    bool isUpdate = false;
  };

  /// The source of a value's axis: tensor `giver` of a node, or, with node -1,
  /// the seed or annotation that asked for it.
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
    /// Axes that a reshard adds to those asked of the value.
    AxisList added;
    llvm::SmallVector<Source, 2> sources;

    const Source *findSource(int axis) const;
  };

  /// Expected numbers of values and nodes.
  void reserve(size_t numValues, size_t numNodes);
  /// Adds a value, whole and open in all dimensions; returns its number.
  int addValue(llvm::ArrayRef<int64_t> shape);
  void connect(Node node, ShardingRule rule);
  /// Ties two values of one shape, the sides of a result.
  void tie(int a, int b, int result, bool isUpdate);

  /// Gives a dimension `axes`, as far as they extend its axes and no other
  /// dimension has them; `root` is their source.
  void place(int value, unsigned dim, const AxisList &axes,
             mlir::StringAttr root);
  /// Queues the same for the start of the next spread; proposals are taken in
  /// its order of preference.
  void propose(int value, unsigned dim, const AxisList &axes,
               mlir::StringAttr root);
  /// Keeps `axes` from spreading through a node from now on.
  void stop(size_t node, AxisList axes) { nodes[node].stopped = axes; }
  /// Spreads all axes until nothing changes.
  void spread();

  /// Axes of which only a part could have spread further.
  const AxisDivisions &getDivisions() const { return divisions; }

  Value &value(int number) { return values[number]; }
  llvm::ArrayRef<Value> getValues() const { return values; }
  llvm::ArrayRef<Node> getNodes() const { return nodes; }

private:
  /// The axes that a node, or `root` without one, proposes for a dimension, and
  /// the tensor of the node that gives each.
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
