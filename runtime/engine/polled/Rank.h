//===- Rank.h - one rank: its memory, its queues, its thread's work -*- C++ -*//
//
// SPDX-License-Identifier: Apache-2.0
//
// In: the program of one rank, with every slot, kernel and comm op resolved
// beforehand. Out: its effects on the arena, and when each instruction ran.
//
// One thread walks all queues: communication first, so that nobody waits for
// this rank longer than one kernel takes, then one kernel. What runs therefore
// never depends on what another queue of the rank is blocked on, which is the
// independence of queues that the deadlock check assumes.
//
//===----------------------------------------------------------------------===//
#ifndef PPRT_ENGINE_POLLED_RANK_H
#define PPRT_ENGINE_POLLED_RANK_H

#include "../../collectives/inprocess/Event.h"
#include "../Executor.h"

namespace pprt::polled {

/// Tells ranks to leave their section: each asks before it looks for work.
/// Whoever changes the answer wakes the ranks' events afterwards.
class Cancellation {
public:
  virtual ~Cancellation() = default;
  virtual bool isRequested() const = 0;
};

/// Who takes part in a comm op, and with which instruction of the section, in
/// member order; for the hang report.
struct CommOp {
  Section section;
  std::vector<uint32_t> ranks, indices;
};

/// One instruction of one rank.
struct QueuedTask : Task {
  QueuedTask(Task task, uint32_t index) : Task(std::move(task)), index(index) {}

  uint32_t index;                 ///< in the section's list
  const CommOp *commOp = nullptr; ///< if it meets others
  Ticket ticket = 0;              ///< the transport's, of the comm op
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
  /// By its index in the section's list.
  QueuedTask &task(Section section, uint32_t index);

  /// Runs a section to its end, or until `cancellation` is requested, or the
  /// host or the transport fails. `spins`: see Event.
  Status run(Section section, int64_t step, Stream &stream, HostData &host,
             const Cancellation &cancellation, uint32_t spins);

  /// Wakes the thread if it waits.
  const std::shared_ptr<inprocess::Event> event =
      std::make_shared<inprocess::Event>();
  PolledTransport *transport = nullptr; ///< if it meets others
  /// tasks[section][queue] in list order.
  std::vector<std::vector<QueuedTask>> tasks[kSections.size()];

  // Read by the watchdog at any time.
  std::vector<QueueState> queues;
  std::atomic<int> section{-1}; ///< the section being run, or -1
  std::atomic<uint64_t> progress{0};
  /// Counts the ends of calls that compute or move: odd inside of one.
  std::atomic<uint64_t> calls{0};

private:
  bool waitsHold(const ppx::InstructionT &instruction) const;
  /// Starts the head of the queue if it may, and completes it if it can.
  bool advance(Section section, uint32_t queue, Stream &stream, HostData &host);
  Status execute(const QueuedTask &task, Stream &stream, HostData &host);
  /// Of the slot that is loaded or emitted, in the arena.
  uint64_t offsetOf(const QueuedTask &task) const {
    return uint64_t(task.arguments[0] - arena->address());
  }
  Status load(const QueuedTask &task, HostData &host);
  Status emit(const QueuedTask &task, HostData &host);

  Status failure; ///< of the section that is run
  std::vector<std::byte> hostScalars;
  uint64_t rounds[kSections.size()] = {};
};

} // namespace pprt::polled

#endif // PPRT_ENGINE_POLLED_RANK_H
