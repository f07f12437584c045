//===- ReshardAxes.h - which axes reshards add ------------------*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0
//
// A reshard names axes that may split one of its sides further. It adds those
// that split neither side when everything else has spread; an axis that
// somebody asked for on that side alone does not spread through it to begin
// with. Where no dimension that is large enough may take them, a remark says
// so: those to stay whole (a seed's `{}`) may not, nor do any that would be
// padded in the middle.
//
//===----------------------------------------------------------------------===//
#ifndef PP_LIB_TRANSFORMS_SHARD_RESHARDAXES_H
#define PP_LIB_TRANSFORMS_SHARD_RESHARDAXES_H

#include "ShardingSpread.h"
#include "pp/Analysis/FactorClasses.h"
#include "llvm/ADT/DenseSet.h"

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
  bool padsInside(mlir::Value value, unsigned dim, const AxisList &present,
                  const AxisList &axes);
  std::optional<unsigned> chooseSplit(const ShardingSpread::Value &state,
                                      mlir::Value value,
                                      llvm::ArrayRef<int64_t> whole,
                                      const AxisList &axes);
  void report(ReshardOp reshard, int number, const AxisList &axes,
              mlir::StringAttr root);

  ShardingSpread &graph;
  MeshView mesh;
  /// Of all values, once somebody asks.
  std::optional<FactorClasses> classes;
  llvm::DenseSet<int> reported; ///< values that nothing more splits
};

} // namespace pp

#endif // PP_LIB_TRANSFORMS_SHARD_RESHARDAXES_H
