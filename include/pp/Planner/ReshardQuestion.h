//===- ReshardQuestion.h - layouts as the reshard search has them -*- C++ -*-=//
//
// SPDX-License-Identifier: Apache-2.0
//
// The reshard search knows no MLIR. What asks it, the partitioner and whoever
// weighs shardings before, translates here.
//
//===----------------------------------------------------------------------===//
#ifndef PP_PLANNER_RESHARDQUESTION_H
#define PP_PLANNER_RESHARDQUESTION_H

#include "pp/Analysis/Factors.h"
#include "pp/Schedule/Topology.h"
#include "pp/Transforms/Shard/ReshardPlanner.h"

namespace pp {

/// Axes over which a value is still to be reduced.
using PartialAxes = llvm::SmallVector<std::pair<int, Reduction>, 2>;

/// The machine of the plan's links and rates; of no plan, the default.
schedule::Topology getTopology(PlanAttr plan);

/// The link along an axis of the mesh.
const schedule::Link &linkAlong(MeshAttr mesh, int64_t axis,
                                const schedule::Topology &topology);

/// A search over the axes that the source or the target of a question uses: an
/// all-reduce over "tp" stays one, although slices over "dp" could share its
/// work.
reshard::ReshardPlanner makeReshardPlanner(const MeshView &mesh,
                                           const schedule::Topology &topology);

reshard::TensorSharding toPlanner(const Layout &layout,
                                  const PartialAxes &partial);

} // namespace pp

#endif // PP_PLANNER_RESHARDQUESTION_H
