//===- Lanes.h - what one member sends, receives and adds -------*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0
//
// In: the moves of a comm op, a member of it, and which members are in this
// process. Out: the member's lanes, each a series of chunks of one message or
// one sum, the same on all sides of each message.
//
// First every move becomes cuts, each with one owner: of a copy there is one
// cut a target, which owns it; of a sum for several targets, each owns its
// share of the elements, adds it up in the order of the sources, and sends the
// result to the other targets. So a sum for all n members moves 2(n-1)/n of its
// bytes per member, and its bits are those of adding in member order.
//
// A member has a lane for a cut that it owns, one for each that it sends a part
// of to another process, and one for each whose result it awaits from another.
// Messages between two members with one tag go in the order of the cuts, in
// which each member has those that concern it: that order alone keeps chunks
// apart.
//
//===----------------------------------------------------------------------===//
#ifndef PPRT_COLLECTIVES_MPI_LANES_H
#define PPRT_COLLECTIVES_MPI_LANES_H

#include "pprt/TransportModel.h"

#include <functional>

namespace pprt::mpi {

/// Chunks of a lane that are on their way at a time.
constexpr uint32_t kWindow = 2;

/// Of messages: times that programs choose, and sizes that only tests make
/// small.
struct Limits {
  /// A process of which nothing is heard for so long has stopped; 0: never.
  uint64_t silenceSeconds = 30;
  /// MPI counts in int; some of its transports do so too.
  uint64_t messageBytes = uint64_t(1) << 30;
  /// Of a ticket: what sums wait for, and what is packed, on its way.
  uint64_t stagingBytes = uint64_t(8) << 20;
};

/// A part of a move that one member completes.
struct Cut {
  Region region; ///< of the whole move, or dense: a run of its elements
  ppx::ElementType element = ppx::ElementType_f32;
  ppx::Reduction reduction = ppx::Reduction_sum;
  Part owner = {};
  /// In the owner's list all of them, in another member's its own.
  std::vector<Part> sources;
  std::vector<Part> others; ///< who gets the owner's result
  uint64_t chunk = 0;       ///< elements of each chunk but the last
  bool isStaged = false;    ///< one side or both lie in pieces
};

struct Lane {
  enum class Kind : uint8_t {
    send,   ///< this member's part, to the owner
    own,    ///< from all sources, into the sum, to all others
    result, ///< from the owner
  };
  /// A member in another process: the stream of messages that the lane uses.
  struct Remote {
    uint32_t stream;
    uint32_t turn; ///< which lane of the stream this is
  };
  /// A member in this one.
  struct Local {
    uint32_t member;
    uint32_t operand;
    uint64_t offset;
  };
  Kind kind;
  uint32_t cut;
  uint32_t chunks;
  Part part;                                       ///< this member's side
  std::vector<Remote> remoteSources, remoteOthers; ///< own; others have one
  /// Own: for each source in order, its place in remoteSources, or nothing of
  /// one that is here.
  std::vector<int> sourceRemote;
  std::vector<uint32_t> localOthers; ///< indices into the cut's others
  int sendLane = -1; ///< result: the lane whose chunk must have gone before
  /// Staging: where this lane's begins, how much a chunk takes, and how many
  /// earlier lanes with staging must be complete before its first.
  uint64_t staging = 0, chunkStaging = 0;
  /// Bytes of each of a chunk's buffers: one for each remote source in their
  /// order, then, where it is packed, one for each source here and one for the
  /// result.
  uint64_t buffer = 0;
  uint64_t ofRemote(uint64_t source) const { return source * buffer; }
  uint64_t ofLocal(uint64_t source) const {
    return (remoteSources.size() + source) * buffer;
  }
  uint64_t ofResult() const { return sourceRemote.size() * buffer; }
  uint32_t stagedBefore = 0; ///< number of staged lanes to be complete
  int stagedIndex = -1;      ///< which of the staged lanes this is
};

/// Messages of one direction between this member and another.
struct Stream {
  uint32_t other; ///< member
  bool isOut;     ///< from this member
  bool isResult;  ///< of an owner
};

struct LaneList {
  std::vector<Cut> cuts; ///< that the member has a part of
  std::vector<Lane> lanes;
  std::vector<Stream> streams;
  /// Of the last buffer only what the largest chunk in it fills.
  uint64_t stagingBytes = 0;
};

LaneList makeLanes(const std::vector<Move> &moves, uint32_t member,
                   const std::function<bool(uint32_t)> &isLocal,
                   const Limits &limits);

/// What is known of the transport without MPI: the bytes in which a member
/// keeps messages follow from its lanes. `processOf[rank]`, of the whole mesh.
TransportModel model(std::vector<uint32_t> processOf,
                     const Limits &limits = {});

} // namespace pprt::mpi

#endif // PPRT_COLLECTIVES_MPI_LANES_H
