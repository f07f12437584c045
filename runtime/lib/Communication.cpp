//===- Communication.cpp - what a program sends in one step ---------------===//
//
// SPDX-License-Identifier: Apache-2.0
//
//===----------------------------------------------------------------------===//
#include "Communication.h"

using namespace pprt;

const char *pprt::communicationName(CommunicationKind kind) {
  static constexpr const char *names[kCommunicationKinds] = {
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

/// The share of `bytes` that one of `n` members sends.
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

std::array<Communication, kCommunicationKinds>
pprt::communicationOf(const ppx::ArtifactT &artifact, const Mesh &mesh,
                      const ppx::ProgramT &program) {
  std::array<Communication, kCommunicationKinds> result;
  const auto add = [&](CommunicationKind kind, uint64_t bytes, uint64_t wire) {
    Communication &entry = result[unsigned(kind)];
    ++entry.count;
    entry.bytes += bytes;
    entry.wireBytes += wire;
  };
  for (const std::unique_ptr<ppx::InstructionT> &instruction : program.body) {
    const std::vector<uint32_t> &arguments = instruction->arguments;
    const auto bytesOf = [&](size_t argument) {
      return program.slots[arguments[argument]]->bytes;
    };
    switch (instruction->opcode) {
    case ppx::Opcode_send:
      add(CommunicationKind::send, bytesOf(0), bytesOf(0));
      break;
    case ppx::Opcode_recv:
      add(CommunicationKind::recv, bytesOf(0), 0);
      break;
    case ppx::Opcode_copy:
      add(CommunicationKind::host_copy, bytesOf(0), 0);
      break;
    case ppx::Opcode_collective: {
      // The size is the whole tensor: an all_gather's output.
      const size_t operands = arguments.size() / 2;
      const bool gathers =
          instruction->collective == ppx::CollectiveKind_all_gather;
      uint64_t bytes = 0;
      for (size_t i = 0; i < operands; ++i)
        bytes += bytesOf(gathers ? operands + i : i);
      const uint64_t n = mesh.memberCount(*artifact.groups[instruction->group]);
      add(kindOf(instruction->collective), bytes,
          wireBytes(instruction->collective, bytes, n));
      break;
    }
    default:
      break;
    }
  }
  return result;
}
