//===- Rank.cpp - one rank: its memory, its queues, its thread's work -----===//
//
// SPDX-License-Identifier: Apache-2.0
//
//===----------------------------------------------------------------------===//
#include "Rank.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <ctime>

using namespace pprt;
using namespace pprt::cpu;

static int64_t nanoseconds(clockid_t clock) {
  timespec time;
  clock_gettime(clock, &time);
  return int64_t(time.tv_sec) * 1'000'000'000 + time.tv_nsec;
}

/// Adds the time between construction and destruction to an instruction.
namespace {
class Stopwatch {
public:
  explicit Stopwatch(InstructionTime &time)
      : time(time), cpu(nanoseconds(CLOCK_THREAD_CPUTIME_ID)) {}
  ~Stopwatch() { time.cpu += nanoseconds(CLOCK_THREAD_CPUTIME_ID) - cpu; }

private:
  InstructionTime &time;
  int64_t cpu;
};
} // namespace

Rank::Rank(uint32_t index, const Mesh &mesh, const ppx::ProgramT &program)
    : index(index), program(program), queues(program.queues.size()) {
  for (Section section : kSections) {
    tasks[size_t(section)].resize(program.queues.size());
    times[size_t(section)].resize(instructionsOf(program, section).size());
  }
  for (uint32_t coordinate : mesh.coordinates(index))
    scalars.push_back(coordinate);
  scalars.resize(scalars.size() + 2); // micro-batch, step
}

bool Rank::waitsHold(const ppx::InstructionT &instruction) const {
  for (const ppx::Wait &wait : instruction.waits)
    if (queues[wait.queue()].done.load(std::memory_order_relaxed) <
        wait.count())
      return false;
  return true;
}

template <typename T> static bool allFinite(const void *data, uint64_t bytes) {
  const T *values = static_cast<const T *>(data);
  // A sum of x - x: zero for finite elements, NaN for the others.
  T sum = 0;
  for (uint64_t i = 0; i < bytes / sizeof(T); ++i)
    sum += values[i] - values[i];
  return sum == 0;
}

static bool allFinite(const ppx::SlotT &slot, const void *data) {
  switch (slot.element) {
  case ppx::ElementType_f32:
    return allFinite<float>(data, slot.bytes);
  case ppx::ElementType_f64:
    return allFinite<double>(data, slot.bytes);
  case ppx::ElementType_bf16: {
    const auto *values = static_cast<const uint16_t *>(data);
    bool finite = true;
    for (uint64_t i = 0; i < slot.bytes / sizeof(uint16_t); ++i)
      finite &= (values[i] & 0x7f80) != 0x7f80;
    return finite;
  }
  default:
    return true;
  }
}

void Rank::launch(const Task &task, Team &team) {
  const ResolvedKernel &kernel = *task.kernel;
  void *const *arguments = task.arguments.data();
  if (kernel.contraction)
    return kernel.contraction->run(arguments, team);
  scalars[scalars.size() - 2] = task.instruction->micro_batch;
  const unsigned threads = std::min(kernel.threads, team.size());
  if (threads == 1)
    return kernel.function(arguments, scalars.data(), 0, kernel.rows);
  team.run([&](unsigned thread) {
    const int64_t begin = kernel.rows * thread / threads;
    const int64_t end = kernel.rows * (thread + 1) / threads;
    if (thread >= threads || begin == end)
      return;
    const bool hasOwn = thread > 0 && kernel.scratchBytes > 0;
    kernel.function(hasOwn ? task.otherArguments[thread - 1].data() : arguments,
                    scalars.data(), begin, end);
  });
}

Status Rank::execute(const Task &task, Team &team, HostData &host) {
  const ppx::InstructionT &instruction = *task.instruction;
  switch (instruction.opcode) {
  case ppx::Opcode_run:
    launch(task, team);
    break;
  case ppx::Opcode_gate:
    if (*static_cast<const int32_t *>(task.arguments.back()) == 0)
      launch(task, team);
    break;
  case ppx::Opcode_copy:
    std::memcpy(task.arguments[1], task.arguments[0],
                program.slots[instruction.arguments[0]]->bytes);
    break;
  case ppx::Opcode_load:
    return host.load(index, instruction,
                     static_cast<std::byte *>(task.arguments[0]));
  case ppx::Opcode_emit:
    host.emit(index, instruction,
              static_cast<const std::byte *>(task.arguments[0]));
    break;
  case ppx::Opcode_flag: {
    bool finite = true;
    for (size_t i = 0; i + 1 < task.arguments.size(); ++i)
      finite &= allFinite(*program.slots[instruction.arguments[i]],
                          task.arguments[i]);
    *static_cast<int32_t *>(task.arguments.back()) = finite ? 0 : 1;
    break;
  }
  case ppx::Opcode_step: // its waits are all there is to it
  case ppx::Opcode_send: // these are the transport's
  case ppx::Opcode_recv:
  case ppx::Opcode_collective:
    break;
  }
  return {};
}

bool Rank::advance(Section section, uint32_t queue, Team &team,
                   HostData &host) {
  QueueState &state = queues[queue];
  const uint32_t done = state.done.load(std::memory_order_relaxed);
  const std::vector<Task> &list = tasks[size_t(section)][queue];
  if (done == list.size() || !failure.ok())
    return false;
  const Task &task = list[done];
  InstructionTime &time = times[size_t(section)][task.index];
  const uint64_t round = rounds[size_t(section)];
  if (!state.started.load(std::memory_order_relaxed)) {
    if (!waitsHold(*task.instruction))
      return false;
    time.begin = nanoseconds(CLOCK_MONOTONIC);
    time.cpu = 0;
    state.started.store(true, std::memory_order_relaxed);
    if (task.meeting)
      transport->start(task.ticket, round);
  }
  if (task.meeting) {
    if (!transport->ready(task.ticket, round))
      return false;
    Stopwatch stopwatch(time);
    if (transport->test(task.ticket, round) != Progress::complete)
      return false;
  } else {
    Stopwatch stopwatch(time);
    failure = execute(task, team, host);
    if (!failure.ok())
      return false;
  }
  time.end = nanoseconds(CLOCK_MONOTONIC);
  state.started.store(false, std::memory_order_relaxed);
  state.done.store(done + 1, std::memory_order_relaxed);
  progress.fetch_add(1, std::memory_order_relaxed);
  return true;
}

Status Rank::run(Section which, int64_t step, Team &team, HostData &host,
                 const Cancellation &cancellation, uint32_t spins) {
  const auto &lists = tasks[size_t(which)];
  size_t remaining = 0;
  for (uint32_t queue = 0; queue < queues.size(); ++queue) {
    queues[queue].done.store(0, std::memory_order_relaxed);
    queues[queue].started.store(false, std::memory_order_relaxed);
    remaining += lists[queue].size();
  }
  scalars.back() = step;
  attributeAllocations(&allocations);
  section.store(int(which), std::memory_order_relaxed);
  while (remaining > 0 && failure.ok()) {
    // Before everything that a wake tells of, the cancellation among
    // it: what comes later ends the wait below.
    const uint32_t seen = event.count();
    if (cancellation.isRequested())
      break;
    size_t completed = 0;
    for (uint32_t queue = 0; queue < queues.size(); ++queue)
      if (program.queues[queue]->kind != ppx::QueueKind_compute)
        while (advance(which, queue, team, host))
          ++completed;
    for (uint32_t queue = 0; queue < queues.size(); ++queue)
      if (program.queues[queue]->kind == ppx::QueueKind_compute &&
          advance(which, queue, team, host))
        ++completed;
    remaining -= completed;
    if (completed != 0 || remaining == 0 || !failure.ok())
      continue;
    if (transport)
      failure = transport->poll();
    if (failure.ok())
      event.wait(seen, spins);
  }
  section.store(-1, std::memory_order_relaxed);
  attributeAllocations(nullptr);
  ++rounds[size_t(which)];
  return failure;
}
