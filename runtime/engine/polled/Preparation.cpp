//===- Preparation.cpp - tells the transport which instructions meet ------===//
//
// SPDX-License-Identifier: Apache-2.0
//
//===----------------------------------------------------------------------===//
#include "Preparation.h"

using namespace pprt;
using namespace pprt::polled;

static void addMemory(const QueuedTask &task, Participation &participation) {
  for (size_t i = 0; i < task.arguments.size(); ++i)
    (i < task.inputCount() ? participation.inputs : participation.outputs)
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

/// Prepares the meetings of one section.
class Preparation {
public:
  Preparation(const Ranks &programs, RankRange range, Section section,
              const std::vector<std::unique_ptr<Rank>> &ranks,
              PolledTransport &transport, MeetingList &result);

  Status prepare();

private:
  Status prepare(const MeetingPlace &place);
  Status checkLengths(const MeetingPlace &place,
                      const std::vector<uint32_t> &members) const;

  const Section section;
  const std::vector<std::unique_ptr<Rank>> &ranks;
  const RankRange range;
  const Meetings meetings;
  PolledTransport &transport;
  MeetingList &result;
  std::vector<std::vector<QueuedTask *>> tasks; ///< by rank of this process
};

} // namespace

Preparation::Preparation(const Ranks &programs, RankRange range,
                         Section section,
                         const std::vector<std::unique_ptr<Rank>> &ranks,
                         PolledTransport &transport, MeetingList &result)
    : section(section), ranks(ranks), range(range), meetings(programs, section),
      transport(transport), result(result) {
  for (const std::unique_ptr<Rank> &rank : ranks)
    tasks.push_back(tasksOf(*rank, section));
}

Status Preparation::checkLengths(const MeetingPlace &place,
                                 const std::vector<uint32_t> &members) const {
  const size_t expected = meetings.sequence(place, 0, members[0]).size();
  for (uint32_t member = 1; member < members.size(); ++member)
    if (const size_t got =
            meetings.sequence(place, member, members[member]).size();
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

Status Preparation::prepare(const MeetingPlace &place) {
  const std::vector<uint32_t> members = meetings.members(place);
  if (Status status = checkLengths(place, members); !status.ok())
    return status;
  const size_t length = meetings.sequence(place, 0, members[0]).size();
  for (uint32_t k = 0; k < length; ++k) {
    auto meeting = std::make_unique<Meeting>();
    meeting->section = section;
    meeting->ranks = members;
    for (uint32_t member = 0; member < members.size(); ++member)
      meeting->indices.push_back(
          meetings.sequence(place, member, members[member])[k]);
    Participation participation;
    participation.place = meetings.number(place);
    participation.section = section;
    participation.meeting = k;
    participation.ranks = members;
    participation.moves =
        std::make_shared<const std::vector<Move>>(meetings.moves(place, k));
    for (uint32_t member = 0; member < members.size(); ++member) {
      if (!range.contains(members[member]))
        continue;
      const uint32_t local = members[member] - range.begin;
      QueuedTask &task = *tasks[local][meeting->indices[member]];
      Participation its = participation;
      its.member = member;
      its.waker = ranks[local]->event;
      its.memory = ranks[local]->arena;
      addMemory(task, its);
      its.staging = ranks[local]->arena->address() +
                    ranks[local]->staging.offsets[task.instruction->queue];
      Expected<Ticket> ticket = transport.prepare(std::move(its));
      if (!ticket)
        return ticket.status();
      task.meeting = meeting.get();
      task.ticket = *ticket;
    }
    result.push_back(std::move(meeting));
  }
  return {};
}

Status Preparation::prepare() {
  for (const MeetingPlace &place : meetings.places(range))
    if (Status status = prepare(place); !status.ok())
      return status;
  return {};
}

Expected<MeetingList>
polled::prepareMeetings(const Ranks &programs, RankRange range,
                        const std::vector<std::unique_ptr<Rank>> &ranks,
                        PolledTransport &transport) {
  MeetingList meetings;
  for (Section section : kSections)
    if (Status status =
            Preparation(programs, range, section, ranks, transport, meetings)
                .prepare();
        !status.ok())
      return status;
  return meetings;
}
