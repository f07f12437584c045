//===- Members.h - a transport's state of participants ----------*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0
//
// The lanes of each member that is here, and the progress of their round. All
// but the count of complete rounds belongs to the engine's thread once the
// transport is connected.
//
//===----------------------------------------------------------------------===//
#ifndef PPRT_COLLECTIVES_MPI_MEMBERS_H
#define PPRT_COLLECTIVES_MPI_MEMBERS_H

#include "Transport.h"

namespace pprt::mpi {

struct MpiTransport::Chunk {
  uint32_t pending = 0; ///< messages in transit
  enum : uint8_t { receiving, combined, done } state = receiving;
};

/// A lane, and the progress of its round.
struct MpiTransport::LaneState {
  const Lane *lane;
  uint32_t index;      ///< in the member's list
  uint32_t posted = 0; ///< chunks whose messages are posted
  uint32_t next = 0;   ///< own: the chunk to combine
  uint32_t complete = 0;
  bool isFinished = false;
  std::vector<Chunk> chunks;
};

struct MpiTransport::Member {
  Participant told; ///< as the rank gave it
  Ticket ticket = 0;
  bool isOfThreads = false; ///< all members are here
  Ticket ofThreads = 0;     ///< its ticket in `threads`
  LaneList list;
  std::vector<LaneState> lanes;
  std::vector<uint32_t> turns;  ///< by stream, lanes that have posted
  std::vector<bool> stagedDone; ///< by staged lane
  uint32_t stagedComplete = 0;  ///< staged lanes complete, without a gap
  uint32_t firstOpen = 0;       ///< lanes before it are finished
  uint32_t joined = 0;          ///< lanes of other members that use this memory
  uint32_t remaining = 0;       ///< lanes and uses left in this round
  uint64_t rounds = 0;          ///< rounds started, on the engine's thread
  Present *present = nullptr;
  std::atomic<uint64_t> complete{0}; ///< rounds
};

/// The members of a comm op that are here.
struct MpiTransport::Present {
  std::vector<Member *> members; ///< null: elsewhere
};

} // namespace pprt::mpi

#endif // PPRT_COLLECTIVES_MPI_MEMBERS_H
