//===- Matching.cpp - which instructions of different ranks meet ----------===//
//
// SPDX-License-Identifier: Apache-2.0
//
//===----------------------------------------------------------------------===//
#include "Matching.h"

using namespace pprt;
using namespace pprt::cpu;

/// The task's memory: the inputs of a collective come before its outputs, a
/// transfer has one of the two.
static inprocess::Participant participantOf(const Task &task) {
  const ppx::Opcode opcode = task.instruction->opcode;
  const size_t count = task.arguments.size();
  const size_t inputs = opcode == ppx::Opcode_send   ? count
                        : opcode == ppx::Opcode_recv ? 0
                                                     : count / 2;
  inprocess::Participant participant;
  for (size_t i = 0; i < count; ++i)
    (i < inputs ? participant.inputs : participant.outputs)
        .push_back(static_cast<std::byte *>(task.arguments[i]));
  return participant;
}

/// A rank's tasks of a section in list order, whatever the queue.
static std::vector<Task *> tasksOf(Rank &rank, Section section) {
  std::vector<Task *> result(instructionsOf(rank.program, section).size());
  for (std::vector<Task> &queue : rank.tasks[size_t(section)])
    for (Task &task : queue)
      result[task.index] = &task;
  return result;
}

static Status matchSection(const Ranks &programs, Section section,
                           std::vector<std::unique_ptr<Rank>> &ranks,
                           std::vector<Meeting> &result) {
  std::vector<std::vector<Task *>> tasks;
  for (const std::unique_ptr<Rank> &rank : ranks)
    tasks.push_back(tasksOf(*rank, section));
  const Meetings meetings(programs, section);
  for (const MeetingPlace &place : meetings.places(0, uint32_t(ranks.size()))) {
    const std::vector<uint32_t> members = meetings.members(place);
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
    for (uint32_t k = 0; k < expected; ++k) {
      Meeting meeting;
      std::vector<inprocess::Event *> events;
      std::vector<inprocess::Participant> participants;
      for (uint32_t member = 0; member < members.size(); ++member) {
        const uint32_t rank = members[member];
        Task *task = tasks[rank][meetings.sequence(place, member, rank)[k]];
        meeting.members.push_back({ranks[rank].get(), task});
        events.push_back(&ranks[rank]->event);
        participants.push_back(participantOf(*task));
      }
      meeting.rendezvous = std::make_unique<inprocess::Rendezvous>(
          inprocess::Exchange(meetings.moves(place, k), participants),
          std::move(events));
      for (uint32_t member = 0; member < members.size(); ++member)
        tasks[members[member]]
             [meetings.sequence(place, member, members[member])[k]]
                 ->rendezvous = meeting.rendezvous.get();
      result.push_back(std::move(meeting));
    }
  }
  return {};
}

Expected<std::vector<Meeting>>
cpu::matchRanks(const Ranks &programs,
                std::vector<std::unique_ptr<Rank>> &ranks) {
  std::vector<Meeting> meetings;
  for (Section section : kSections)
    if (Status status = matchSection(programs, section, ranks, meetings);
        !status.ok())
      return status;
  return meetings;
}
