//===- Communication.h - what a program sends in one step -------*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0
//
// Counted from the instructions alone: a prediction before a run, and what was
// sent after it.
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

/// Data that one instruction moves.
struct Message {
  CommunicationKind kind;
  /// Size as nccl-tests counts it, and bytes that the rank sends.
  uint64_t bytes = 0, wireBytes = 0;
  /// Messages one after another, in the algorithm that sends that few bytes.
  uint64_t rounds = 1;
};

/// Returns nothing for an instruction that moves nothing between devices.
std::optional<Message> messageOf(const ppx::ArtifactT &artifact,
                                 const Mesh &mesh,
                                 const Instruction &instruction);

/// Bytes that one rank sends for the instruction: the wire bytes, but 0 in a
/// permute that maps the rank to itself.
uint64_t sentBytes(const Ranks &ranks, uint32_t rank,
                   const Instruction &instruction);

/// The communication of one kind over some axes of the mesh.
struct Traffic {
  CommunicationKind kind;
  /// Names, major to minor; the stage axis of a transfer, none of a copy.
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
