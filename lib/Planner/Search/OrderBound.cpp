//===- OrderBound.cpp - what no order can beat ----------------------------===//
//
// SPDX-License-Identifier: Apache-2.0
//
// Each action gets a time that it cannot start before (its head) and one that
// must follow its end (its tail), from dependencies, from the work that its
// position must do before or after it, and from memory: with room for k
// micro-batches, forward action i + k waits for backward action i. Then each
// position is scheduled by itself, with actions that may be interrupted
// (Jackson's rule: of those whose heads have passed, the one with the longest
// tail); the best such order is found in that way, and no real one is shorter
// (Carlier and Pinson, 1989).
//
// Whether a stage is split is open, so its backward action is taken to last as
// long as the shorter form, and weights' gradients as the rest of the shorter
// sum: an uninterrupted order of either form contains such a one.
//
//===----------------------------------------------------------------------===//
#include "OrderBound.h"
#include <algorithm>
#include <queue>

using namespace pp;

/// Pairs of stage and micro-batch for which heads and tails are kept. Beyond
/// them only the ends of the step are looked at.
static constexpr size_t kMostPairs = size_t(1) << 17;

std::vector<double> pp::secondsToEnd(const OrderModel &model) {
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

class Bound {
public:
  explicit Bound(const OrderModel &model)
      : model(model), m(model.microBatches), room(roomOfStages()),
        headF(model.stages * m), headB(model.stages * m),
        tailF(model.stages * m), tailB(model.stages * m) {}

  double find();

private:
  std::vector<unsigned> roomOfStages() const;
  double forward(unsigned stage) const {
    return model.loads[stage].forwardSeconds;
  }
  double backward(unsigned stage) const { return model.leastBackward(stage); }
  double rest(unsigned stage) const {
    return model.leastGradients(stage) - model.leastBackward(stage);
  }
  void findHeads();
  void findTails();
  double scheduleAlone(unsigned position) const;

  const OrderModel &model;
  const size_t m;
  /// By stage: how many micro-batches may be between forward and backward.
  const std::vector<unsigned> room;
  /// By stage and micro-batch; tails are counted from an action's end.
  std::vector<double> headF, headB, tailF, tailB;
};

/// A micro-batch held by a stage is held by the earlier ones of the position,
/// too.
std::vector<unsigned> Bound::roomOfStages() const {
  std::vector<unsigned> rooms(model.stages, model.microBatches);
  for (unsigned position = 0; position < model.positions; ++position) {
    int64_t bytes = 0;
    for (unsigned stage : model.stagesAt[position]) {
      bytes += model.loads[stage].residualBytes;
      if (model.limits[position] != kUnlimited && bytes > 0)
        rooms[stage] = unsigned(std::clamp<int64_t>(
            model.limits[position] / bytes, 1, model.microBatches));
    }
  }
  return rooms;
}

void Bound::findHeads() {
  const unsigned stages = model.stages;
  std::vector<double> sentF(stages), sentB(stages); // the last arrivals
  for (size_t i = 0; i < m; ++i) {
    for (unsigned stage = 0; stage < stages; ++stage) {
      double head = 0;
      if (i > 0)
        head = headF[stage * m + i - 1] + forward(stage);
      if (stage > 0) {
        const double ready = headF[(stage - 1) * m + i] + forward(stage - 1);
        sentF[stage] = std::max(ready, i ? sentF[stage] : 0) +
                       model.sendSeconds(3 * (stage - 1) + kForward);
        head = std::max(head, sentF[stage]);
      }
      if (i >= room[stage])
        head = std::max(head,
                        headB[stage * m + i - room[stage]] + backward(stage));
      headF[stage * m + i] = head;
    }
    for (unsigned stage = stages; stage-- > 0;) {
      // The position runs all its stages on the micro-batches so far, and all
      // that come later on the way back.
      const std::vector<unsigned> &own =
          model.stagesAt[model.positionOf[stage]];
      double head = headF[own.front() * m];
      for (unsigned other : own)
        head += double(i + 1) *
                    (forward(other) + (other > stage ? backward(other) : 0)) +
                (other == stage ? double(i) * backward(stage) : 0);
      head = std::max(head, headF[stage * m + i] + forward(stage));
      if (i > 0)
        head = std::max(head, headB[stage * m + i - 1] + backward(stage));
      if (stage + 1 < stages) {
        const double ready = headB[(stage + 1) * m + i] + backward(stage + 1);
        sentB[stage] = std::max(ready, i ? sentB[stage] : 0) +
                       model.sendSeconds(3 * (stage + 1) + kBackward);
        head = std::max(head, sentB[stage]);
      }
      headB[stage * m + i] = head;
    }
  }
}

void Bound::findTails() {
  const unsigned stages = model.stages;
  for (size_t i = m; i-- > 0;) {
    for (unsigned stage = 0; stage < stages; ++stage) {
      // All that is left of the gradients of this and the earlier stages.
      double tail =
          double(m - i) * model.leastGradients(stage) - backward(stage);
      for (unsigned other : model.stagesAt[model.positionOf[stage]])
        if (other < stage)
          tail += double(m - i) * model.leastGradients(other);
      if (i + 1 < m)
        tail = std::max(tail, backward(stage) + tailB[stage * m + i + 1]);
      if (stage > 0)
        tail = std::max(tail, model.sendSeconds(3 * stage + kBackward) +
                                  backward(stage - 1) +
                                  tailB[(stage - 1) * m + i]);
      if (i + room[stage] < m)
        tail =
            std::max(tail, forward(stage) + tailF[stage * m + i + room[stage]]);
      tailB[stage * m + i] = tail;
    }
    for (unsigned stage = stages; stage-- > 0;) {
      double tail = double(m - i - 1) * forward(stage);
      for (unsigned other : model.stagesAt[model.positionOf[stage]])
        tail += double(m - i) * (model.leastGradients(other) +
                                 (other > stage ? forward(other) : 0));
      if (i + 1 < m)
        tail = std::max(tail, forward(stage) + tailF[stage * m + i + 1]);
      const double next = stage + 1 < stages
                              ? model.sendSeconds(3 * stage + kForward) +
                                    forward(stage + 1) +
                                    tailF[(stage + 1) * m + i]
                              : backward(stage) + tailB[stage * m + i];
      tailF[stage * m + i] = std::max(tail, next);
    }
  }
}

double Bound::scheduleAlone(unsigned position) const {
  std::vector<Job> jobs;
  for (unsigned stage : model.stagesAt[position])
    for (size_t i = 0; i < m; ++i) {
      const size_t pair = stage * m + i;
      jobs.push_back({headF[pair], forward(stage), tailF[pair]});
      jobs.push_back({headB[pair], backward(stage), tailB[pair]});
      jobs.push_back({headB[pair] + backward(stage), rest(stage), 0});
    }
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

double Bound::find() {
  findHeads();
  findTails();
  double least = 0;
  for (size_t pair = 0; pair < headF.size(); ++pair) {
    const unsigned stage = unsigned(pair / m);
    least = std::max({least, headF[pair] + forward(stage) + tailF[pair],
                      headB[pair] + backward(stage) + tailB[pair]});
  }
  for (unsigned position = 0; position < model.positions; ++position)
    least = std::max(least, scheduleAlone(position));
  return least;
}

} // namespace

double pp::leastSeconds(const OrderModel &model) {
  if (size_t(model.stages) * model.microBatches <= kMostPairs)
    return Bound(model).find();
  // Before a position begins, the first micro-batch has come to it.
  const std::vector<double> toEnd = secondsToEnd(model);
  double least = toEnd[kForward];
  for (const std::vector<unsigned> &stages : model.stagesAt) {
    double sum = toEnd[kForward] - toEnd[3 * stages.front() + kForward];
    for (unsigned stage : stages)
      sum += double(model.microBatches) *
             (model.loads[stage].forwardSeconds + model.leastGradients(stage));
    least = std::max(least, sum);
  }
  return least;
}
