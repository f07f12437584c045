//===- State.cpp - Queries on a state, and the permutation between two ----===//
//
// SPDX-License-Identifier: Apache-2.0
//
//===----------------------------------------------------------------------===//

#include "State.h"

#include <algorithm>
#include <map>

namespace pp::reshard {

bool AxisList::contains(int axis) const {
  return std::find(begin(), end(), axis) != end();
}

AxisList AxisList::suffix(int n) const {
  AxisList result;
  for (int i = count - n; i < count; ++i)
    result.push(axes[i]);
  return result;
}

Layout::Layout(const Problem &problem, State state) {
  // Every position of a dimension before the next one: axes come out in order.
  for (int position = 0; position < problem.axisCount(); ++position)
    for (int axis = 0; axis < problem.axisCount(); ++axis)
      if (state.place(axis) < State::partial &&
          state.position(axis) == position)
        dims[state.place(axis)].push(axis);
  for (int axis = 0; axis < problem.axisCount(); ++axis) {
    if (state.place(axis) == State::partial)
      partial.push(axis);
    if (state.place(axis) == State::unused)
      unused.push(axis);
  }
}

int64_t groupSize(const Problem &problem, const AxisList &axes) {
  int64_t size = 1;
  for (int axis : axes)
    size *= problem.sizes[axis];
  return size;
}

double localBytes(const Problem &problem, State state) {
  double bytes = static_cast<double>(problem.elementBytes);
  for (int64_t size : problem.shape)
    bytes *= static_cast<double>(size);
  for (int axis = 0; axis < problem.axisCount(); ++axis)
    if (state.place(axis) < State::partial)
      bytes /= static_cast<double>(problem.sizes[axis]);
  return bytes;
}

/// How far apart in its dimension's block numbers two neighbours along `axis`
/// are: the product of the sizes of all more minor axes.
static int64_t blockStride(const Problem &problem, State state, int axis) {
  int64_t stride = 1;
  if (state.place(axis) >= State::partial)
    return stride;
  for (int other = 0; other < problem.axisCount(); ++other)
    if (state.place(other) == state.place(axis) &&
        state.position(other) > state.position(axis))
      stride *= problem.sizes[other];
  return stride;
}

AxisList movedAxes(const Problem &problem, State from, State to) {
  // An axis of the same place and stride selects the same part of the tensor
  // in both states, so no data has to cross it. Any other axis selects
  // different parts, so some data must.
  AxisList moved;
  for (int axis = 0; axis < problem.axisCount(); ++axis)
    if (from.place(axis) != to.place(axis) ||
        blockStride(problem, from, axis) != blockStride(problem, to, axis))
      moved.push(axis);
  return moved;
}

/// What each member of a group over `axes` holds: its block number in every
/// dimension, then the number of its addend. Coordinates outside the group
/// count as 0: they shift source and target alike.
static std::vector<std::vector<int64_t>>
contentsOfMembers(const Problem &problem, State state, const AxisList &axes) {
  int64_t size = groupSize(problem, axes);
  int rank = problem.rank();
  std::vector<std::vector<int64_t>> contents(size,
                                             std::vector<int64_t>(rank + 1));
  std::vector<int64_t> blockStrides(problem.axisCount());
  for (int axis : axes)
    blockStrides[axis] = blockStride(problem, state, axis);
  for (int64_t member = 0; member < size; ++member) {
    // Minor axes first; the addends are numbered by the mesh order of axes.
    int64_t rest = member, addendStride = 1;
    for (int i = axes.size() - 1; i >= 0; --i) {
      int axis = axes[i];
      int64_t coordinate = rest % problem.sizes[axis];
      rest /= problem.sizes[axis];
      if (state.place(axis) < State::partial) {
        contents[member][state.place(axis)] += coordinate * blockStrides[axis];
      } else if (state.place(axis) == State::partial) {
        contents[member][rank] += coordinate * addendStride;
        addendStride *= problem.sizes[axis];
      }
    }
  }
  return contents;
}

std::vector<int64_t> permutationBetween(const Problem &problem, State from,
                                        State to, const AxisList &axes) {
  auto source = contentsOfMembers(problem, from, axes);
  auto target = contentsOfMembers(problem, to, axes);
  std::vector<int64_t> permutation(source.size(), -1);
  std::map<std::vector<int64_t>, std::vector<int64_t>> receivers;
  for (size_t member = source.size(); member-- > 0;) {
    if (source[member] == target[member])
      permutation[member] = static_cast<int64_t>(member);
    else
      receivers[target[member]].push_back(static_cast<int64_t>(member));
  }
  // Copies are interchangeable: the first sender serves the first receiver.
  for (size_t member = 0; member < source.size(); ++member) {
    if (permutation[member] != -1)
      continue;
    std::vector<int64_t> &waiting = receivers[source[member]];
    permutation[member] = waiting.back();
    waiting.pop_back();
  }
  return permutation;
}

} // namespace pp::reshard
