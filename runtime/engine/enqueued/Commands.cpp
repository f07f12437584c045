//===- Commands.cpp - commands for streams, and their waits ---------------===//
//
// SPDX-License-Identifier: Apache-2.0
//
//===----------------------------------------------------------------------===//
#include "Commands.h"
#include "pprt/IssueOrder.h"
#include "pprt/Program.h"

#include <algorithm>
#include <map>

using namespace pprt;
using namespace pprt::enqueued;

namespace {

/// For each stream, how many of its commands are known to have ended.
using Clock = std::vector<uint32_t>;

class Builder {
public:
  Builder(const Ranks &ranks, RankRange range, Section section,
          Commands &result);
  void build();

private:
  void addParts();
  void addOrder();
  void chooseWaits();

  const Ranks &ranks;
  const RankRange range;
  const Section section;
  std::vector<uint32_t> firstStream; ///< by rank of the range
  std::vector<Command> &list;
  /// By command, those that it must follow, with duplicates.
  std::vector<std::vector<uint32_t>> behind;
};

} // namespace

static void join(Clock &clock, const Clock &other) {
  for (size_t stream = 0; stream < clock.size(); ++stream)
    clock[stream] = std::max(clock[stream], other[stream]);
}

Builder::Builder(const Ranks &ranks, RankRange range, Section section,
                 Commands &result)
    : ranks(ranks), range(range), section(section), list(result.list) {
  for (uint32_t rank = range.begin; rank < range.end; ++rank) {
    firstStream.push_back(uint32_t(result.meets.size()));
    for (const auto &queue : ranks.program(rank).queues)
      result.meets.push_back(queue->kind != ppx::QueueKind_compute &&
                             queue->kind != ppx::QueueKind_copy);
  }
  if (result.meets.empty())
    result.meets.push_back(false);
}

void Builder::addParts() {
  const IssueOrder order(ranks, section);
  std::map<IssueUnit, std::vector<InstructionRef>> units;
  for (uint32_t rank = range.begin; rank < range.end; ++rank)
    for (uint32_t index : order.of(rank))
      units[order.unit(rank, index)].push_back({rank, section, index});
  list.emplace_back();
  for (auto &[unit, parts] : units) {
    const InstructionRef &first = parts.front();
    Command &command = list.emplace_back();
    command.stream =
        firstStream[first.rank - range.begin] + ranks.instruction(first)->queue;
    command.parts = std::move(parts);
  }
  list.emplace_back();
}

/// Orders a command behind the earlier instructions in the queues of its parts,
/// and behind what these wait for.
void Builder::addOrder() {
  /// By rank and queue, the commands of its instructions.
  std::vector<std::vector<std::vector<uint32_t>>> queues;
  for (uint32_t rank = range.begin; rank < range.end; ++rank)
    queues.emplace_back(ranks.program(rank).queues.size());
  behind.resize(list.size());
  for (uint32_t c = 1; c + 1 < list.size(); ++c)
    for (const InstructionRef &part : list[c].parts) {
      auto &its = queues[part.rank - range.begin];
      const InstructionList &instructions =
          ranks.instructions(part.rank, part.section);
      std::vector<uint32_t> &queue = its[instructions[part.index]->queue];
      behind[c].push_back(queue.empty() ? 0 : queue.back());
      instructions.forEachWait(part.index, [&](uint32_t on, uint32_t count) {
        if (count > 0)
          behind[c].push_back(its[on][count - 1]);
      });
      queue.push_back(c);
    }
  behind.back().push_back(0);
  for (const auto &its : queues)
    for (const std::vector<uint32_t> &queue : its)
      if (!queue.empty())
        behind.back().push_back(queue.back());
}

void Builder::chooseWaits() {
  std::vector<Clock> after(list.size()); ///< by command, ended when it has
  std::vector<Clock> known;              ///< by stream, after its last command
  std::vector<uint32_t> given;           ///< by stream, number of its commands
  uint32_t streams = 1;
  for (const Command &command : list)
    streams = std::max(streams, command.stream + 1);
  known.assign(streams, Clock(streams, 0));
  given.assign(streams, 0);
  std::vector<uint32_t> places(list.size()); ///< index in the command's stream
  for (uint32_t c = 0; c < list.size(); ++c) {
    Command &command = list[c];
    Clock &clock = known[command.stream];
    // A wait for a later command implies most of the others.
    std::sort(behind[c].rbegin(), behind[c].rend());
    for (uint32_t other : behind[c]) {
      const uint32_t stream = list[other].stream;
      if (clock[stream] >= places[other])
        continue;
      command.waits.push_back(other);
      list[other].isAwaited = true;
      join(clock, after[other]);
    }
    clock[command.stream] = places[c] = ++given[command.stream];
    after[c] = clock;
  }
}

void Builder::build() {
  addParts();
  addOrder();
  chooseWaits();
}

Commands::Commands(const Ranks &ranks, RankRange range, Section section) {
  Builder(ranks, range, section, *this).build();
}
