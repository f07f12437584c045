//===- Communication.h - what a program sends in one step -------*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0
//
// Counted from the instructions alone: before a run this is a prediction, and
// after it what was sent.
//
//===----------------------------------------------------------------------===//
#ifndef PPRT_COMMUNICATION_H
#define PPRT_COMMUNICATION_H

#include "pprt/Ranks.h"

#include <optional>
#include <string>
#include <vector>

#pragma GCC visibility push(default)
namespace pprt {

/// The kinds of the report's communication table.
enum class CommunicationKind : uint8_t {
  all_reduce,
  all_gather,
  reduce_scatter,
  all_to_all,
  permute,
  send,
  recv,
  host_copy
};
const char *communicationName(CommunicationKind kind);

/// What one instruction moves.
struct Message {
  CommunicationKind kind;
  /// The size as nccl-tests counts it, and what the rank sends.
  uint64_t bytes = 0, wireBytes = 0;
  /// Messages one after another, in the algorithm that sends so little.
  uint64_t rounds = 1;
};

/// Nothing for an instruction that moves nothing between devices.
std::optional<Message> messageOf(const ppx::ArtifactT &artifact,
                                 const Mesh &mesh, const ppx::ProgramT &program,
                                 const ppx::InstructionT &instruction);

/// What one rank sends by it: the wire bytes, but of a permute that leaves the
/// rank what it has nothing.
uint64_t sentBytes(const Ranks &ranks, uint32_t rank,
                   const ppx::InstructionT &instruction);

/// The communication of one kind over some axes of the mesh.
struct Traffic {
  CommunicationKind kind;
  /// Names, major to minor; of a transfer the stage axis, of a copy none.
  std::vector<std::string> axes;
  uint64_t count = 0, bytes = 0, wireBytes = 0;
};

/// The communication of one body of `program`, in order of kinds, then of first
/// use.
std::vector<Traffic> trafficOf(const ppx::ArtifactT &artifact, const Mesh &mesh,
                               const ppx::ProgramT &program);

} // namespace pprt
#pragma GCC visibility pop

#endif // PPRT_COMMUNICATION_H
