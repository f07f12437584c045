//===- ReshardPlanner.h - From one sharding to another, cheapest first ----===//
//
// SPDX-License-Identifier: Apache-2.0
//
// In: a mesh, its links, a tensor shape, the tensor's sharding and the wanted
// one. Out: the cheapest sequence of collectives between the two, with the
// sharding, the bytes sent and the predicted time of every step; or the reason
// why there is none. The search is exhaustive over the shardings of the mesh,
// so a plan passes through full replication only if nothing is cheaper. If more
// than five axes move, it searches only ways on which each axis goes straight
// to its target.
//
// Assumed: the shape is padded, so that both shardings divide it evenly.
// Nothing here knows MLIR: the partitioner translates attributes to these
// structs and steps to ops.
//
//===----------------------------------------------------------------------===//

#ifndef PP_TRANSFORMS_SHARD_RESHARDPLANNER_H
#define PP_TRANSFORMS_SHARD_RESHARDPLANNER_H

#include <cstdint>
#include <map>
#include <string>
#include <utility>
#include <vector>

namespace pp::reshard {

/// A named mesh axis. Devices are numbered row-major over the axes of a mesh.
struct MeshAxis {
  std::string name;
  int64_t size;
  /// No collective runs over this axis (stage and time axes): it splits the
  /// same dimension, or leaves the same partial value, at source and target.
  bool fixed = false;
};
using Mesh = std::vector<MeshAxis>;

/// The link that connects the devices along one mesh axis.
struct AxisLink {
  double latency;        ///< seconds a message needs however short it is
  double secondsPerByte; ///< reciprocal bandwidth
};
/// One link per mesh axis. A call over several axes runs at the pace of the
/// slowest of them.
using LinkModel = std::vector<AxisLink>;

enum class Reduction { Sum, Max, Min, Prod, And, Or };

/// How a global tensor lies on a mesh; axes are indices into the mesh.
struct TensorSharding {
  /// For every dimension the axes that split it, major to minor: axes (a, b)
  /// give the device at coordinates (i, j) the shard i * size(b) + j.
  std::vector<std::vector<int>> dims;
  /// Axes whose devices hold values still to be combined, in any order.
  std::vector<std::pair<int, Reduction>> partial;
};
bool operator==(const TensorSharding &a, const TensorSharding &b);
inline bool operator!=(const TensorSharding &a, const TensorSharding &b) {
  return !(a == b);
}

/// Spells a sharding as the IR does: `[{"dp"}, {}], partial={"tp":sum}`.
std::string toString(const TensorSharding &sharding, const Mesh &mesh);

enum class StepKind {
  AllSlice,      ///< local: each device keeps its slice of what it holds
  AllGather,     ///< concatenates the shards of the group
  AllReduce,     ///< combines partial values
  ReduceScatter, ///< combines partial values, each member keeps one slice
  AllToAll,      ///< splits one dimension while another is concatenated
  Permute        ///< every device gets the data of exactly one device
};

/// `all_gather`
const char *toString(StepKind kind);

/// One collective over the groups of devices that agree on every coordinate
/// outside `axes`; members are numbered row-major over `axes`.
struct ReshardStep {
  StepKind kind;
  std::vector<int> axes;
  /// AllSlice and ReduceScatter: the dimension split, `axes` become its
  /// minor-most. AllGather and AllToAll: the dimension concatenated, `axes`
  /// were its minor-most. Otherwise -1.
  int dim = -1;
  /// AllToAll: the dimension split, `axes` become its minor-most.
  int splitDim = -1;
  /// AllReduce and ReduceScatter.
  Reduction reduction = Reduction::Sum;
  /// Permute: the axes in another order. Member i sends to the member whose
  /// coordinates give i when they are read in this order.
  std::vector<int> target;
  /// The sharding after the step.
  TensorSharding result;
  /// What each device sends, and how long the step takes.
  double wireBytes = 0;
  double seconds = 0;
};

/// Spells a step: `all_to_all(dim=0, split_dim=1) over {"dp"}`.
std::string toString(const ReshardStep &step, const Mesh &mesh);

/// The cheapest way from one sharding to another. If they are equal there are
/// no steps and no reason. Axes of size 1 never appear.
struct ReshardPlan {
  std::vector<ReshardStep> steps;
  double cost = 0; ///< seconds
  std::string whyUnreachable;

  bool reachable() const { return whyUnreachable.empty(); }
};

/// The axes, except fixed ones, that collectives may run over.
enum class AxisChoice {
  /// All. An axis that neither sharding uses can still save bytes: its devices
  /// share the work of copies, as in all_slice, all_reduce, all_gather.
  Any,
  /// The axes of the source and the target.
  Used
};

/// Plans one reshard. Among equally cheap plans it takes one with the fewest
/// steps; the same input always gives the same plan. `whyUnreachable` reports
/// invalid input (an axis used twice, a shape that does not divide), and
/// targets that no collectives lead to: nothing makes a value partial.
ReshardPlan planReshard(const Mesh &mesh, const std::vector<int64_t> &shape,
                        int64_t elementBytes, const TensorSharding &from,
                        const TensorSharding &to, const LinkModel &links,
                        AxisChoice choice = AxisChoice::Any);

/// Remembers the plans of one mesh: a model asks the same few questions once
/// per layer.
class ReshardPlanner {
public:
  ReshardPlanner(Mesh mesh, LinkModel links,
                 AxisChoice choice = AxisChoice::Any);

  /// As planReshard(); the reference stays valid as long as the planner.
  const ReshardPlan &plan(const std::vector<int64_t> &shape,
                          int64_t elementBytes, const TensorSharding &from,
                          const TensorSharding &to);

private:
  Mesh mesh;
  LinkModel links;
  AxisChoice choice;
  std::map<std::vector<int64_t>, ReshardPlan> plans;
};

} // namespace pp::reshard

#endif // PP_TRANSFORMS_SHARD_RESHARDPLANNER_H
