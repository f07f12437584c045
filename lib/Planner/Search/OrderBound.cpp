//===- OrderBound.cpp - what no order can beat ----------------------------===//
//
// SPDX-License-Identifier: Apache-2.0
//
// With heads and tails each position is scheduled by itself, with actions that
// may be interrupted (Jackson's rule: of those whose heads have passed, the one
// with the longest tail); the best such order is found in that way, and no real
// one is shorter (Carlier and Pinson, 1989).
//
//===----------------------------------------------------------------------===//
#include "OrderBound.h"
#include "HeadsAndTails.h"
#include <algorithm>
#include <queue>

using namespace pp;

/// Pairs of stage and micro-batch for which heads and tails are kept. Beyond
/// them only the ends of the step are looked at.
static constexpr size_t kMostPairs = size_t(1) << 17;
/// Pairs looked at to find out how stages run their backward actions.
static constexpr size_t kMostTriedPairs = size_t(1) << 17;

/// Seconds from the start of one micro-batch's action to the end of the step,
/// by step and without a wait for anything else. Weight steps have none.
static std::vector<double> secondsToEnd(const OrderModel &model) {
  std::vector<double> seconds(3 * size_t(model.stages));
  for (unsigned stage = 0; stage < model.stages; ++stage) {
    const StageLoad &load = model.loads[stage];
    const Step step = 3 * stage + kBackward;
    const double behind =
        stage ? model.sendSeconds(step) + seconds[step - 3] : 0;
    seconds[step] =
        std::min(load.backwardSeconds + std::max(load.weightSeconds, behind),
                 load.mergedSeconds + behind);
  }
  for (unsigned stage = model.stages; stage-- > 0;) {
    const Step step = 3 * stage + kForward;
    seconds[step] =
        model.loads[stage].forwardSeconds +
        (stage + 1 < model.stages ? model.sendSeconds(step) + seconds[step + 3]
                                  : seconds[step + 1]);
  }
  return seconds;
}

namespace {

/// A part of a position's work: it is there at `head`, and `tail` follows it.
struct Job {
  double head, seconds, tail;
};

} // namespace

static double scheduleAlone(std::vector<Job> jobs) {
  std::sort(jobs.begin(), jobs.end(),
            [](const Job &a, const Job &b) { return a.head < b.head; });
  std::priority_queue<std::pair<double, double>> ready; // tail, seconds left
  double now = 0, end = 0;
  for (size_t next = 0; next < jobs.size() || !ready.empty();) {
    if (ready.empty())
      now = std::max(now, jobs[next].head);
    for (; next < jobs.size() && jobs[next].head <= now; ++next)
      ready.push({jobs[next].tail, jobs[next].seconds});
    auto [tail, left] = ready.top();
    ready.pop();
    const double until = next < jobs.size() ? jobs[next].head : kNever;
    if (now + left > until) {
      ready.push({tail, left - (until - now)});
      now = until;
      continue;
    }
    now += left;
    end = std::max(end, now + tail);
  }
  return end;
}

/// kNever if no order of these modes keeps the memory.
static double boundOf(const OrderModel &model, const std::vector<Mode> &modes) {
  const HeadsAndTails times(model, modes);
  if (times.isImpossible())
    return kNever;
  double least = 0;
  for (const std::vector<unsigned> &stages : model.stagesAt) {
    std::vector<Job> jobs;
    for (unsigned stage : stages)
      for (Step step = 3 * stage; step <= 3 * stage + kWeight; ++step)
        for (size_t i = 0; i < model.microBatches; ++i)
          jobs.push_back(
              {times.head(step, i), times.seconds(step), times.tail(step, i)});
    least = std::max(least, scheduleAlone(std::move(jobs)));
  }
  return least;
}

double pp::leastSeconds(const OrderModel &model, double known) {
  if (size_t(model.stages) * model.microBatches > kMostPairs) {
    // Before a position begins, the first micro-batch has come to it.
    const std::vector<double> toEnd = secondsToEnd(model);
    double least = toEnd[kForward];
    for (const std::vector<unsigned> &stages : model.stagesAt) {
      double sum = toEnd[kForward] - toEnd[3 * stages.front() + kForward];
      for (unsigned stage : stages)
        sum += double(model.microBatches) * (model.loads[stage].forwardSeconds +
                                             model.leastGradients(stage));
      least = std::max(least, sum);
    }
    return least;
  }
  std::vector<Mode> modes;
  for (unsigned stage = 0; stage < model.stages; ++stage)
    modes.push_back(model.bestMode(stage));
  double least = boundOf(model, modes);
  // A form with which a stage takes longer than the best order is not that of a
  // better one; if both do, nothing is.
  size_t tried = 0;
  for (bool isNews = true; isNews && isLess(least, known);) {
    isNews = false;
    for (unsigned stage = 0; stage < model.stages; ++stage) {
      tried += 2 * size_t(model.stages) * model.microBatches;
      if (modes[stage] != Open || tried > kMostTriedPairs)
        continue;
      double bounds[2];
      for (Mode mode : {Split, Merged}) {
        modes[stage] = mode;
        bounds[mode == Merged] = boundOf(model, modes);
      }
      modes[stage] = Open;
      least = std::max(least, std::min({bounds[0], bounds[1], known}));
      if (isLess(std::max(bounds[0], bounds[1]), known))
        continue;
      modes[stage] = bounds[0] < bounds[1] ? Split : Merged;
      isNews = true;
    }
  }
  return least;
}
