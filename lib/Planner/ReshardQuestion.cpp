//===- ReshardQuestion.cpp - layouts as the reshard search has them -------===//
//
// SPDX-License-Identifier: Apache-2.0
//
//===----------------------------------------------------------------------===//
#include "pp/Planner/ReshardQuestion.h"

using namespace mlir;
using namespace pp;

reshard::ReshardPlanner
pp::makeReshardPlanner(const MeshView &mesh,
                       const schedule::Topology &topology) {
  reshard::Mesh axes;
  reshard::LinkModel links;
  for (MeshAxisAttr axis : mesh.attr().getAxes()) {
    axes.push_back({axis.getName().str(), axis.getSize(),
                    axis.getKind() != AxisKind::Space});
    links.push_back({topology.linkLatency, 1 / topology.linkBytesPerSecond});
  }
  return {std::move(axes), std::move(links), reshard::AxisChoice::Used};
}

reshard::TensorSharding pp::toPlanner(const Layout &layout,
                                      const PartialAxes &partial) {
  // Both enumerations list the reductions in one order.
  static_assert(int(Reduction::Sum) == int(reshard::Reduction::Sum) &&
                int(Reduction::Max) == int(reshard::Reduction::Max) &&
                int(Reduction::Min) == int(reshard::Reduction::Min) &&
                int(Reduction::Prod) == int(reshard::Reduction::Prod) &&
                int(Reduction::And) == int(reshard::Reduction::And) &&
                int(Reduction::Or) == int(reshard::Reduction::Or));
  reshard::TensorSharding sharding;
  for (const AxisList &axes : layout)
    sharding.dims.emplace_back(axes.begin(), axes.end());
  for (auto [axis, reduction] : partial)
    sharding.partial.push_back(
        {axis, static_cast<reshard::Reduction>(reduction)});
  return sharding;
}
