//===- RandomOrders.cpp - random valid schedules --------------------------===//
//
// SPDX-License-Identifier: Apache-2.0
//
// Draws one action after the other of those that are ready. A stage and a kind
// are liked for a while, so that work piles up.
//
//===----------------------------------------------------------------------===//
#include "RandomOrders.h"

#include <algorithm>

namespace pp::testing {

using schedule::Action;
using schedule::Kind;
using schedule::Schedule;

namespace {

class Drawing {
public:
  Drawing(unsigned positions, unsigned stages, unsigned microBatches,
          std::mt19937 &random)
      : random(random), result{"csv", stages, microBatches, {}} {
    result.ranks.resize(positions);
    for (unsigned stage = 0; stage < stages; ++stage)
      positionOf.push_back(stage < positions ? stage : below(positions));
    std::shuffle(positionOf.begin(), positionOf.end(), random);
    for (unsigned stage = 0; stage < stages; ++stage) {
      const bool isSplit = below(5) < 2;
      for (unsigned m = 0; m < microBatches; ++m)
        for (Kind kind : {Kind::Forward, Kind::Backward, Kind::Weight})
          if (kind != Kind::Weight || isSplit)
            left.push_back({stage, kind, m});
    }
  }

  Schedule draw() {
    while (!left.empty()) {
      const Action liked{below(result.stages), kinds[below(3)], 0};
      for (unsigned count = 1 + below(3); count > 0 && !left.empty(); --count)
        take(choose(liked));
    }
    return result;
  }

private:
  static constexpr Kind kinds[] = {Kind::Forward, Kind::Backward, Kind::Weight};

  unsigned below(unsigned limit) { return unsigned(random() % limit); }

  bool isReady(const Action &action) const {
    const schedule::Dependencies needed = dependencies(result, action);
    return std::none_of(needed.begin(), needed.end(), [&](const Action &other) {
      return std::find(left.begin(), left.end(), other) != left.end();
    });
  }

  /// The index of a ready action: of the kind, and if possible of the stage.
  size_t choose(const Action &liked) {
    std::vector<size_t> best;
    int bestLiking = -1;
    for (size_t i = 0; i < left.size(); ++i) {
      if (!isReady(left[i]))
        continue;
      const bool isLikedKind = left[i].kind == liked.kind;
      const int liking = isLikedKind ? 1 + (left[i].stage == liked.stage) : 0;
      if (liking > bestLiking)
        best.clear();
      bestLiking = std::max(bestLiking, liking);
      if (liking == bestLiking)
        best.push_back(i);
    }
    return best[below(unsigned(best.size()))];
  }

  void take(size_t index) {
    result.ranks[positionOf[left[index].stage]].push_back(left[index]);
    left.erase(left.begin() + ptrdiff_t(index));
  }

  std::mt19937 &random;
  Schedule result;
  std::vector<unsigned> positionOf;
  std::vector<Action> left;
};

} // namespace

Schedule drawOrder(unsigned positions, unsigned stages, unsigned microBatches,
                   std::mt19937 &random) {
  return Drawing(positions, stages, microBatches, random).draw();
}

} // namespace pp::testing
