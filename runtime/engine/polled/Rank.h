//===- Rank.h - one rank: its memory, its queues, its thread's work -*- C++ -*//
//
// SPDX-License-Identifier: Apache-2.0
//
// In: the program of one rank, with every slot, kernel and comm op resolved
// beforehand. Out: its effects on the arena, and when each instruction ran.
//
// One thread walks all queues: communication first, so that other ranks wait at
// most one kernel's time for this rank, then one kernel. An instruction thus
// never depends on what another queue of the rank is blocked on, which is the
// independence of queues that the deadlock check assumes.
//
//===----------------------------------------------------------------------===//
#ifndef PPRT_ENGINE_POLLED_RANK_H
#define PPRT_ENGINE_POLLED_RANK_H

#include "../../collectives/inprocess/Event.h"
#include "../Executor.h"

namespace pprt::polled {

/// Tells ranks to leave their section: each checks it before it looks for work.
/// Code that changes the answer must wake the ranks' events afterwards.
class Cancellation {
public:
  virtual ~Cancellation() = default;
  virtual bool isRequested() const = 0;
};

/// The members of a comm op and their instructions in the section, in member
/// order; for the hang report.
struct CommOp {
  Section section;
  std::vector<uint32_t> ranks, indices;
};

/// One instruction of one rank.
struct QueuedTask : Task {
  QueuedTask(Task task, std::vector<ppx::Wait> waits, uint32_t index)
      : Task(std::move(task)), waits(std::move(waits)), index(index) {}

  std::vector<ppx::Wait> waits;
  uint32_t index;                 ///< in the section's list
  const CommOp *commOp = nullptr; ///< if it communicates
  Ticket ticket = 0;              ///< the transport's ticket for the comm op
};

/// The state of a queue, written by the rank and read by the watchdog.
struct QueueState {
  std::atomic<uint32_t> done{0};    ///< instructions complete in this section
  std::atomic<bool> started{false}; ///< whether the head has started
};

class Rank : public LocalRank {
public:
  Rank(uint32_t index, const Mesh &mesh, const ppx::ProgramT &program,
       Staging staging);

  void addTasks(const Kernels &kernels, Device &device);
  /// Returns the task of an instruction by its index in the section's list.
  QueuedTask &task(Section section, uint32_t index);

  /// Runs a section to its end, or until `cancellation` is requested, or the
  /// host or the transport fails. `spins`: see Event.
  Status run(Section section, int64_t step, Stream &stream, HostData &host,
             const Cancellation &cancellation, uint32_t spins);

  /// Wakes the thread if it sleeps.
  const std::shared_ptr<inprocess::Event> event =
      std::make_shared<inprocess::Event>();
  PolledTransport *transport = nullptr; ///< if it meets other ranks
  /// tasks[section][queue] in list order.
  std::vector<std::vector<QueuedTask>> tasks[kSections.size()];

  // Read by the watchdog at any time.
  std::vector<QueueState> queues;
  std::atomic<int> section{-1}; ///< the section being run, or -1
  std::atomic<uint64_t> progress{0};
  /// Counts begins and ends of calls that compute or move: odd inside of one.
  std::atomic<uint64_t> calls{0};

private:
  bool waitsHold(const std::vector<ppx::Wait> &waits) const;
  /// Starts the head of the queue if possible, and completes it if possible.
  bool advance(Section section, uint32_t queue, Stream &stream, HostData &host);
  Status execute(const QueuedTask &task, Stream &stream, HostData &host);
  /// Offset in the arena of the slot that is loaded or emitted.
  uint64_t offsetOf(const QueuedTask &task) const {
    return uint64_t(task.arguments[0] - arena->address());
  }
  Status load(const QueuedTask &task, HostData &host);
  Status emit(const QueuedTask &task, HostData &host);

  /// queueOf[section][instruction].
  std::vector<uint32_t> queueOf[kSections.size()];
  Status failure; ///< of the section that is run
  std::vector<std::byte> hostScalars;
  uint64_t rounds[kSections.size()] = {};
};

} // namespace pprt::polled

#endif // PPRT_ENGINE_POLLED_RANK_H
