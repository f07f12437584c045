//===- Lanes.h - what one member sends, receives and adds -------*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0
//
// In: the moves of a comm op, one of its members, and which members are in this
// process. Out: the member's lanes, each a series of chunks of one message or
// one sum, the same on all sides of each message.
//
// First every move becomes cuts, each with one owner. A copy has one cut per
// target, which owns it. In a sum for several targets, each target owns its
// share of the elements, adds it up in the order of the sources, and sends the
// result to the other targets. So a sum for all n members moves 2(n-1)/n of its
// bytes per member, and its bits are those of adding in member order.
//
// A member has a lane for a cut that it owns, one for each cut of which it
// sends a part to another process, and one for each whose result it receives
// from another. Messages between two members with one tag go in the order of
// the cuts, which each member keeps for its own: only this order tells chunks
// apart.
//
//===----------------------------------------------------------------------===//
#ifndef PPRT_COLLECTIVES_MPI_LANES_H
#define PPRT_COLLECTIVES_MPI_LANES_H

#include "pprt/TransportModel.h"

#include <functional>

namespace pprt::mpi {

/// Chunks of a lane that are in transit at a time.
constexpr uint32_t kWindow = 2;

/// Limits of messages: times that programs choose, and sizes that only tests
/// reduce.
struct Limits {
  /// A process that is silent for so long has stopped; 0: never.
  uint64_t silenceSeconds = 30;
  /// MPI counts in int; so do some of its transports.
  uint64_t messageBytes = uint64_t(1) << 30;
  /// Per ticket: staging of sums and of packed data in transit.
  uint64_t stagingBytes = uint64_t(8) << 20;
};

/// A part of a move that one member completes.
struct Cut {
  Region region; ///< the whole move's, or dense: a run of its elements
  ppx::ElementType element = ppx::ElementType_f32;
  ppx::Reduction reduction = ppx::Reduction_sum;
  Part owner = {};
  /// All sources in the owner's list, only its own in another member's.
  std::vector<Part> sources;
  std::vector<Part> others; ///< targets of the owner's result
  uint64_t chunk = 0;       ///< elements of each chunk but the last
  bool isStaged = false;    ///< one or both sides are not contiguous
};

struct Lane {
  enum class Kind : uint8_t {
    send,   ///< this member's part, to the owner
    own,    ///< from all sources, into the sum, to all others
    result, ///< from the owner
  };
  /// A member in another process, as the stream of messages that the lane uses.
  struct Remote {
    uint32_t stream;
    uint32_t turn; ///< index of the lane in the stream
  };
  /// A member in this process.
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
  /// Own: for each source in order, its index in remoteSources, or -1 if it is
  /// here.
  std::vector<int> sourceRemote;
  std::vector<uint32_t> localOthers; ///< indices into the cut's others
  int sendLane = -1; ///< result: the lane whose chunk must be sent before
  /// Offset of this lane's staging, and staging bytes of a chunk.
  uint64_t staging = 0, chunkStaging = 0;
  /// Bytes of each of a chunk's buffers: one for each remote source in order,
  /// then, if it is packed, one for each source here and one for the result.
  uint64_t buffer = 0;
  uint64_t ofRemote(uint64_t source) const { return source * buffer; }
  uint64_t ofLocal(uint64_t source) const {
    return (remoteSources.size() + source) * buffer;
  }
  uint64_t ofResult() const { return sourceRemote.size() * buffer; }
  uint32_t stagedBefore = 0; ///< staged lanes that must be complete before
  int stagedIndex = -1;      ///< index among the staged lanes
};

/// Messages of one direction between this member and another.
struct Stream {
  uint32_t other; ///< member
  bool isOut;     ///< from this member
  bool isResult;  ///< from an owner
};

struct LaneList {
  std::vector<Cut> cuts; ///< cuts with a part of the member
  std::vector<Lane> lanes;
  std::vector<Stream> streams;
  /// The last buffer counts only as far as its largest chunk fills it.
  uint64_t stagingBytes = 0;
};

LaneList makeLanes(const std::vector<Move> &moves, uint32_t member,
                   const std::function<bool(uint32_t)> &isLocal,
                   const Limits &limits);

/// Model of the transport without MPI: a member's staging bytes follow from its
/// lanes. `processOf[rank]` covers the whole mesh.
TransportModel model(std::vector<uint32_t> processOf,
                     const Limits &limits = {});

} // namespace pprt::mpi

#endif // PPRT_COLLECTIVES_MPI_LANES_H
