//===- Moves.cpp - collectives that apply to a state ----------------------===//
//
// SPDX-License-Identifier: Apache-2.0
//
// A move may take several axes at once: one collective over two axes sends no
// more than two collectives, and is one launch. Fixed axes stay where they are.
//
//===----------------------------------------------------------------------===//

#include "State.h"

#include <algorithm>
#include <cmath>

namespace pp::reshard {

static int commonPrefix(const AxisList &a, const AxisList &b) {
  int n = 0;
  while (n < a.size() && n < b.size() && a[n] == b[n])
    ++n;
  return n;
}

namespace {

/// Lists the moves of one state.
class MoveLister {
public:
  MoveLister(const Problem &problem, const State &state,
             const std::function<void(const Move &)> &visit)
      : problem(problem), state(state), layout(problem, state), visit(visit),
        bytes(localBytes(problem, state)) {
    for (int dim = 0; dim < problem.rank(); ++dim)
      shards[dim] = groupSize(problem, layout.dims[dim]);
  }

  void list(bool withPermutes) {
    for (int dim = 0; dim < problem.rank(); ++dim) {
      AxisList none;
      listSplits(StepKind::AllSlice, layout.unused, dim, none);
      listSplits(StepKind::ReduceScatter, layout.partial, dim, none);
      listConcatenations(dim);
    }
    listAllReduces();
    if (withPermutes)
      listPermutes();
  }

  void listTowards(const State &to) {
    const AxesByUse goal(problem, to);
    for (int dim = 0; dim < problem.rank(); ++dim) {
      const AxisList &axes = layout.dims[dim];
      const int stay = commonPrefix(axes, goal.dims[dim]);
      if (stay == axes.size())
        listArrivals(dim, goal);
      else
        listDepartures(dim, stay, goal);
    }
    AxisList all, unwanted;
    for (int axis : layout.partial) {
      if (to.place(axis) == State::partial || problem.fixed[axis])
        continue;
      AxisList one;
      one.push(axis);
      reportAllReduce(one);
      all.push(axis);
      if (to.place(axis) == State::unused)
        unwanted.push(axis);
    }
    for (const AxisList &axes : {all, unwanted})
      if (axes.size() > 1)
        reportAllReduce(axes);
    bool isRearranged =
        groupSize(problem, layout.partial) == groupSize(problem, goal.partial);
    for (int dim = 0; dim < problem.rank(); ++dim)
      isRearranged &= shards[dim] == groupSize(problem, goal.dims[dim]);
    if (isRearranged)
      reportPermute(to);
  }

private:
  /// The next axes of `dim`, which has those before them, from where they are.
  void listArrivals(int dim, const AxesByUse &goal) {
    AxisList chosen;
    for (int i = layout.dims[dim].size(); i < goal.dims[dim].size(); ++i) {
      chosen.push(goal.dims[dim][i]);
      const int place = state.place(chosen[0]);
      if (state.place(goal.dims[dim][i]) != place ||
          problem.fixed[goal.dims[dim][i]])
        return;
      Move move;
      move.dim = dim;
      move.kind =
          place == State::unused ? StepKind::AllSlice : StepKind::ReduceScatter;
      if (place == State::unused || place == State::partial)
        report(move, chosen, dim);
    }
  }

  /// The minor axes of `dim`, all but at most `stay`.
  void listDepartures(int dim, int stay, const AxesByUse &goal) {
    const AxisList &axes = layout.dims[dim];
    for (int n = 1; n <= axes.size() - stay; ++n) {
      if (problem.fixed[axes[axes.size() - n]])
        return;
      const AxisList suffix = axes.suffix(n);
      Move gather;
      gather.kind = StepKind::AllGather;
      gather.dim = dim;
      report(gather, suffix, State::unused);
      for (int splitDim = 0; splitDim < problem.rank(); ++splitDim) {
        const AxisList &there = layout.dims[splitDim];
        AxisList then = there;
        for (int axis : suffix)
          then.push(axis);
        if (splitDim == dim ||
            commonPrefix(then, goal.dims[splitDim]) < then.size())
          continue;
        Move exchange;
        exchange.kind = StepKind::AllToAll;
        exchange.dim = dim;
        exchange.splitDim = splitDim;
        report(exchange, suffix, splitDim);
      }
    }
  }

  void reportAllReduce(const AxisList &axes) {
    Move move;
    move.kind = StepKind::AllReduce;
    report(move, axes, State::unused);
  }

  /// Every sequence of axes from `pool`, moved to the minor end of `dim`.
  void listSplits(StepKind kind, const AxisList &pool, int dim,
                  AxisList &chosen) {
    for (int axis : pool) {
      if (problem.fixed[axis] || chosen.contains(axis))
        continue;
      chosen.push(axis);
      if (divides(dim, groupSize(problem, chosen))) {
        Move move;
        move.kind = kind;
        move.dim = dim;
        report(move, chosen, dim);
        listSplits(kind, pool, dim, chosen);
      }
      chosen.pop();
    }
  }

  /// Every minor suffix of `dim`'s axes, gathered or moved to another
  /// dimension.
  void listConcatenations(int dim) {
    const AxisList &axes = layout.dims[dim];
    for (int n = 1; n <= axes.size(); ++n) {
      if (problem.fixed[axes[axes.size() - n]])
        return;
      AxisList suffix = axes.suffix(n);
      Move gather;
      gather.kind = StepKind::AllGather;
      gather.dim = dim;
      report(gather, suffix, State::unused);
      for (int splitDim = 0; splitDim < problem.rank(); ++splitDim) {
        if (splitDim == dim || !divides(splitDim, groupSize(problem, suffix)))
          continue;
        Move exchange;
        exchange.kind = StepKind::AllToAll;
        exchange.dim = dim;
        exchange.splitDim = splitDim;
        report(exchange, suffix, splitDim);
      }
    }
  }

  void listAllReduces() {
    AxisList movable;
    for (int axis : layout.partial)
      if (!problem.fixed[axis])
        movable.push(axis);
    for (unsigned subset = 1; subset < 1u << movable.size(); ++subset) {
      AxisList axes;
      for (int i = 0; i < movable.size(); ++i)
        if (subset >> i & 1)
          axes.push(movable[i]);
      reportAllReduce(axes);
    }
  }

  /// Every other state with the same number of shards in every dimension and
  /// the same number of addends.
  void listPermutes() {
    State target;
    for (int axis = 0; axis < problem.axisCount(); ++axis)
      target.set(axis, State::unused);
    fillDimension(0, 1, 0, target);
  }

  /// Completes `target` from dimension `dim` on, which so far has `position`
  /// axes that make `count` shards.
  void fillDimension(int dim, int64_t count, int position, State target) {
    if (dim == problem.rank())
      return fillPartial(0, 1, target);
    if (count == shards[dim])
      return fillDimension(dim + 1, 1, 0, target);
    for (int axis = 0; axis < problem.axisCount(); ++axis) {
      const bool mayBeHere =
          !problem.fixed[axis] ||
          (state.place(axis) == dim && state.position(axis) == position);
      if (target.place(axis) != State::unused || !mayBeHere ||
          shards[dim] % (count * problem.sizes[axis]) != 0)
        continue;
      State next = target;
      next.set(axis, dim, position);
      fillDimension(dim, count * problem.sizes[axis], position + 1, next);
    }
  }

  /// Completes `target` with partial axes from `axis` on; `count` addends so
  /// far.
  void fillPartial(int axis, int64_t count, State target) {
    int64_t addends = groupSize(problem, layout.partial);
    if (count == addends)
      return reportPermute(target);
    for (; axis < problem.axisCount(); ++axis) {
      if (target.place(axis) != State::unused ||
          addends % (count * problem.sizes[axis]) != 0)
        continue;
      State next = target;
      next.set(axis, State::partial);
      fillPartial(axis + 1, count * problem.sizes[axis], next);
    }
  }

  void reportPermute(State target) {
    if (target == state)
      return;
    Move move;
    move.kind = StepKind::Permute;
    const AxisList moved = movedAxes(problem, state, target);
    move.axes = orderByContents(problem, state, moved);
    move.target = orderByContents(problem, target, moved);
    if (std::any_of(move.axes.begin(), move.axes.end(),
                    [&](int axis) { return problem.fixed[axis]; }))
      return;
    move.result = target;
    price(move);
    visit(move);
  }

  /// Completes and reports a move that takes `axes` to the minor end of
  /// `place`, or out of use.
  void report(Move &move, const AxisList &axes, int place) {
    move.axes = axes;
    move.result = state;
    int position = place < State::partial ? layout.dims[place].size() : 0;
    for (int axis : axes)
      move.result.set(axis, place, place < State::partial ? position++ : 0);
    price(move);
    visit(move);
  }

  /// Bytes that each device sends at least, in the rounds of algorithms that
  /// double the distance: one call over two axes takes no more than one over
  /// each.
  void price(Move &move) const {
    double n = static_cast<double>(groupSize(problem, move.axes));
    double rounds = std::ceil(std::log2(n));
    switch (move.kind) {
    case StepKind::AllSlice:
      return;
    case StepKind::AllGather:
      move.wireBytes = (n - 1) * bytes;
      break;
    case StepKind::AllReduce:
      move.wireBytes = 2 * (n - 1) / n * bytes;
      rounds *= 2;
      break;
    case StepKind::ReduceScatter:
    case StepKind::AllToAll:
      move.wireBytes = (n - 1) / n * bytes;
      break;
    case StepKind::Permute:
      move.wireBytes = bytes;
      rounds = 1;
      break;
    }
    AxisLink slowest{0, 0};
    for (int axis : move.axes) {
      const AxisLink &link = problem.links[axis];
      slowest.latency = std::max(slowest.latency, link.latency);
      slowest.secondsPerByte =
          std::max(slowest.secondsPerByte, link.secondsPerByte);
    }
    move.seconds =
        rounds * slowest.latency + move.wireBytes * slowest.secondsPerByte;
  }

  bool divides(int dim, int64_t n) const {
    return problem.shape[dim] % (shards[dim] * n) == 0;
  }

  const Problem &problem;
  State state;
  AxesByUse layout;
  const std::function<void(const Move &)> &visit;
  double bytes;                        ///< of the local tensor before the move
  std::array<int64_t, maxRank> shards; ///< per dimension
};

} // namespace

void forEachMoveTowards(const Problem &problem, const State &state,
                        const State &to,
                        const std::function<void(const Move &)> &visit) {
  MoveLister(problem, state, visit).listTowards(to);
}

bool isUsedAlike(const Problem &problem, const State &from, const State &to,
                 int axis) {
  const int place = from.place(axis);
  return place == to.place(axis) &&
         (place >= State::partial ||
          from.position(axis) <
              commonPrefix(AxesByUse(problem, from).dims[place],
                           AxesByUse(problem, to).dims[place]));
}

void forEachMove(const Problem &problem, const State &state, bool withPermutes,
                 const std::function<void(const Move &)> &visit) {
  MoveLister(problem, state, visit).list(withPermutes);
}

} // namespace pp::reshard
