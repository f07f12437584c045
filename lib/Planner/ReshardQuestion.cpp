//===- ReshardQuestion.cpp - layouts as the reshard search has them -------===//
//
// SPDX-License-Identifier: Apache-2.0
//
//===----------------------------------------------------------------------===//
#include "pp/Planner/ReshardQuestion.h"
#include "pp/IR/PlanKeys.h"

using namespace mlir;
using namespace pp;

schedule::Topology pp::getTopology(PlanAttr plan) {
  schedule::Topology topology;
  if (!plan)
    return topology;
  topology.links = *schedule::parseLinks(plan.getWord(PlanKey::Links).str());
  static_cast<schedule::Rates &>(topology) =
      *schedule::parseRates(plan.getWord(PlanKey::Rates).str());
  return topology;
}

const schedule::Link &pp::linkAlong(MeshAttr mesh, int64_t axis,
                                    const schedule::Topology &topology) {
  std::vector<std::string_view> axes;
  for (MeshAxisAttr other : mesh.getAxes().drop_front(axis))
    if (axes.empty() || other.getKind() != AxisKind::Time)
      axes.push_back(other.getName().getValue());
  return topology.linkAlong(axes);
}

reshard::ReshardPlanner
pp::makeReshardPlanner(const MeshView &mesh,
                       const schedule::Topology &topology) {
  reshard::Mesh axes;
  reshard::LinkModel links;
  for (auto [number, axis] : llvm::enumerate(mesh.attr().getAxes())) {
    axes.push_back({axis.getName().str(), axis.getSize(),
                    axis.getKind() != AxisKind::Space});
    const schedule::Link &link = linkAlong(mesh.attr(), number, topology);
    links.push_back({link.latency, 1 / link.bytesPerSecond});
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
