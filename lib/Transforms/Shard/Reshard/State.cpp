//===- State.cpp - Queries on a state, and the permutation between two ----===//
//
// SPDX-License-Identifier: Apache-2.0
//
//===----------------------------------------------------------------------===//

#include "State.h"

#include <algorithm>

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

/// A number for what each member of a group over `axes` holds, the same in
/// every state for the same part of the tensor: its block numbers in all
/// dimensions and the number of its addend, as digits. Coordinates outside the
/// group count as 0, since they shift source and target alike.
static std::vector<int64_t> numberContents(const Problem &problem, State state,
                                           const AxisList &axes) {
  // How much one step along an axis of the group adds to the number. Addends
  // are counted along the mesh order of the group's axes.
  std::array<int64_t, maxAxes> weights{};
  int64_t digit = 1;
  for (int dim = 0; dim < problem.rank(); ++dim) {
    int64_t shards = 1;
    for (int axis = 0; axis < problem.axisCount(); ++axis)
      if (state.place(axis) == dim) {
        shards *= problem.sizes[axis];
        weights[axis] = digit * blockStride(problem, state, axis);
      }
    digit *= shards;
  }
  for (int i = axes.size() - 1; i >= 0; --i)
    if (state.place(axes[i]) == State::partial) {
      weights[axes[i]] = digit;
      digit *= problem.sizes[axes[i]];
    }

  std::vector<int64_t> numbers(groupSize(problem, axes));
  for (size_t member = 0; member < numbers.size(); ++member) {
    int64_t rest = static_cast<int64_t>(member);
    for (int i = axes.size() - 1; i >= 0; --i) {
      int axis = axes[i];
      numbers[member] += rest % problem.sizes[axis] * weights[axis];
      rest /= problem.sizes[axis];
    }
  }
  return numbers;
}

std::vector<int64_t> permutationBetween(const Problem &problem, State from,
                                        State to, const AxisList &axes) {
  std::vector<int64_t> source = numberContents(problem, from, axes);
  std::vector<int64_t> target = numberContents(problem, to, axes);
  // Copies are interchangeable: who has the right one keeps it, and the first
  // of the other senders serves the first of the other receivers.
  std::vector<int64_t> permutation(source.size());
  std::vector<std::pair<int64_t, int64_t>> senders, receivers;
  for (size_t i = 0; i < source.size(); ++i) {
    int64_t member = static_cast<int64_t>(i);
    permutation[i] = member;
    if (source[i] != target[i]) {
      senders.push_back({source[i], member});
      receivers.push_back({target[i], member});
    }
  }
  std::sort(senders.begin(), senders.end());
  std::sort(receivers.begin(), receivers.end());
  for (size_t i = 0; i < senders.size(); ++i)
    permutation[senders[i].second] = receivers[i].second;
  return permutation;
}

} // namespace pp::reshard
