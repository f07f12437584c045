//===- ReshardPlanner.cpp - Checks the question, searches, spells the plan ===//
//
// SPDX-License-Identifier: Apache-2.0
//
// The public side of the planner: it refuses invalid input, translates
// shardings to search states and back (axes of size 1 vanish on the way), and
// caches plans.
//
//===----------------------------------------------------------------------===//

#include "pp/Transforms/Shard/ReshardPlanner.h"

#include "State.h"
#include "Text.h"

#include <algorithm>
#include <cmath>

namespace pp::reshard {

/// With more, a search of all moves could take seconds.
static constexpr size_t maxMovableAxes = 5;

//===----------------------------------------------------------------------===//
// Shardings
//===----------------------------------------------------------------------===//

static std::vector<std::pair<int, Reduction>>
sortedPartial(const TensorSharding &sharding) {
  auto sorted = sharding.partial;
  std::sort(sorted.begin(), sorted.end());
  return sorted;
}

bool operator==(const TensorSharding &a, const TensorSharding &b) {
  return a.dims == b.dims && sortedPartial(a) == sortedPartial(b);
}

//===----------------------------------------------------------------------===//
// Checks
//===----------------------------------------------------------------------===//

/// Why `sharding` cannot be a sharding of a tensor of this shape; empty if it
/// can.
static std::string findFault(const TensorSharding &sharding, const Mesh &mesh,
                             const std::vector<int64_t> &shape) {
  std::string name = toString(sharding, mesh);
  if (sharding.dims.size() != shape.size())
    return "expects a sharding of " + std::to_string(shape.size()) +
           " dimensions, got " + name;
  std::vector<int> uses(mesh.size());
  auto use = [&](int axis) { return isAxis(axis, mesh) && uses[axis]++ == 0; };
  for (size_t dim = 0; dim < shape.size(); ++dim) {
    int64_t shards = 1;
    for (int axis : sharding.dims[dim]) {
      if (!use(axis))
        return "expects every axis to exist and to be used once, got " +
               spellAxis(axis, mesh) + " in " + name;
      shards *= mesh[axis].size;
    }
    if (shape[dim] % shards != 0)
      return "expects dimension " + std::to_string(dim) + " of " +
             std::to_string(shape[dim]) + " elements to divide into " +
             std::to_string(shards) + " shards, got " + name;
  }
  for (auto [axis, reduction] : sharding.partial) {
    if (!use(axis))
      return "expects every axis to exist and to be used once, got " +
             spellAxis(axis, mesh) + " in " + name;
    if (reduction != sharding.partial.front().second)
      return "expects one reduction for all partial axes (different ones do "
             "not commute), got " +
             name;
  }
  return "";
}

/// Why the mesh, the shape or the links are no input for a search.
static std::string findFault(const Mesh &mesh,
                             const std::vector<int64_t> &shape,
                             int64_t elementBytes, const LinkModel &links) {
  if (links.size() != mesh.size())
    return "expects one link per mesh axis, got " +
           std::to_string(links.size()) + " links for " +
           std::to_string(mesh.size()) + " axes";
  int64_t positions = 1;
  for (const MeshAxis &axis : mesh) {
    if (axis.size < 1)
      return "expects axis \"" + axis.name +
             "\" to have a positive size, got " + std::to_string(axis.size);
    if (axis.size > maxPositions / positions)
      return "expects a mesh of at most " + std::to_string(maxPositions) +
             " positions, got more up to axis \"" + axis.name + "\"";
    positions *= axis.size;
  }
  for (const AxisLink &link : links)
    for (double figure : {link.latency, link.secondsPerByte})
      if (!std::isfinite(figure) || figure < 0)
        return "expects finite latencies and seconds per byte of 0 or more, "
               "got " +
               std::to_string(figure);
  if (shape.size() > maxRank)
    return "expects at most " + std::to_string(maxRank) + " dimensions, got " +
           std::to_string(shape.size());
  for (int64_t size : shape)
    if (size < 0)
      return "expects a static shape, got a dimension of " +
             std::to_string(size);
  if (elementBytes < 1)
    return "expects at least one byte per element, got " +
           std::to_string(elementBytes);
  return "";
}

//===----------------------------------------------------------------------===//
// Shardings and states
//===----------------------------------------------------------------------===//

namespace {

/// The search problem of a mesh: those of its axes that are larger than 1 and
/// take part, renumbered.
struct Translation {
  Problem problem;
  std::vector<int> meshAxis; ///< per axis of the problem
  Reduction reduction = Reduction::Sum;

  Translation(const Mesh &mesh, const std::vector<bool> &takesPart,
              const std::vector<int64_t> &shape, int64_t elementBytes,
              const LinkModel &links) {
    problem.shape = shape;
    problem.elementBytes = elementBytes;
    for (size_t axis = 0; axis < mesh.size(); ++axis) {
      if (mesh[axis].size == 1 || !takesPart[axis])
        continue;
      meshAxis.push_back(static_cast<int>(axis));
      problem.sizes.push_back(mesh[axis].size);
      problem.fixed.push_back(mesh[axis].fixed);
      problem.links.push_back(links[axis]);
    }
  }

  State stateOf(const TensorSharding &sharding) const {
    State state;
    for (int axis = 0; axis < problem.axisCount(); ++axis)
      state.set(axis, State::unused);
    for (int dim = 0; dim < problem.rank(); ++dim) {
      int position = 0;
      for (int axis : sharding.dims[dim])
        if (int local = find(axis); local >= 0)
          state.set(local, dim, position++);
    }
    for (auto [axis, reduction] : sharding.partial)
      if (int local = find(axis); local >= 0)
        state.set(local, State::partial);
    return state;
  }

  TensorSharding shardingOf(const State &state) const {
    AxesByUse layout(problem, state);
    TensorSharding sharding;
    for (int dim = 0; dim < problem.rank(); ++dim)
      sharding.dims.push_back(onMesh(layout.dims[dim]));
    for (int axis : onMesh(layout.partial))
      sharding.partial.push_back({axis, reduction});
    return sharding;
  }

  std::vector<int> movableAxes() const {
    std::vector<int> movable;
    for (int axis = 0; axis < problem.axisCount(); ++axis)
      if (!problem.fixed[axis])
        movable.push_back(meshAxis[axis]);
    return movable;
  }

  /// The reduction of the partial axes that matter.
  std::optional<Reduction> reductionOf(const TensorSharding &sharding) const {
    for (auto [axis, reduction] : sharding.partial)
      if (find(axis) >= 0)
        return reduction;
    return std::nullopt;
  }

  ReshardStep stepOf(const State &before, const Move &move) const {
    ReshardStep step;
    step.kind = move.kind;
    step.axes = onMesh(move.axes);
    step.dim = move.dim;
    step.splitDim = move.splitDim;
    step.reduction = reduction;
    step.target = onMesh(move.target);
    step.result = shardingOf(move.result);
    step.wireBytes = move.wireBytes;
    step.seconds = move.seconds;
    return step;
  }

private:
  /// The problem's number of a mesh axis, -1 if it is none of it.
  int find(int axis) const {
    auto found = std::find(meshAxis.begin(), meshAxis.end(), axis);
    return found == meshAxis.end() ? -1
                                   : static_cast<int>(found - meshAxis.begin());
  }

  std::vector<int> onMesh(const AxisList &axes) const {
    std::vector<int> result;
    for (int axis : axes)
      result.push_back(meshAxis[axis]);
    return result;
  }
};

} // namespace

//===----------------------------------------------------------------------===//
// Planning
//===----------------------------------------------------------------------===//

/// Which axes of the mesh a search may use or has to respect.
static std::vector<bool> findParticipants(const Mesh &mesh,
                                          const TensorSharding &from,
                                          const TensorSharding &to,
                                          AxisChoice choice) {
  std::vector<bool> takesPart(mesh.size(), choice == AxisChoice::Any);
  for (const TensorSharding *sharding : {&from, &to}) {
    for (const std::vector<int> &axes : sharding->dims)
      for (int axis : axes)
        takesPart[axis] = true;
    for (auto [axis, reduction] : sharding->partial)
      takesPart[axis] = true;
  }
  return takesPart;
}

static ReshardPlan refuse(std::string why) {
  ReshardPlan plan;
  plan.whyUnreachable = std::move(why);
  return plan;
}

ReshardPlan planReshard(const Mesh &mesh, const std::vector<int64_t> &shape,
                        int64_t elementBytes, const TensorSharding &from,
                        const TensorSharding &to, const LinkModel &links,
                        AxisChoice choice) {
  if (std::string fault = findFault(mesh, shape, elementBytes, links);
      !fault.empty())
    return refuse(std::move(fault));
  for (const TensorSharding *sharding : {&from, &to})
    if (std::string fault = findFault(*sharding, mesh, shape); !fault.empty())
      return refuse(std::move(fault));

  Translation translation(mesh, findParticipants(mesh, from, to, choice), shape,
                          elementBytes, links);
  Problem &problem = translation.problem;
  std::vector<int> movable = translation.movableAxes();
  std::optional<Reduction> held = translation.reductionOf(from);
  std::optional<Reduction> wanted = translation.reductionOf(to);
  translation.reduction = held.value_or(Reduction::Sum);
  State source = translation.stateOf(from), target = translation.stateOf(to);

  std::string names =
      "got " + toString(from, mesh) + " -> " + toString(to, mesh);
  for (int axis = 0; axis < problem.axisCount(); ++axis)
    if (problem.fixed[axis] && source.place(axis) != target.place(axis))
      return refuse("expects axis \"" + mesh[translation.meshAxis[axis]].name +
                    "\" to be used alike at source and target (no collective "
                    "runs over it), " +
                    names);
  if (wanted && held != wanted)
    return refuse(
        "expects the source to be partial with " + std::string(spell(*wanted)) +
        " as the target is (no collective makes a value partial), " + names);
  // If many axes may move, those stay in place that can; if there are still
  // many, they take only the straight ways.
  if (movable.size() > maxMovableAxes)
    for (int axis = 0; axis < problem.axisCount(); ++axis)
      problem.fixed[axis] =
          problem.fixed[axis] || isUsedAlike(problem, source, target, axis);
  const auto moves =
      findCheapestMoves(problem, source, target,
                        translation.movableAxes().size() > maxMovableAxes);
  if (!moves)
    return refuse("expects a target that collectives over " +
                  spellAxes(movable, mesh) +
                  " lead to (none makes a value partial), " + names);
  ReshardPlan plan;
  for (const Move &move : *moves) {
    plan.steps.push_back(translation.stepOf(source, move));
    plan.cost += move.seconds;
    source = move.result;
  }
  return plan;
}

ReshardPlanner::ReshardPlanner(Mesh mesh, LinkModel links, AxisChoice choice)
    : mesh(std::move(mesh)), links(std::move(links)), choice(choice) {}

const ReshardPlan &ReshardPlanner::plan(const std::vector<int64_t> &shape,
                                        int64_t elementBytes,
                                        const TensorSharding &from,
                                        const TensorSharding &to) {
  // Lengths precede lists, so that different questions have different keys.
  std::vector<int64_t> key{elementBytes, static_cast<int64_t>(shape.size())};
  key.insert(key.end(), shape.begin(), shape.end());
  for (const TensorSharding *sharding : {&from, &to}) {
    key.push_back(static_cast<int64_t>(sharding->dims.size()));
    for (const std::vector<int> &axes : sharding->dims) {
      key.push_back(static_cast<int64_t>(axes.size()));
      key.insert(key.end(), axes.begin(), axes.end());
    }
    key.push_back(static_cast<int64_t>(sharding->partial.size()));
    for (auto [axis, reduction] : sortedPartial(*sharding)) {
      key.push_back(axis);
      key.push_back(static_cast<int64_t>(reduction));
    }
  }
  auto found = plans.find(key);
  if (found == plans.end())
    found = plans
                .emplace(std::move(key), planReshard(mesh, shape, elementBytes,
                                                     from, to, links, choice))
                .first;
  return found->second;
}

} // namespace pp::reshard
