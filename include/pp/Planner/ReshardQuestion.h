//===- ReshardQuestion.h - layouts as the reshard search has them -*- C++ -*-=//
//
// SPDX-License-Identifier: Apache-2.0
//
// The reshard search knows no MLIR. The partitioner, and the planner when it
// weighs shardings, call it through this translation.
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

/// The machine with the links and rates of `plan`; without a plan, the default.
schedule::Topology getTopology(PlanAttr plan);

/// The link along an axis of the mesh.
const schedule::Link &linkAlong(MeshAttr mesh, int64_t axis,
                                const schedule::Topology &topology);

/// A search over the axes of the source and the target only: an all-reduce over
/// "tp" stays one, although slices over "dp" could share its work.
reshard::ReshardPlanner makeReshardPlanner(const MeshView &mesh,
                                           const schedule::Topology &topology);

reshard::TensorSharding toPlanner(const Layout &layout,
                                  const PartialAxes &partial);

} // namespace pp

#endif // PP_PLANNER_RESHARDQUESTION_H
