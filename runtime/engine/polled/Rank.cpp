//===- Rank.cpp - one rank: its memory, its queues, its thread's work -----===//
//
// SPDX-License-Identifier: Apache-2.0
//
//===----------------------------------------------------------------------===//
#include "Rank.h"

#include <algorithm>
#include <ctime>

using namespace pprt;
using namespace pprt::polled;

static int64_t nanoseconds(clockid_t clock) {
  timespec time;
  clock_gettime(clock, &time);
  return int64_t(time.tv_sec) * 1'000'000'000 + time.tv_nsec;
}

namespace {
/// Alive while a rank computes or moves data, and does not wait.
class Inside {
public:
  explicit Inside(std::atomic<uint64_t> &calls) : calls(calls) { count(); }
  ~Inside() { count(); }

private:
  // Only one thread writes it.
  void count() {
    calls.store(calls.load(std::memory_order_relaxed) + 1,
                std::memory_order_relaxed);
  }
  std::atomic<uint64_t> &calls;
};
/// Adds the time between construction and destruction to an instruction.
class Stopwatch {
public:
  explicit Stopwatch(InstructionTime &time)
      : time(time), cpu(nanoseconds(CLOCK_THREAD_CPUTIME_ID)) {}
  ~Stopwatch() { time.cpu += nanoseconds(CLOCK_THREAD_CPUTIME_ID) - cpu; }

private:
  InstructionTime &time;
  int64_t cpu;
};
/// Alive while a transport works on the thread of a rank: its heap memory does
/// not count as the rank's.
class OfTransport {
public:
  OfTransport() : counter(attributedAllocations()) {
    attributeAllocations(nullptr);
  }
  ~OfTransport() { attributeAllocations(counter); }

private:
  AllocationCounter *const counter;
};
} // namespace

Rank::Rank(uint32_t index, const Mesh &mesh, const ppx::ProgramT &program,
           Staging staging)
    : LocalRank(index, mesh, program, std::move(staging)),
      queues(program.queues.size()), hostScalars(scalars.bytes()) {
  for (Section section : kSections)
    tasks[size_t(section)].resize(program.queues.size());
}

void Rank::addTasks(const Kernels &kernels, Device &device) {
  for (Section section : kSections) {
    const InstructionList list(program, section);
    for (uint32_t i = 0; i < list.size(); ++i) {
      const uint32_t queue = list[i]->queue;
      queueOf[size_t(section)].push_back(queue);
      tasks[size_t(section)][queue].emplace_back(
          makeTask(list[i], kernels, device), list.waits(i), i);
    }
  }
}

/// The tasks of a queue are in the order of the list.
QueuedTask &Rank::task(Section section, uint32_t index) {
  const uint32_t queue = queueOf[size_t(section)][index];
  std::vector<QueuedTask> &list = tasks[size_t(section)][queue];
  return *std::lower_bound(list.begin(), list.end(), index,
                           [](const QueuedTask &task, uint32_t wanted) {
                             return task.index < wanted;
                           });
}

bool Rank::waitsHold(const std::vector<ppx::Wait> &waits) const {
  for (const ppx::Wait &wait : waits)
    if (queues[wait.queue()].done.load(std::memory_order_relaxed) <
        wait.count())
      return false;
  return true;
}

// A device that keeps no values has none to load or emit. Passing the callable
// by reference avoids the heap.
Status Rank::load(const QueuedTask &task, HostData &host) {
  Status loaded;
  const auto load = [&](std::byte *slot) {
    loaded = host.load(index, task.instruction, slot);
  };
  const Status written =
      arena->fill(offsetOf(task), task.bytes(), std::ref(load));
  return loaded.ok() ? written : loaded;
}

Status Rank::emit(const QueuedTask &task, HostData &host) {
  const auto emit = [&](const std::byte *slot) {
    host.emit(index, task.instruction, slot);
  };
  return arena->visit(offsetOf(task), task.bytes(), std::ref(emit));
}

Status Rank::execute(const QueuedTask &task, Stream &stream, HostData &host) {
  if (task.instruction->opcode == ppx::Opcode_load)
    return load(task, host);
  if (task.instruction->opcode == ppx::Opcode_emit)
    return emit(task, host);
  return task.give(stream);
}

bool Rank::advance(Section section, uint32_t queue, Stream &stream,
                   HostData &host) {
  QueueState &state = queues[queue];
  const uint32_t done = state.done.load(std::memory_order_relaxed);
  const std::vector<QueuedTask> &list = tasks[size_t(section)][queue];
  if (done == list.size() || !failure.ok())
    return false;
  const QueuedTask &task = list[done];
  InstructionTime &time = times[size_t(section)][task.index];
  const uint64_t round = rounds[size_t(section)];
  if (!state.started.load(std::memory_order_relaxed)) {
    if (!waitsHold(task.waits))
      return false;
    time.begin = nanoseconds(CLOCK_MONOTONIC);
    time.cpu = 0;
    state.started.store(true, std::memory_order_relaxed);
    if (task.commOp) {
      const Inside call(calls);
      const OfTransport scope;
      transport->start(task.ticket, round);
    }
  }
  if (task.commOp) {
    if (!transport->ready(task.ticket, round))
      return false;
    const Inside call(calls);
    Stopwatch stopwatch(time);
    if (transport->test(task.ticket, round) != Progress::complete)
      return false;
  } else {
    const Inside call(calls);
    Stopwatch stopwatch(time);
    failure = execute(task, stream, host);
    if (!failure.ok())
      return false;
  }
  time.end = nanoseconds(CLOCK_MONOTONIC);
  state.started.store(false, std::memory_order_relaxed);
  state.done.store(done + 1, std::memory_order_relaxed);
  progress.fetch_add(1, std::memory_order_relaxed);
  return true;
}

Status Rank::run(Section which, int64_t step, Stream &stream, HostData &host,
                 const Cancellation &cancellation, uint32_t spins) {
  const auto &lists = tasks[size_t(which)];
  size_t remaining = 0;
  for (uint32_t queue = 0; queue < queues.size(); ++queue) {
    queues[queue].done.store(0, std::memory_order_relaxed);
    queues[queue].started.store(false, std::memory_order_relaxed);
    remaining += lists[queue].size();
  }
  if (failure.ok())
    failure = scalars.setStep(stream, step, hostScalars.data());
  attributeAllocations(&allocations);
  section.store(int(which), std::memory_order_relaxed);
  while (remaining > 0 && failure.ok()) {
    // Read before every condition that a wake-up reports, the cancellation
    // included: a later wake-up ends the wait below.
    const uint32_t seen = event->count();
    if (cancellation.isRequested())
      break;
    size_t completed = 0;
    for (uint32_t queue = 0; queue < queues.size(); ++queue)
      if (program.queues[queue]->kind != ppx::QueueKind_compute)
        while (advance(which, queue, stream, host))
          ++completed;
    for (uint32_t queue = 0; queue < queues.size(); ++queue)
      if (program.queues[queue]->kind == ppx::QueueKind_compute &&
          advance(which, queue, stream, host))
        ++completed;
    remaining -= completed;
    if (completed != 0 || remaining == 0 || !failure.ok())
      continue;
    if (transport)
      failure = transport->poll();
    if (!failure.ok())
      break;
    if (transport && spins > 0) {
      const OfTransport scope;
      transport->help([&] { return event->count() != seen; });
    }
    event->wait(seen, spins);
  }
  section.store(-1, std::memory_order_relaxed);
  attributeAllocations(nullptr);
  ++rounds[size_t(which)];
  return failure;
}
