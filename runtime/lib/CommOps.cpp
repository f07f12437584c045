//===- CommOps.cpp - which instructions meet ------------------------------===//
//
// SPDX-License-Identifier: Apache-2.0
//
//===----------------------------------------------------------------------===//
#include "pprt/CommOps.h"

#include <algorithm>

using namespace pprt;

CommOps::CommOps(const Ranks &ranks, Section section)
    : ranks(ranks), section(section) {
  for (uint32_t program = 0; program < ranks.artifact.programs.size();
       ++program) {
    Appointments &its = appointments.emplace_back();
    const InstructionList &list = ranks.instructionsOf(program, section);
    for (uint32_t index = 0; index < list.size(); ++index) {
      const ppx::InstructionT &instruction = *list[index];
      if (instruction.opcode == ppx::Opcode_send)
        its.sends[instruction.peer_stage].push_back(index);
      else if (instruction.opcode == ppx::Opcode_recv)
        its.receives[instruction.peer_stage].push_back(index);
      else if (instruction.opcode == ppx::Opcode_collective)
        its.collectives[instruction.group].push_back(index);
    }
  }
}

std::vector<CommPlace> CommOps::places(RankRange range) const {
  std::vector<CommPlace> result;
  for (uint32_t rank = range.begin; rank < range.end; ++rank) {
    const Appointments &its = appointments[ranks.programOf(rank)];
    for (const auto &[stage, sends] : its.sends)
      result.push_back({false, rank, ranks.mesh.peer(rank, stage)});
    for (const auto &[stage, receives] : its.receives)
      result.push_back({false, ranks.mesh.peer(rank, stage), rank});
    for (const auto &[group, collectives] : its.collectives)
      result.push_back(
          {true, group,
           ranks.mesh.leader(*ranks.artifact.groups[group], rank)});
  }
  std::sort(result.begin(), result.end());
  result.erase(std::unique(result.begin(), result.end()), result.end());
  return result;
}

std::vector<uint32_t> CommOps::members(const CommPlace &place) const {
  if (!place.isGroup)
    return {place.first, place.second};
  return ranks.mesh.members(*ranks.artifact.groups[place.first], place.second);
}

uint64_t CommOps::number(const CommPlace &place) const {
  const uint64_t all = ranks.mesh.worldSize();
  if (place.isGroup)
    return all * (ranks.mesh.stageCount() + uint64_t(place.first)) +
           place.second;
  return uint64_t(place.first) * ranks.mesh.stageCount() +
         ranks.mesh.stage(place.second);
}

const std::vector<uint32_t> &CommOps::sequence(const CommPlace &place,
                                               uint32_t member,
                                               uint32_t rank) const {
  const Appointments &its = appointments[ranks.programOf(rank)];
  static const std::vector<uint32_t> none;
  const Sequences &sequences = place.isGroup ? its.collectives
                               : member == 0 ? its.sends
                                             : its.receives;
  const auto found = sequences.find(
      place.isGroup
          ? place.first
          : ranks.mesh.stage(member == 0 ? place.second : place.first));
  return found == sequences.end() ? none : found->second;
}

/// Returns the member that each member of a permute sends to.
static std::vector<uint32_t> findReceivers(const Ranks &ranks,
                                           const ppx::InstructionT &permute,
                                           uint32_t rank) {
  const ppx::GroupT &group = *ranks.artifact.groups[permute.group];
  std::vector<uint32_t> receivers;
  for (uint32_t receiver :
       ranks.mesh.members(*ranks.artifact.groups[permute.target_group], rank))
    receivers.push_back(ranks.mesh.memberIndex(group, receiver));
  return receivers;
}

std::vector<Move> CommOps::moves(const CommPlace &place, uint32_t k) const {
  // The source of an edge, the first member of an instance.
  const uint32_t rank = place.isGroup ? place.second : place.first;
  const Instruction instruction =
      ranks.instructions(rank, section)[sequence(place, 0, rank)[k]];
  if (!place.isGroup)
    return movesOfTransfer(instruction.slot(0).bytes);
  std::vector<const ppx::SlotT *> inputs;
  for (size_t i = 0; i < instruction.slotCount() / 2; ++i)
    inputs.push_back(&instruction.slot(i));
  std::vector<uint32_t> receivers;
  if (instruction->collective == ppx::CollectiveKind_permute)
    receivers = findReceivers(ranks, *instruction, rank);
  return movesOfCollective(
      *instruction, inputs,
      ranks.mesh.memberCount(*ranks.artifact.groups[place.first]), receivers);
}
