//===- Collectives.h - comm ops in streams of GPUs --------------*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0
//
// In: the parts that ranks of this process have in comm ops, as a Transport is
// told of them, and streams. Out: what a comm op moves, done by NCCL in the
// stream it was given to: behind what the stream had before, and ahead of what
// it is given later.
//
// A GPU has room for a few calls of NCCL at a time, and streams take it in any
// order. So each communicator of a rank has a line, of which there are
// kCallsAtOnce: messages one, groups the others, in turns. In a line comm ops
// come one after another, in the order in which they are enqueued, whatever
// their streams: each waits for an event of the one before. Between lines there
// is no order but the program's: a long sum over one group holds up none over
// another. It ends: of those that have not, the one that all ranks enqueued
// first waits for none, and finds room, since of each other line one at most is
// at work. That all enqueue in an order that ends is the executor's affair
// (pprt/IssueOrder.h).
//
// The order of calls: prepare() for every member that this process has,
// connect(), then in each section begin() and enqueue(), of one rank from one
// thread. CommOps that share staging must have an order by their streams.
//
//===----------------------------------------------------------------------===//
#ifndef PPRT_BACKENDS_CUDA_COLLECTIVES_H
#define PPRT_BACKENDS_CUDA_COLLECTIVES_H

#include "CommPlan.h"
#include "Communicators.h"

#include <array>

namespace pprt::cuda {

class Collectives {
public:
  explicit Collectives(std::shared_ptr<Communicators> communicators);
  ~Collectives();

  /// Of a rank of this process. `participant.waker` is not used.
  Expected<Ticket> prepare(Participant participant);
  /// Collective, as the world's calls.
  Status connect(World &world);

  /// What the rank enqueues from now on waits for nothing that it was given
  /// before: all of that has ended, or the streams wait for it. So it is at the
  /// begin of a section, of a capture, and behind one.
  void begin(uint32_t rank);
  /// Gives the stream the rank's part of the comm op. A failure ends no stream:
  /// then abort() does, of each rank.
  Status enqueue(Ticket ticket, CUstream stream);

  /// As Communicators have them.
  void limit(double seconds, std::function<bool()> isInterrupted) {
    communicators->limit(seconds, std::move(isInterrupted));
  }
  Status poll() { return communicators->poll(); }
  void fail(const Status &status) { communicators->fail(status); }
  void abort(uint32_t rank) { communicators->abort(rank); }

private:
  /// A member's part with its addresses.
  struct Prepared {
    uint32_t rank = 0;
    Participant participant;
    CommPlan plan;
    Communicators::Communicator *communicator = nullptr;
    uint32_t line = 0;
  };
  /// Of those of a rank of this process.
  struct Line {
    CUevent last = nullptr; ///< behind what was enqueued last
    bool hasLast = false;
  };

  static MemberList listOf(const Prepared &prepared);
  Status makeEvents();
  static std::byte *address(const Prepared &prepared, const Spot &spot);
  static Status copy(const Gpu &gpu, const Prepared &prepared,
                     const Packing &packing, CUstream stream);
  Status call(const Prepared &prepared, const NcclCall &call, ncclComm_t comm,
              CUstream stream) const;
  Status give(Prepared &prepared, CUstream stream);

  std::vector<std::unique_ptr<Prepared>> commOps; ///< by ticket
  /// By rank; messages have the first one.
  std::map<uint32_t, std::array<Line, kCallsAtOnce>> lines;
  /// Gone before the memory of comm ops is, which NCCL may have registered.
  const std::shared_ptr<Communicators> communicators;
};

} // namespace pprt::cuda

#endif // PPRT_BACKENDS_CUDA_COLLECTIVES_H
