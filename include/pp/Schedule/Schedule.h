//===- Schedule.h - The order of a pipeline's actions -----------*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0
//
// A schedule is data: per rank (a position of the pipeline, whatever the number
// of devices that share it) the list of actions it runs in one step. Transfers
// between ranks follow from the order and are not written down. The text forms
// are those of torch.distributed.pipelining, so its schedules and visualisers
// work unchanged.
//
//===----------------------------------------------------------------------===//
#ifndef PP_SCHEDULE_SCHEDULE_H
#define PP_SCHEDULE_SCHEDULE_H

#include <optional>
#include <string>
#include <vector>

namespace pp::schedule {

/// What an action computes. The backward action also computes the weight
/// gradients, unless the schedule has a weight action for the same stage and
/// micro-batch; then it stops at the gradients of the stage's inputs.
enum class Kind : char { Forward = 'F', Backward = 'B', Weight = 'W' };

/// One unit of compute: a fragment of a stage applied to a micro-batch.
struct Action {
  unsigned stage = 0;
  Kind kind = Kind::Forward;
  unsigned microBatch = 0;

  friend bool operator==(const Action &a, const Action &b) {
    return a.stage == b.stage && a.kind == b.kind &&
           a.microBatch == b.microBatch;
  }
};

/// The order in which every rank runs its actions. Ranks may hold several
/// stages; no stage may lie on two ranks.
struct Schedule {
  std::string name;
  unsigned stages = 0;
  unsigned microBatches = 0;
  std::vector<std::vector<Action>> ranks;

  friend bool operator==(const Schedule &a, const Schedule &b) {
    return a.name == b.name && a.stages == b.stages &&
           a.microBatches == b.microBatches && a.ranks == b.ranks;
  }
};

/// Bounds on what is read or generated. They are far above any real pipeline
/// and keep every product of them within 32 bits.
constexpr unsigned maxStages = 1 << 12;
constexpr unsigned maxMicroBatches = 1 << 16;
constexpr unsigned maxActions = 1 << 24;

//===----------------------------------------------------------------------===//
// Text
//===----------------------------------------------------------------------===//

/// Spells an action as stage, kind, micro-batch: `0F0`, `12B3`.
std::string print(const Action &action);

/// Reads the output of `print`; nothing for other text.
std::optional<Action> parseAction(const std::string &text);

/// One row of comma-separated actions per rank. A backward action whose weight
/// gradient is split off is spelled `I`, as torch.distributed.pipelining does.
std::string printCsv(const Schedule &schedule);

/// Reads a CSV file of torch.distributed.pipelining. Blank cells (idle slots)
/// and communication are dropped, overlapped actions follow each other; the
/// numbers of stages and micro-batches are those that occur. The result is not
/// verified. On malformed text returns nothing and sets `error`.
std::optional<Schedule> parseCsv(const std::string &text, std::string &error);

//===----------------------------------------------------------------------===//
// Checks and queries
//===----------------------------------------------------------------------===//

/// Whether the schedule computes every micro-batch on every stage exactly once
/// and can finish: no action twice or missing, no stage on two ranks, no rank
/// that waits forever for another. If not, `error` says what is wrong above a
/// grid with the offending action in brackets.
bool verify(const Schedule &schedule, std::string &error);

/// Lets every stage that has a weight action for one micro-batch have one for
/// each: right behind the backward action, which computed both.
void completeWeights(Schedule &schedule);

/// The order of the first micro-batches alone, as a step of `count` has it at
/// its beginning; the whole if it has no more.
Schedule takeMicroBatches(const Schedule &schedule, unsigned count);

/// The rank of every stage. Expects a verified schedule.
std::vector<unsigned> stageRanks(const Schedule &schedule);

/// Entry `stage * microBatches + microBatch`: whether the schedule has a weight
/// action for them, so that their backward is split in two.
std::vector<bool> splitBackwards(const Schedule &schedule);

/// The largest number of (stage, micro-batch) pairs whose forward action has
/// run on `rank` and whose last backward action has not: how many sets of
/// residuals the rank must hold at once. Expects a verified schedule.
unsigned peakInFlight(const Schedule &schedule, unsigned rank);

/// The actions, on any rank, that must end before an action may start.
struct Dependencies {
  Action actions[2];
  unsigned count = 0;

  const Action *begin() const { return actions; }
  const Action *end() const { return actions + count; }
};
Dependencies dependencies(const Schedule &schedule, const Action &action);

/// The name of rows: "stage " if row i is stage i, else "position ".
const char *rowName(const Schedule &schedule);

/// A grid of the actions in list order, one row per rank. The cell at
/// (`markRank`, `markIndex`), if any, is put in brackets.
std::string printGrid(const Schedule &schedule, size_t markRank = ~size_t(0),
                      size_t markIndex = ~size_t(0));

} // namespace pp::schedule

#endif // PP_SCHEDULE_SCHEDULE_H
