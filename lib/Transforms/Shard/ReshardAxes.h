//===- ReshardAxes.h - which axes reshards add ------------------*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0
//
// A reshard names axes that may split one of its sides further. It adds those
// that split neither side when everything else has spread; an axis that
// somebody asked for on that side alone does not spread through it to begin
// with.
//
//===----------------------------------------------------------------------===//
#ifndef PP_LIB_TRANSFORMS_SHARD_RESHARDAXES_H
#define PP_LIB_TRANSFORMS_SHARD_RESHARDAXES_H

#include "ShardingSpread.h"

namespace pp {

class ReshardAxes {
public:
  ReshardAxes(ShardingSpread &graph, MeshView mesh)
      : graph(graph), mesh(mesh) {}

  /// Keeps axes that somebody asked for on the sides to be split further.
  void stop(llvm::function_ref<bool(int value, int axis)> isWished);
  /// Adds axes, in the name of `root`, and spreads what follows from that.
  void place(mlir::StringAttr root);

private:
  void stop(llvm::function_ref<bool(const ShardingSpread::Node &, int further,
                                    int axis)>
                isStopped);
  void place(bool ofArguments, mlir::StringAttr root);
  std::optional<unsigned> chooseSplit(const ShardingSpread::Value &value,
                                      const AxisList &axes) const;

  ShardingSpread &graph;
  MeshView mesh;
};

} // namespace pp

#endif // PP_LIB_TRANSFORMS_SHARD_RESHARDAXES_H
