//===- planner.cpp - pp's planner without MLIR ----------------------------===//
//
// SPDX-License-Identifier: Apache-2.0
//
// A model as a list of costs: where its stages begin, when each action of a
// step runs, and what a stage keeps for its backward pass. Say how many stages
// and micro-batches: planner 4 8.
//
//===----------------------------------------------------------------------===//
#include <cstdio>
#include <cstdlib>
#include <pp/Planner/CutSearch.h>
#include <pp/Planner/Residuals.h>
#include <pp/Schedule/Algorithms.h>
#include <pp/Schedule/Simulate.h>

namespace schedule = pp::schedule;

int main(int argc, char **argv) {
  const int64_t stages = argc > 1 ? std::atoi(argv[1]) : 4,
                microBatches = argc > 2 ? std::atoi(argv[2]) : 8;
  // An embedding, twelve blocks and a large head, in milliseconds.
  pp::StageCosts costs;
  costs.add(1, 1, 0.5);
  for (int block = 0; block < 12; ++block)
    costs.add(4, 8, 0.5);
  costs.add(10, 20, 0);
  std::string error;
  const auto cuts =
      pp::findStageCuts(costs, "1f1b", stages, microBatches, error);
  const auto order =
      cuts ? schedule::generate(
                 "1f1b", {unsigned(stages), unsigned(microBatches)}, error)
           : std::nullopt;
  if (!cuts || !order)
    return std::fprintf(stderr, "planner: error: %s\n", error.c_str()), 1;
  std::vector<double> forward, backward;
  for (int64_t stage = 0; stage < stages; ++stage) {
    const int64_t begin = stage ? (*cuts)[stage - 1] : 0,
                  end = stage + 1 < stages ? (*cuts)[stage] : costs.size();
    forward.push_back(costs.forward[end] - costs.forward[begin]);
    backward.push_back(costs.backward[end] - costs.backward[begin]);
    std::printf("stage %zd: ops %zd to %zd\n", stage, begin, end - 1);
  }
  auto seconds = [&](const schedule::Action &action, bool) {
    return (action.kind == schedule::Kind::Forward ? forward
                                                   : backward)[action.stage];
  };
  const auto timeline = schedule::simulate(
      *order, {seconds, [](const auto &, const auto &) { return 0.5; }});
  std::printf("%s", schedule::drawText(*order, timeline).c_str());
  std::printf("step: %.1f ms, bubble: %s\n", timeline.end,
              schedule::printBubble(timeline.bubble()).c_str());
  // A product, and an activation that is cheap to compute again.
  const auto kept = pp::fitResiduals(
      {{4096, 1000000, {}, true}, {4096, 10, {0}, true}}, 5000);
  std::printf("keeps %d bytes, computes %d FLOPs again\n",
              int(kept->choice.bytes), int(kept->choice.work));
}
