//===- HeadsAndTails.cpp - what comes before and after an action ----------===//
//
// SPDX-License-Identifier: Apache-2.0
//
// Three things make an action wait: actions whose results it needs, all the
// work that its position must have done before, and memory, which some of that
// work must have freed. Heads follow from those of earlier micro-batches and
// actions, tails from those of later ones.
//
// Work that must come before, with heads of its own, ends no earlier than any
// head plus the work whose heads are no earlier than that; so for what follows.
//
//===----------------------------------------------------------------------===//
#include "HeadsAndTails.h"
#include <algorithm>

using namespace pp;

/// How many actions of a position are looked at around one.
static constexpr unsigned kMostAround = 100;

HeadsAndTails::HeadsAndTails(const OrderModel &model,
                             const std::vector<Mode> &modes)
    : model(model), modes(modes), m(model.microBatches),
      lengths(3 * size_t(model.stages)), heads(lengths.size() * m),
      tails(lengths.size() * m) {
  for (unsigned stage = 0; stage < model.stages; ++stage) {
    lengths[3 * stage] = model.loads[stage].forwardSeconds;
    lengths[3 * stage + kBackward] = model.leastBackward(stage, modes[stage]);
    lengths[3 * stage + kWeight] = model.leastGradients(stage, modes[stage]) -
                                   lengths[3 * stage + kBackward];
    findRoom(stage);
  }
  if (impossible)
    return;
  findHeads();
  findTails();
}

/// A micro-batch held by a stage is held by the earlier ones of the position,
/// too.
void HeadsAndTails::findRoom(unsigned stage) {
  Room &room = rooms.emplace_back(Room{m, m, m});
  const unsigned position = model.positionOf[stage];
  const int64_t limit = model.limits[position];
  if (limit == kUnlimited)
    return;
  const int64_t kept = model.loads[stage].weightBytes;
  int64_t earlier = 0;
  for (unsigned other : model.stagesAt[position])
    if (other < stage)
      earlier += model.loads[other].residualBytes;
  const int64_t each = earlier + model.loads[stage].residualBytes;
  auto timesIn = [&](int64_t bytes, int64_t space) {
    return bytes > 0 ? size_t(std::clamp<int64_t>(space / bytes, 0, m)) : m;
  };
  impossible |= each > limit;
  room.inFlight = std::max<size_t>(1, timesIn(each, limit));
  // A merged action frees all: what waits for it waits for its weight part.
  const Room merged{room.inFlight, room.inFlight - 1, 1};
  if (modes[stage] == Merged) {
    room = merged;
    return;
  }
  room.held = std::max<size_t>(1, timesIn(kept, limit - earlier));
  room.due = timesIn(kept, limit - each);
  if (modes[stage] == Open) {
    room.due = std::max(room.due, merged.due);
    return;
  }
  impossible |= kept + earlier > limit;
  const int64_t space = std::max<int64_t>(0, limit - kept - earlier);
  room.inFlight = std::min(room.inFlight, 1 + timesIn(each, space));
}

/// When enough backward and weight actions of a stage can have run for memory
/// to take in a micro-batch: the more backward ones have, the fewer weight ones
/// must.
double HeadsAndTails::firstFree(unsigned stage, size_t microBatch) const {
  const unsigned position = model.positionOf[stage];
  if (microBatch < rooms[stage].inFlight)
    return 0;
  const Step backward = 3 * stage + kBackward, weight = 3 * stage + kWeight;
  const size_t fewest = microBatch + 1 - rooms[stage].inFlight;
  double least = kNever;
  if (modes[stage] != Split)
    least = head(weight, fewest - 1) + seconds(weight);
  if (modes[stage] == Merged)
    return least;
  const int64_t kept = model.loads[stage].weightBytes;
  int64_t each = 0;
  for (unsigned other : model.stagesAt[position])
    if (other <= stage)
      each += model.loads[other].residualBytes;
  for (size_t count = fewest; count <= microBatch; ++count) {
    double ready = head(backward, count - 1) + seconds(backward);
    if (ready >= least)
      break;
    const int64_t space =
        model.limits[position] - each * int64_t(microBatch + 1 - count);
    const size_t due =
        kept > 0 ? size_t(std::min<int64_t>(space / kept, m)) : m;
    if (count > due)
      ready = std::max(ready, head(weight, count - due - 1) + seconds(weight));
    least = std::min(least, ready);
  }
  return least;
}

/// The counts are those of the steps of the position's stages, in order.
void HeadsAndTails::countBefore(Step step, size_t i, Counts &counts) const {
  const unsigned stage = step / 3;
  const bool isForward = step % 3 == kForward;
  counts.clear();
  for (unsigned other : model.stagesAt[model.positionOf[stage]]) {
    const Room &room = rooms[other];
    size_t forward = i + 1, backward = behindRoom(i, other);
    if (other >= stage) {
      const size_t back = behindRoom(i, stage);
      backward = std::max(other == stage ? 0 : back, backward);
      if (isForward)
        forward = other == stage ? i : back;
      else
        backward = other == stage ? i : i + 1;
      if (isForward && other > stage)
        backward = back;
    }
    size_t weight = i - std::min(i, room.due);
    if (isForward && other > stage)
      weight = 0;
    if (!isForward && other == stage)
      weight = std::max(weight, i + 1 - std::min(i + 1, room.held));
    counts.insert(counts.end(), {forward, backward, weight});
  }
}

void HeadsAndTails::countAfter(Step step, size_t i, Counts &firsts) const {
  const unsigned stage = step / 3, kind = step % 3;
  const size_t back = i + rooms[stage].inFlight;
  firsts.clear();
  for (unsigned other : model.stagesAt[model.positionOf[stage]]) {
    const size_t ownBack = i + rooms[other].inFlight;
    size_t forward = m, backward = m, weight = m;
    if (kind == kForward) {
      forward = other > stage ? i : other == stage ? i + 1 : ownBack;
      backward = weight = i;
    } else if (kind == kBackward) {
      forward = other >= stage ? back : ownBack;
      backward = other < stage ? i : other == stage ? i + 1 : back;
      weight = other <= stage ? i : back;
    } else if (other >= stage) {
      forward = backward = weight = i + 1 + rooms[stage].due;
      if (other == stage)
        weight = i + 1;
    }
    for (size_t first : {forward, backward, weight})
      firsts.push_back(std::min(first, m));
  }
}

/// Takes the latest head, or the longest tail, of those left, again and again.
double HeadsAndTails::sumAround(const std::vector<unsigned> &stages,
                                bool isBefore, Counts &counts) const {
  auto nextOf = [&](size_t i) {
    const Step step = 3 * stages[i / 3] + i % 3;
    if (isBefore)
      return counts[i] > 0 ? head(step, counts[i] - 1) : -1;
    return counts[i] < m ? tail(step, counts[i]) : -1;
  };
  double sum = 0, length = 0;
  for (unsigned around = 0; around < kMostAround; ++around) {
    double most = -1;
    size_t best = 0;
    for (size_t i = 0; i < counts.size(); ++i)
      if (const double next = nextOf(i); next > most) {
        most = next;
        best = i;
      }
    if (most < 0)
      break;
    counts[best] += isBefore ? -1 : 1;
    sum += seconds(3 * stages[best / 3] + best % 3);
    length = std::max(length, most + sum);
  }
  return length;
}

void HeadsAndTails::findHeads() {
  std::vector<double> sent(lengths.size()); // the last arrivals
  Counts counts;
  auto find = [&](Step step, size_t i, bool isSent, Step from) {
    const unsigned stage = step / 3;
    double &own = heads[step * m + i];
    if (isSent) {
      const double ready = head(from, i) + seconds(from);
      sent[step] =
          std::max(ready, i ? sent[step] : 0) + model.sendSeconds(from);
      own = sent[step];
    }
    own = std::max(own, step % 3 == kForward
                            ? firstFree(stage, i)
                            : head(step - 1, i) + seconds(step - 1));
    if (i > 0)
      own = std::max(own, head(step, i - 1) + seconds(step));
    countBefore(step, i, counts);
    own = std::max(
        own, sumAround(model.stagesAt[model.positionOf[stage]], true, counts));
  };
  for (size_t i = 0; i < m; ++i) {
    for (unsigned stage = 0; stage < model.stages; ++stage)
      find(3 * stage, i, stage > 0, 3 * stage - 3);
    for (unsigned stage = model.stages; stage-- > 0;) {
      const Step step = 3 * stage + kBackward;
      find(step, i, stage + 1 < model.stages, step + 3);
      heads[(step + 1) * m + i] =
          std::max(head(step, i) + seconds(step),
                   i ? head(step + 1, i - 1) + seconds(step + 1) : 0);
    }
  }
}

void HeadsAndTails::findTails() {
  Counts firsts;
  auto find = [&](Step step, size_t i, bool isSent, Step to) {
    double &own = tails[step * m + i];
    if (isSent)
      own = model.sendSeconds(step) + seconds(to) + tail(to, i);
    countAfter(step, i, firsts);
    own = std::max(own, sumAround(model.stagesAt[model.positionOf[step / 3]],
                                  false, firsts));
  };
  for (size_t i = m; i-- > 0;) {
    for (unsigned stage = 0; stage < model.stages; ++stage) {
      const Step step = 3 * stage + kBackward;
      find(step + 1, i, false, 0);
      find(step, i, stage > 0, step - 3);
    }
    for (unsigned stage = model.stages; stage-- > 0;) {
      const bool isLast = stage + 1 == model.stages;
      find(3 * stage, i, true, isLast ? 3 * stage + kBackward : 3 * stage + 3);
    }
  }
}
