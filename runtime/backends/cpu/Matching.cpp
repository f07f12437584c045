//===- Matching.cpp - which instructions of different ranks meet ----------===//
//
// SPDX-License-Identifier: Apache-2.0
//
//===----------------------------------------------------------------------===//
#include "Matching.h"

#include <map>
#include <tuple>

using namespace pprt;
using namespace pprt::cpu;

namespace {

/// A directed edge (false, source, destination) or an instance of a group
/// (true, group, first member), in one section.
using Place = std::tuple<Section, bool, uint32_t, uint32_t>;

/// The tasks of each member at one place, in program order.
struct Sequences {
  std::vector<Rank *> ranks;
  std::vector<std::vector<Task *>> tasks;
};

class Matcher {
public:
  Matcher(const ppx::ArtifactT &artifact, const Mesh &mesh,
          std::vector<std::unique_ptr<Rank>> &ranks)
      : artifact(artifact), mesh(mesh), ranks(ranks) {}

  void collect(Rank &rank, Section section, Task &task);
  Status match(std::vector<Meeting> &meetings);

private:
  void note(const Place &place, const std::vector<uint32_t> &members,
            uint32_t member, Task &task);

  const ppx::ArtifactT &artifact;
  const Mesh &mesh;
  std::vector<std::unique_ptr<Rank>> &ranks;
  std::map<Place, Sequences> places;
};

} // namespace

void Matcher::note(const Place &place, const std::vector<uint32_t> &members,
                   uint32_t member, Task &task) {
  Sequences &sequences = places[place];
  if (sequences.ranks.empty()) {
    for (uint32_t rank : members)
      sequences.ranks.push_back(ranks[rank].get());
    sequences.tasks.resize(members.size());
  }
  sequences.tasks[member].push_back(&task);
}

void Matcher::collect(Rank &rank, Section section, Task &task) {
  const ppx::InstructionT &instruction = *task.instruction;
  if (instruction.opcode == ppx::Opcode_collective) {
    const ppx::GroupT &group = *artifact.groups[instruction.group];
    const uint32_t leader = mesh.leader(group, rank.index);
    note({section, true, instruction.group, leader},
         mesh.members(group, rank.index), mesh.memberIndex(group, rank.index),
         task);
    return;
  }
  const bool sends = instruction.opcode == ppx::Opcode_send;
  if (!sends && instruction.opcode != ppx::Opcode_recv)
    return;
  const uint32_t peer = mesh.peer(rank.index, instruction.peer_stage);
  const uint32_t source = sends ? rank.index : peer;
  const uint32_t destination = sends ? peer : rank.index;
  note({section, false, source, destination}, {source, destination},
       sends ? 0 : 1, task);
}

/// To which member each member of a permute sends.
static std::vector<uint32_t> findReceivers(const ppx::ArtifactT &artifact,
                                           const Mesh &mesh,
                                           const ppx::InstructionT &permute,
                                           uint32_t rank) {
  const ppx::GroupT &group = *artifact.groups[permute.group];
  std::vector<uint32_t> receivers;
  for (uint32_t receiver :
       mesh.members(*artifact.groups[permute.target_group], rank))
    receivers.push_back(mesh.memberIndex(group, receiver));
  return receivers;
}

static inprocess::Exchange
makeExchange(const ppx::ArtifactT &artifact, const Mesh &mesh,
             const std::vector<std::pair<Rank *, const Task *>> &members,
             bool collective) {
  const auto slotOf = [](const Rank &rank, const Task &task, size_t argument) {
    return rank.program.slots[task.instruction->arguments[argument]].get();
  };
  if (!collective) {
    const auto &[source, send] = members[0];
    const auto &[destination, recv] = members[1];
    return inprocess::Exchange::transfer(
        static_cast<const std::byte *>(send->arguments[0]),
        static_cast<std::byte *>(recv->arguments[0]),
        slotOf(*source, *send, 0)->bytes);
  }
  std::vector<inprocess::Participant> participants;
  for (const auto &[rank, task] : members) {
    inprocess::Participant participant;
    const size_t operands = task->arguments.size() / 2;
    for (size_t i = 0; i < operands; ++i) {
      participant.inputs.push_back(
          static_cast<std::byte *>(task->arguments[i]));
      participant.inputSlots.push_back(slotOf(*rank, *task, i));
      participant.outputs.push_back(
          static_cast<std::byte *>(task->arguments[operands + i]));
      participant.outputSlots.push_back(slotOf(*rank, *task, operands + i));
    }
    participants.push_back(std::move(participant));
  }
  const ppx::InstructionT &instruction = *members[0].second->instruction;
  std::vector<uint32_t> receivers;
  if (instruction.collective == ppx::CollectiveKind_permute)
    receivers =
        findReceivers(artifact, mesh, instruction, members[0].first->index);
  return inprocess::Exchange::collective(instruction, participants, receivers);
}

Status Matcher::match(std::vector<Meeting> &meetings) {
  for (auto &[place, sequences] : places) {
    const bool collective = std::get<1>(place);
    for (size_t member = 1; member < sequences.tasks.size(); ++member) {
      const size_t expected = sequences.tasks[0].size();
      const size_t got = sequences.tasks[member].size();
      if (expected != got)
        return Status(ExitCode::checkFailed,
                      std::string(collective ? "group" : "edge") +
                          " expects as many instructions on rank " +
                          std::to_string(sequences.ranks[member]->index) +
                          " as on rank " +
                          std::to_string(sequences.ranks[0]->index) + ", " +
                          std::to_string(expected) + ", got " +
                          std::to_string(got));
    }
    for (size_t k = 0; k < sequences.tasks[0].size(); ++k) {
      Meeting meeting;
      std::vector<inprocess::Event *> events;
      for (size_t member = 0; member < sequences.ranks.size(); ++member) {
        meeting.members.push_back(
            {sequences.ranks[member], sequences.tasks[member][k]});
        events.push_back(&sequences.ranks[member]->event);
      }
      meeting.rendezvous = std::make_unique<inprocess::Rendezvous>(
          makeExchange(artifact, mesh, meeting.members, collective),
          std::move(events));
      for (size_t member = 0; member < sequences.ranks.size(); ++member)
        sequences.tasks[member][k]->rendezvous = meeting.rendezvous.get();
      meetings.push_back(std::move(meeting));
    }
  }
  return {};
}

Expected<std::vector<Meeting>>
cpu::matchRanks(const ppx::ArtifactT &artifact, const Mesh &mesh,
                std::vector<std::unique_ptr<Rank>> &ranks) {
  Matcher matcher(artifact, mesh, ranks);
  for (const std::unique_ptr<Rank> &rank : ranks)
    for (Section section : kSections) {
      // In list order, whatever the queue.
      std::vector<Task *> inOrder(
          instructionsOf(rank->program, section).size());
      for (std::vector<Task> &queue : rank->tasks[size_t(section)])
        for (Task &task : queue)
          inOrder[task.index] = &task;
      for (Task *task : inOrder)
        matcher.collect(*rank, section, *task);
    }
  std::vector<Meeting> meetings;
  if (Status status = matcher.match(meetings); !status.ok())
    return status;
  return meetings;
}
