//===- Collectives.h - comm ops in streams of GPUs --------------*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0
//
// In: the parts of this process's ranks in comm ops, as passed to a Transport,
// and streams. Out: the moves of a comm op, performed by NCCL in the stream it
// was enqueued on: behind the stream's earlier commands, and ahead of later
// ones.
//
// A GPU has room for a few NCCL calls at a time, and streams take it in any
// order. So each communicator of a rank belongs to one of kCallsAtOnce lines:
// messages to the first, groups to the others, in turns. In a line comm ops run
// one after another, in the order in which they are enqueued, on any stream:
// each waits for an event of the one before. Only the program orders comm ops
// of different lines: a long sum over one group does not delay those over
// another. This ends: of the uncompleted comm ops, the one that all ranks
// enqueued first waits for none, and finds room, since each other line has at
// most one at work. The executor ensures that all ranks enqueue in an order
// that ends (pprt/IssueOrder.h).
//
// The order of calls: prepare() for every member that this process has,
// connect(), then in each section begin() and enqueue(), for one rank from one
// thread. Comm ops that share staging must be ordered by their streams.
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

  /// For a rank of this process. `participant.waker` is not used.
  Expected<Ticket> prepare(Participant participant);
  /// Collective, like the world's calls.
  Status connect(World &world);

  /// Commands that the rank enqueues from now on wait for no earlier command:
  /// all of those have ended, or the streams wait for them. Called at the begin
  /// of a section and of a capture, and behind a capture.
  void begin(uint32_t rank);
  /// Enqueues the rank's part of the comm op on the stream. A failure ends no
  /// stream: call abort() for each rank then.
  Status enqueue(Ticket ticket, CUstream stream);

  /// See Communicators::limit().
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
  /// Comm ops of a rank of this process that run one after another.
  struct Line {
    CUevent last = nullptr; ///< recorded behind the last one enqueued
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
  /// By rank; messages use the first line.
  std::map<uint32_t, std::array<Line, kCallsAtOnce>> lines;
  /// Destroyed before the memory of comm ops, which NCCL may have registered.
  const std::shared_ptr<Communicators> communicators;
};

} // namespace pprt::cuda

#endif // PPRT_BACKENDS_CUDA_COLLECTIVES_H
