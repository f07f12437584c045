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

AxesByUse::AxesByUse(const Problem &problem, const State &state) {
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

double localBytes(const Problem &problem, const State &state) {
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
static int64_t blockStride(const Problem &problem, const State &state,
                           int axis) {
  int64_t stride = 1;
  if (state.place(axis) >= State::partial)
    return stride;
  for (int other = 0; other < problem.axisCount(); ++other)
    if (state.place(other) == state.place(axis) &&
        state.position(other) > state.position(axis))
      stride *= problem.sizes[other];
  return stride;
}

AxisList movedAxes(const Problem &problem, const State &from, const State &to) {
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

AxisList orderByContents(const Problem &problem, const State &state,
                         const AxisList &axes) {
  AxesByUse layout(problem, state);
  AxisList order;
  auto append = [&](const AxisList &alike) {
    for (int axis : alike)
      if (axes.contains(axis))
        order.push(axis);
  };
  for (int dim = 0; dim < problem.rank(); ++dim)
    append(layout.dims[dim]);
  append(layout.partial);
  append(layout.unused);
  return order;
}

} // namespace pp::reshard
