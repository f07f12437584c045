//===- State.h - The shardings a reshard search walks over ----------------===//
//
// SPDX-License-Identifier: Apache-2.0
//
// A state says for every mesh axis what it is used for: splitting a dimension
// (and how minor it is there), holding partial values, or nothing. It is one
// 64-bit word, so that a search can copy, hash and compare it for free. A move
// is one collective and the state it leads to; forEachMove() lists the moves
// of a state, with their costs.
//
// Assumed: at most `maxAxes` axes, all larger than 1; at most `maxRank`
// dimensions; one reduction for all partial axes.
//
//===----------------------------------------------------------------------===//

#ifndef PP_TRANSFORMS_SHARD_RESHARD_STATE_H
#define PP_TRANSFORMS_SHARD_RESHARD_STATE_H

#include "pp/Transforms/Shard/ReshardPlanner.h"

#include <array>
#include <functional>

namespace pp::reshard {

constexpr int maxAxes = 8;
constexpr int maxRank = 30;

/// A list of axes without allocation, major to minor.
class AxisList {
public:
  void push(int axis) { axes[count++] = static_cast<uint8_t>(axis); }
  void pop() { --count; }
  int size() const { return count; }
  bool empty() const { return count == 0; }
  int operator[](int i) const { return axes[i]; }
  const uint8_t *begin() const { return axes.data(); }
  const uint8_t *end() const { return axes.data() + count; }
  bool contains(int axis) const;
  /// The last `n` axes, in order.
  AxisList suffix(int n) const;

private:
  std::array<uint8_t, maxAxes> axes;
  uint8_t count = 0;
};

/// What every axis is used for, 8 bits per axis: 5 say where (a dimension,
/// `partial` or `unused`), 3 the position among the axes of that dimension.
class State {
public:
  static constexpr int partial = maxRank;
  static constexpr int unused = maxRank + 1;

  int place(int axis) const { return (bits >> (8 * axis)) & 31; }
  int position(int axis) const { return (bits >> (8 * axis + 5)) & 7; }
  void set(int axis, int place, int position = 0) {
    uint64_t field = static_cast<uint64_t>(place | (position << 5));
    bits = (bits & ~(uint64_t(255) << (8 * axis))) | (field << (8 * axis));
  }
  uint64_t key() const { return bits; }
  bool operator==(State other) const { return bits == other.bits; }
  bool operator!=(State other) const { return bits != other.bits; }

private:
  uint64_t bits = 0;
};

/// What stays the same during one search.
struct Problem {
  std::vector<int64_t> sizes; ///< per axis
  std::vector<bool> fixed;    ///< per axis
  LinkModel links;            ///< per axis
  std::vector<int64_t> shape; ///< of the global tensor
  int64_t elementBytes = 1;

  int axisCount() const { return static_cast<int>(sizes.size()); }
  int rank() const { return static_cast<int>(shape.size()); }
};

/// The axes of a state by what they are used for.
struct Layout {
  std::array<AxisList, maxRank> dims;
  AxisList partial, unused;

  Layout(const Problem &problem, State state);
};

/// One collective. `dim` and `splitDim` are as in ReshardStep.
struct Move {
  StepKind kind = StepKind::AllSlice;
  AxisList axes;
  int dim = -1;
  int splitDim = -1;
  /// Of a permute, as in ReshardStep.
  AxisList target;
  State result;
  double wireBytes = 0;
  double seconds = 0;
};

/// Calls `visit` for every move that leads from `state` to a state that the
/// shape divides into; permutes are left out on request.
void forEachMove(const Problem &problem, State state, bool withPermutes,
                 const std::function<void(const Move &)> &visit);

/// Calls `visit` for the moves of `state` that lead on to `to`: axes leave
/// where they are not to stay, and come to where they are to be, in that order.
/// So an axis is used as in the source, not at all, or as in the target, and
/// few states are reached, whatever the number of axes.
void forEachMoveTowards(const Problem &problem, State state, State to,
                        const std::function<void(const Move &)> &visit);

/// Whether an axis is used for the same thing in both, and so are the more
/// major axes of its dimension: then nothing need move over it.
bool isUsedAlike(const Problem &problem, State from, State to, int axis);

/// Bytes of one device's part of the tensor.
double localBytes(const Problem &problem, State state);

/// Devices along `axes`.
int64_t groupSize(const Problem &problem, const AxisList &axes);

/// The axes along which data has to move when devices exchange whole local
/// tensors to get from `from` to `to`, in mesh order: all that are not used
/// for the same thing in both.
AxisList movedAxes(const Problem &problem, State from, State to);

/// `axes` in the order in which their coordinates number what a device holds:
/// by dimension, major to minor, then those of addends and those of copies. Two
/// states between which whole tensors move number the same things alike.
AxisList orderByContents(const Problem &problem, State state,
                         const AxisList &axes);

} // namespace pp::reshard

#endif // PP_TRANSFORMS_SHARD_RESHARD_STATE_H
