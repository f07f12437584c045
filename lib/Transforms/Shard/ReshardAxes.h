//===- ReshardAxes.h - axes that reshards add -------------------*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0
//
// A reshard names axes that may split one of its sides further. It adds those
// that split neither side when everything else has spread; an axis that was
// requested on that side alone does not spread through it. If no dimension that
// is large enough may take them, a remark says so: dimensions that are to stay
// whole (a seed's `{}`) may not, nor may those that would be padded in the
// middle.
//
//===----------------------------------------------------------------------===//
#ifndef PP_LIB_TRANSFORMS_SHARD_RESHARDAXES_H
#define PP_LIB_TRANSFORMS_SHARD_RESHARDAXES_H

#include "pp/Analysis/FactorClasses.h"
#include "pp/Analysis/ShardingSpread.h"
#include "llvm/ADT/DenseSet.h"

namespace pp {

class ReshardAxes {
public:
  ReshardAxes(ShardingSpread &graph, MeshView mesh)
      : graph(graph), mesh(mesh) {}

  /// Keeps requested axes on the sides that are to be split further.
  void stop(llvm::function_ref<bool(int value, int axis)> isWished);
  /// Adds axes, with the source `root`, and spreads them.
  void place(mlir::StringAttr root);

private:
  void stop(llvm::function_ref<bool(const ShardingSpread::Node &, int further,
                                    int axis)>
                isStopped);
  void place(bool ofArguments, mlir::StringAttr root);
  /// The value that a reshard splits further: the argument behind ops that keep
  /// dimensions (such as a convert), so that all of them choose alike;
  /// otherwise one of its sides.
  struct Split {
    int number;
    mlir::Value value;
    llvm::SmallVector<int64_t> whole; ///< dimensions to leave as they are
    mlir::BlockArgument argument;     ///< that it is for, or null
  };
  Split findSplit(const ShardingSpread::Node &node);
  bool padsInside(mlir::Value value, unsigned dim, const AxisList &present,
                  const AxisList &axes);
  std::optional<unsigned> chooseSplit(const ShardingSpread::Value &state,
                                      const Split &split, const AxisList &axes);
  void report(const Split &split, const AxisList &axes, mlir::StringAttr root);

  ShardingSpread &graph;
  MeshView mesh;
  /// Computed for all values on the first request.
  std::optional<FactorClasses> classes;
  llvm::DenseMap<mlir::Value, int> arguments; ///< their numbers
  llvm::DenseSet<int> reported; ///< values that nothing more splits
};

} // namespace pp

#endif // PP_LIB_TRANSFORMS_SHARD_RESHARDAXES_H
