//===- State.h - The shardings a reshard search walks over ----------------===//
//
// SPDX-License-Identifier: Apache-2.0
//
// A state says for every mesh axis what it is used for: splitting a dimension
// (and how minor it is there), holding partial values, or nothing. It allocates
// no memory, so that a search can copy, hash and compare it cheaply. A move is
// one collective and the state it leads to; forEachMove() lists the moves of a
// state, with their costs.
//
// Assumed: a mesh of at most `maxPositions` positions, whose axes are all
// larger than 1; at most `maxRank` dimensions; one reduction for all partial
// axes.
//
//===----------------------------------------------------------------------===//

#ifndef PP_TRANSFORMS_SHARD_RESHARD_STATE_H
#define PP_TRANSFORMS_SHARD_RESHARD_STATE_H

#include "pp/Transforms/Shard/ReshardPlanner.h"

#include <array>
#include <cstring>
#include <functional>
#include <optional>

namespace pp::reshard {

/// Axes larger than 1 make twice as many positions each.
constexpr int maxAxes = 60;
/// Keeps products of axis sizes in range.
constexpr int64_t maxPositions = int64_t(1) << maxAxes;
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

/// The use of every axis: 5 bits give the place (a dimension, `partial` or
/// `unused`), the others the position among the axes of that dimension.
class State {
public:
  static constexpr int partial = maxRank;
  static constexpr int unused = maxRank + 1;

  int place(int axis) const { return uses[axis] & 31; }
  int position(int axis) const { return uses[axis] >> 5; }
  void set(int axis, int place, int position = 0) {
    uses[axis] = static_cast<uint16_t>(place | (position << 5));
  }
  bool operator==(const State &other) const { return uses == other.uses; }
  bool operator!=(const State &other) const { return uses != other.uses; }

  struct Hash {
    size_t operator()(const State &state) const {
      uint64_t hash = 0, word = 0;
      for (int axis = 0; axis < maxAxes; axis += 4) {
        std::memcpy(&word, &state.uses[axis], sizeof(word));
        hash = (hash ^ word ^ (hash >> 32)) * 0x9e3779b97f4a7c15;
      }
      return hash ^ (hash >> 32);
    }
  };

private:
  std::array<uint16_t, maxAxes> uses{};
};

/// Constant during one search.
struct Problem {
  std::vector<int64_t> sizes; ///< per axis
  std::vector<bool> fixed;    ///< per axis
  LinkModel links;            ///< per axis
  std::vector<int64_t> shape; ///< of the global tensor
  int64_t elementBytes = 1;

  int axisCount() const { return static_cast<int>(sizes.size()); }
  int rank() const { return static_cast<int>(shape.size()); }
};

/// The axes of a state by their use.
struct AxesByUse {
  std::array<AxisList, maxRank> dims;
  AxisList partial, unused;

  AxesByUse(const Problem &problem, const State &state);
};

/// One collective. `dim` and `splitDim` are as in ReshardStep.
struct Move {
  StepKind kind = StepKind::AllSlice;
  AxisList axes;
  int dim = -1;
  int splitDim = -1;
  /// For a permute, as in ReshardStep.
  AxisList target;
  State result;
  double wireBytes = 0;
  double seconds = 0;
};

/// Calls `visit` for every move that leads from `state` to a state that the
/// shape divides into; permutes are left out on request.
void forEachMove(const Problem &problem, const State &state, bool withPermutes,
                 const std::function<void(const Move &)> &visit);

/// Calls `visit` for the moves of `state` that lead on to `to`: axes leave
/// where they are not to stay, and come to where they are to be, in that order.
/// So an axis is used as in the source, not at all, or as in the target, and
/// few states are reached, whatever the number of axes.
void forEachMoveTowards(const Problem &problem, const State &state,
                        const State &to,
                        const std::function<void(const Move &)> &visit);

/// Whether an axis is used for the same thing in both, and so are the more
/// major axes of its dimension: then nothing need move over it.
bool isUsedAlike(const Problem &problem, const State &from, const State &to,
                 int axis);

/// Bytes of one device's part of the tensor.
double localBytes(const Problem &problem, const State &state);

/// Devices along `axes`.
int64_t groupSize(const Problem &problem, const AxisList &axes);

/// The axes along which data moves when devices exchange whole local tensors to
/// get from `from` to `to`, in mesh order: all whose use differs.
AxisList movedAxes(const Problem &problem, const State &from, const State &to);

/// `axes` in the order in which their coordinates number the contents of a
/// device: by dimension, major to minor, then those of addends and those of
/// copies. Two states between which whole tensors move number the same contents
/// alike.
AxisList orderByContents(const Problem &problem, const State &state,
                         const AxisList &axes);

/// The cheapest moves from one state to another (Dijkstra): none if they are
/// equal, nullopt if no moves lead there. Among equally cheap ways, the one
/// with the fewest moves. With `towards`, only moves straight to the target.
std::optional<std::vector<Move>> findCheapestMoves(const Problem &problem,
                                                   const State &from,
                                                   const State &to,
                                                   bool towards);

} // namespace pp::reshard

#endif // PP_TRANSFORMS_SHARD_RESHARD_STATE_H
