//===- Communication.cpp - what a program sends in one step ---------------===//
//
// SPDX-License-Identifier: Apache-2.0
//
//===----------------------------------------------------------------------===//
#include "pprt/Communication.h"

#include <algorithm>

using namespace pprt;

const char *pprt::communicationName(CommunicationKind kind) {
  static constexpr const char *names[] = {
      "all_reduce", "all_gather", "reduce_scatter", "all_to_all",
      "permute",    "send",       "recv",           "host_copy"};
  return names[unsigned(kind)];
}

static CommunicationKind kindOf(ppx::CollectiveKind kind) {
  switch (kind) {
  case ppx::CollectiveKind_all_reduce:
    return CommunicationKind::all_reduce;
  case ppx::CollectiveKind_all_gather:
    return CommunicationKind::all_gather;
  case ppx::CollectiveKind_reduce_scatter:
    return CommunicationKind::reduce_scatter;
  case ppx::CollectiveKind_all_to_all:
    return CommunicationKind::all_to_all;
  case ppx::CollectiveKind_permute:
    break;
  }
  return CommunicationKind::permute;
}

/// Returns the share of `bytes` that one of `n` members sends.
static uint64_t wireBytes(ppx::CollectiveKind kind, uint64_t bytes,
                          uint64_t n) {
  switch (kind) {
  case ppx::CollectiveKind_all_reduce:
    return 2 * (n - 1) * bytes / n;
  case ppx::CollectiveKind_permute:
    return bytes;
  default:
    return (n - 1) * bytes / n;
  }
}

/// Messages one after another: the distance doubles with each.
static uint64_t roundsOf(ppx::CollectiveKind kind, uint64_t n) {
  uint64_t rounds = 0;
  for (uint64_t reached = 1; reached < n; reached *= 2)
    ++rounds;
  switch (kind) {
  case ppx::CollectiveKind_all_reduce:
    return 2 * rounds;
  case ppx::CollectiveKind_permute:
    return 1;
  default:
    return rounds;
  }
}

std::optional<Message> pprt::messageOf(const ppx::ArtifactT &artifact,
                                       const Mesh &mesh,
                                       const Instruction &instruction) {
  const auto bytesOf = [&](size_t argument) {
    return instruction.slot(argument).bytes;
  };
  switch (instruction->opcode) {
  case ppx::Opcode_send:
    return Message{CommunicationKind::send, bytesOf(0), bytesOf(0)};
  case ppx::Opcode_recv:
    return Message{CommunicationKind::recv, bytesOf(0), 0};
  case ppx::Opcode_copy:
    return Message{CommunicationKind::host_copy, bytesOf(0), 0};
  case ppx::Opcode_collective: {
    // The size is the whole tensor: an all_gather's output.
    const size_t operands = instruction.slotCount() / 2;
    const bool gathers =
        instruction->collective == ppx::CollectiveKind_all_gather;
    uint64_t bytes = 0;
    for (size_t i = 0; i < operands; ++i)
      bytes += bytesOf(gathers ? operands + i : i);
    const uint64_t n = mesh.memberCount(*artifact.groups[instruction->group]);
    return Message{kindOf(instruction->collective), bytes,
                   wireBytes(instruction->collective, bytes, n),
                   roundsOf(instruction->collective, n)};
  }
  default:
    return std::nullopt;
  }
}

uint64_t pprt::sentBytes(const Ranks &ranks, uint32_t rank,
                         const Instruction &instruction) {
  const auto groupOf = [&](uint32_t index) -> const ppx::GroupT & {
    return *ranks.artifact.groups[index];
  };
  const std::optional<Message> message =
      messageOf(ranks.artifact, ranks.mesh, instruction);
  if (!message)
    return 0;
  if (message->kind == CommunicationKind::permute &&
      ranks.mesh.memberIndex(groupOf(instruction->group), rank) ==
          ranks.mesh.memberIndex(groupOf(instruction->target_group), rank))
    return 0;
  return message->wireBytes;
}

/// Returns the names of the mesh axes along which `instruction` communicates.
static std::vector<std::string> axesOf(const ppx::ArtifactT &artifact,
                                       const Mesh &mesh,
                                       const ppx::InstructionT &instruction) {
  std::vector<std::string> names;
  if (instruction.opcode == ppx::Opcode_collective)
    for (uint32_t axis : artifact.groups[instruction.group]->axes)
      names.push_back(artifact.axes[axis]->name);
  else if (instruction.opcode != ppx::Opcode_copy && mesh.stageAxis())
    names.push_back(artifact.axes[*mesh.stageAxis()]->name);
  return names;
}

std::vector<Traffic> pprt::trafficOf(const ppx::ArtifactT &artifact,
                                     const Mesh &mesh,
                                     const ppx::ProgramT &program) {
  std::vector<Traffic> result;
  for (const Instruction instruction :
       InstructionList(program, Section::body)) {
    const std::optional<Message> message =
        messageOf(artifact, mesh, instruction);
    if (!message)
      continue;
    std::vector<std::string> axes = axesOf(artifact, mesh, *instruction);
    auto found =
        std::find_if(result.begin(), result.end(), [&](const Traffic &traffic) {
          return traffic.kind == message->kind && traffic.axes == axes;
        });
    if (found == result.end())
      found = result.insert(found, {message->kind, std::move(axes)});
    ++found->count;
    found->bytes += message->bytes;
    found->wireBytes += message->wireBytes;
  }
  std::stable_sort(
      result.begin(), result.end(),
      [](const Traffic &a, const Traffic &b) { return a.kind < b.kind; });
  return result;
}
