//===- CommOps.cpp - members of comm ops, and their agreement -------------===//
//
// SPDX-License-Identifier: Apache-2.0
//
//===----------------------------------------------------------------------===//
#include "CommOps.h"

#include <algorithm>

using namespace pprt;
using namespace pprt::reference;

CommOps::Key CommOps::keyOf(QueueRef ref,
                            const ppx::InstructionT &instruction) const {
  if (instruction.opcode == ppx::Opcode_collective)
    return {
        instruction.opcode, instruction.group,
        mesh.members(*artifact.groups[instruction.group], ref.rank).front()};
  const uint32_t peer = mesh.peer(ref.rank, instruction.peer_stage);
  return instruction.opcode == ppx::Opcode_send
             ? Key(ppx::Opcode_send, ref.rank, peer)
             : Key(ppx::Opcode_send, peer, ref.rank);
}

bool CommOps::isExpected(QueueRef ref,
                         const ppx::InstructionT &instruction) const {
  switch (instruction.opcode) {
  case ppx::Opcode_send:
  case ppx::Opcode_recv:
  case ppx::Opcode_collective: {
    const auto place = waiting.find(keyOf(ref, instruction));
    return place != waiting.end() && !place->second.empty();
  }
  default:
    return false;
  }
}

std::vector<QueueRef> CommOps::arrive(QueueRef ref,
                                      const ppx::InstructionT &instruction) {
  uint32_t member;
  size_t expected = 2;
  if (instruction.opcode == ppx::Opcode_collective) {
    const std::vector<uint32_t> ranks =
        mesh.members(*artifact.groups[instruction.group], ref.rank);
    member = uint32_t(std::find(ranks.begin(), ranks.end(), ref.rank) -
                      ranks.begin());
    expected = ranks.size();
  } else {
    member = instruction.opcode == ppx::Opcode_send ? 0 : 1;
  }
  std::map<uint32_t, QueueRef> &arrived = waiting[keyOf(ref, instruction)];
  arrived[member] = ref;
  if (arrived.size() < expected)
    return {};
  std::vector<QueueRef> members;
  for (const auto &[index, arrival] : arrived)
    members.push_back(arrival);
  arrived.clear();
  return members;
}

bool reference::agree(const Side &a, const Side &b) {
  const ppx::InstructionT &x = a.instruction, &y = b.instruction;
  auto tag = [](const Side &side) {
    const ppx::InstructionT &i = side.instruction;
    const bool transfer = i.opcode != ppx::Opcode_collective;
    return std::make_tuple(side.run, i.phase, i.micro_batch,
                           transfer ? i.stage : 0);
  };
  if (tag(a) != tag(b) || x.arguments.size() != y.arguments.size())
    return false;
  for (size_t i = 0; i < x.arguments.size(); ++i) {
    const ppx::SlotT &ours = *a.program.slots[x.arguments[i]];
    const ppx::SlotT &theirs = *b.program.slots[y.arguments[i]];
    if (ours.bytes != theirs.bytes || ours.element != theirs.element)
      return false;
  }
  if (x.opcode != ppx::Opcode_collective)
    return true;
  if (x.collective != y.collective)
    return false;
  const bool reduces = x.collective == ppx::CollectiveKind_all_reduce ||
                       x.collective == ppx::CollectiveKind_reduce_scatter;
  const bool hasDimension = x.collective != ppx::CollectiveKind_all_reduce &&
                            x.collective != ppx::CollectiveKind_permute;
  return (!reduces || x.reduction == y.reduction) &&
         (!hasDimension || x.dimensions == y.dimensions) &&
         (x.collective != ppx::CollectiveKind_all_to_all ||
          x.split_dimensions == y.split_dimensions) &&
         (x.collective != ppx::CollectiveKind_permute ||
          x.target_group == y.target_group);
}
