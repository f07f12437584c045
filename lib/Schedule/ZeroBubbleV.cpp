//===- ZeroBubbleV.cpp - ZB-V ---------------------------------------------===//
//
// SPDX-License-Identifier: Apache-2.0
//
// A rank has a stage of the way there and one of the way back, so that rank 0
// has the first and the last. Expects two stages per rank.
//
//===----------------------------------------------------------------------===//
#include "pp/Schedule/Algorithms.h"

#include <algorithm>

using namespace pp::schedule;

namespace {
/// The list of a rank, with the next micro-batch of each kind.
struct Leg {
  unsigned stage;
  unsigned forward = 0, backward = 0, weight = 0;
};

class List {
public:
  List(std::vector<Action> &actions, unsigned microBatches)
      : actions(actions), microBatches(microBatches) {}

  void forward(Leg &leg) { add(leg, Kind::Forward, leg.forward++); }
  void backward(Leg &leg) { add(leg, Kind::Backward, leg.backward++); }
  void weight(Leg &leg) { add(leg, Kind::Weight, leg.weight++); }

private:
  /// Micro-batches that the step does not have are left out.
  void add(const Leg &leg, Kind kind, unsigned microBatch) {
    if (microBatch < microBatches)
      actions.push_back({leg.stage, kind, microBatch});
  }

  std::vector<Action> &actions;
  const unsigned microBatches;
};
} // namespace

Schedule pp::schedule::generateZeroBubbleV(const ScheduleProblem &problem) {
  const unsigned p = problem.ranks;
  // The pattern has room for as many.
  const unsigned m = std::max(problem.microBatches, 2 * p - 1);
  Schedule schedule{"zb-v", problem.stages(), problem.microBatches, {}};
  for (unsigned rank = 0; rank < p; ++rank) {
    List list(schedule.ranks.emplace_back(), problem.microBatches);
    Leg there{rank}, back{2 * p - 1 - rank};
    auto finishBack = [&] {
      list.forward(back);
      list.backward(back);
      list.weight(back);
    };
    // Warm-up: until the first micro-batch is back.
    for (unsigned i = 0; i < 2 * (p - rank) - 1; ++i)
      list.forward(there);
    for (unsigned i = 0; i < rank; ++i) {
      list.forward(back);
      list.forward(there);
    }
    for (unsigned i = 0; i < p - rank; ++i)
      finishBack();
    // Steady state: one in, one out, on both ways.
    while (back.forward < there.forward || there.forward < m) {
      if (there.forward < m)
        list.forward(there);
      list.backward(there);
      list.weight(there);
      finishBack();
    }
    // Drain: first what others wait for.
    for (unsigned i = 0; i < rank; ++i) {
      list.backward(there);
      list.backward(back);
    }
    for (unsigned i = 0; i < p - rank; ++i) {
      list.backward(there);
      list.weight(there);
    }
    while (back.weight < back.backward)
      list.weight(back);
    while (there.weight < there.backward)
      list.weight(there);
  }
  return schedule;
}
