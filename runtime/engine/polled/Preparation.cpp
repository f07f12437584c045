//===- Preparation.cpp - tells the transport which instructions meet ------===//
//
// SPDX-License-Identifier: Apache-2.0
//
//===----------------------------------------------------------------------===//
#include "Preparation.h"

using namespace pprt;
using namespace pprt::polled;

static void addMemory(const QueuedTask &task, Participant &participant) {
  for (size_t i = 0; i < task.arguments.size(); ++i)
    (i < task.inputCount() ? participant.inputs : participant.outputs)
        .push_back(task.arguments[i]);
}

/// A rank's tasks of a section in list order, whatever the queue.
static std::vector<QueuedTask *> tasksOf(Rank &rank, Section section) {
  std::vector<QueuedTask *> result(
      instructionsOf(rank.program, section).size());
  for (std::vector<QueuedTask> &queue : rank.tasks[size_t(section)])
    for (QueuedTask &task : queue)
      result[task.index] = &task;
  return result;
}

namespace {

/// Prepares the comm ops of one section.
class Preparation {
public:
  Preparation(const Ranks &programs, RankRange range, Section section,
              const std::vector<std::unique_ptr<Rank>> &ranks,
              PolledTransport &transport, CommOpList &result);

  Status prepare();

private:
  Status prepare(const CommPlace &place);
  Status checkLengths(const CommPlace &place,
                      const std::vector<uint32_t> &members) const;

  const Section section;
  const std::vector<std::unique_ptr<Rank>> &ranks;
  const RankRange range;
  const CommOps commOps;
  PolledTransport &transport;
  CommOpList &result;
  std::vector<std::vector<QueuedTask *>> tasks; ///< by rank of this process
};

} // namespace

Preparation::Preparation(const Ranks &programs, RankRange range,
                         Section section,
                         const std::vector<std::unique_ptr<Rank>> &ranks,
                         PolledTransport &transport, CommOpList &result)
    : section(section), ranks(ranks), range(range), commOps(programs, section),
      transport(transport), result(result) {
  for (const std::unique_ptr<Rank> &rank : ranks)
    tasks.push_back(tasksOf(*rank, section));
}

Status Preparation::checkLengths(const CommPlace &place,
                                 const std::vector<uint32_t> &members) const {
  const size_t expected = commOps.sequence(place, 0, members[0]).size();
  for (uint32_t member = 1; member < members.size(); ++member)
    if (const size_t got =
            commOps.sequence(place, member, members[member]).size();
        got != expected)
      return Status(ExitCode::checkFailed,
                    std::string(place.isGroup ? "group" : "edge") +
                        " expects as many instructions on rank " +
                        std::to_string(members[member]) + " as on rank " +
                        std::to_string(members[0]) + ", " +
                        std::to_string(expected) + ", got " +
                        std::to_string(got));
  return {};
}

Status Preparation::prepare(const CommPlace &place) {
  const std::vector<uint32_t> members = commOps.members(place);
  if (Status status = checkLengths(place, members); !status.ok())
    return status;
  const size_t length = commOps.sequence(place, 0, members[0]).size();
  for (uint32_t k = 0; k < length; ++k) {
    auto commOp = std::make_unique<CommOp>();
    commOp->section = section;
    commOp->ranks = members;
    for (uint32_t member = 0; member < members.size(); ++member)
      commOp->indices.push_back(
          commOps.sequence(place, member, members[member])[k]);
    Participant participant;
    participant.place = commOps.number(place);
    participant.section = section;
    participant.commOp = k;
    participant.ranks = members;
    participant.moves =
        std::make_shared<const std::vector<Move>>(commOps.moves(place, k));
    for (uint32_t member = 0; member < members.size(); ++member) {
      if (!range.contains(members[member]))
        continue;
      const uint32_t local = members[member] - range.begin;
      QueuedTask &task = *tasks[local][commOp->indices[member]];
      Participant its = participant;
      its.member = member;
      its.waker = ranks[local]->event;
      its.memory = ranks[local]->arena;
      addMemory(task, its);
      its.staging = ranks[local]->arena->address() +
                    ranks[local]->staging.offsets[task.instruction->queue];
      Expected<Ticket> ticket = transport.prepare(std::move(its));
      if (!ticket)
        return ticket.status();
      task.commOp = commOp.get();
      task.ticket = *ticket;
    }
    result.push_back(std::move(commOp));
  }
  return {};
}

Status Preparation::prepare() {
  for (const CommPlace &place : commOps.places(range))
    if (Status status = prepare(place); !status.ok())
      return status;
  return {};
}

Expected<CommOpList>
polled::prepareCommOps(const Ranks &programs, RankRange range,
                       const std::vector<std::unique_ptr<Rank>> &ranks,
                       PolledTransport &transport) {
  CommOpList commOps;
  for (Section section : kSections)
    if (Status status =
            Preparation(programs, range, section, ranks, transport, commOps)
                .prepare();
        !status.ok())
      return status;
  return commOps;
}
