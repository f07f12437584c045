//===- Executor.cpp - runs a program on the threads of one process --------===//
//
// SPDX-License-Identifier: Apache-2.0
//
//===----------------------------------------------------------------------===//
#include "Executor.h"
#include "../../collectives/inprocess/ThreadTransport.h"
#include "HangReport.h"
#include "OpenBlas.h"

#include <algorithm>
#include <chrono>
#include <limits>
#include <unistd.h>

using namespace pprt;
using namespace pprt::cpu;

/// About the time a futex wake-up takes; longer waits are worth a sleep.
static constexpr uint32_t kSpins = 4000;
/// How long a failed section waits for ranks that are inside a kernel.
static constexpr std::chrono::seconds kLeaving(1);
/// Bytes from which a kernel's rows are shared out over the team.
static constexpr double kParallelBytes = 1 << 16;

static Status resolveKernels(const ppx::ArtifactT &artifact,
                             const ExecutorOptions &options,
                             std::vector<ResolvedKernel> &kernels) {
  for (const std::unique_ptr<ppx::KernelT> &kernel : artifact.kernels) {
    ResolvedKernel &resolved = kernels.emplace_back();
    if (const ppx::ContractionT *body = kernel->body.AsContraction()) {
      if (Status status = verifyContraction(*body); !status.ok())
        return Status(status.code(),
                      "kernel '" + kernel->name + "': " + status.message());
      resolved.contraction = Contraction::create(*body, options.threadsPerRank,
                                                 body->workspace_bytes);
      if (const Expected<OpenBlas> &library = openBlas();
          !resolved.contraction && !library)
        return library.status();
      if (!resolved.contraction)
        return Status(ExitCode::badArtifact,
                      "kernel '" + kernel->name + "' expects a workspace of " +
                          std::to_string(
                              Contraction::create(*body, 1)->workspaceBytes()) +
                          " bytes, got " +
                          std::to_string(body->workspace_bytes));
      continue;
    }
    const ppx::CompiledKernelT &body = *kernel->body.AsCompiledKernel();
    void *symbol = options.resolver ? options.resolver(body.symbol) : nullptr;
    if (!symbol)
      return Status(ExitCode::badArtifact,
                    "kernel '" + kernel->name + "' expects the symbol '" +
                        body.symbol + "', which is not there");
    resolved.function = reinterpret_cast<CompiledFunction>(symbol);
    resolved.rows = int64_t(body.rows);
    if (kernel->bytes >= kParallelBytes)
      resolved.threads = options.threadsPerRank;
    if (body.scratch_bytes == 0)
      continue;
    resolved.scratchBytes = body.scratch_bytes;
    resolved.workspace = kernel->parameters.size() - 1;
    resolved.threads = unsigned(
        std::min<uint64_t>(resolved.threads, kernel->parameters.back()->bytes /
                                                 body.scratch_bytes));
  }
  return {};
}

/// Shares the workspace out over the threads that run rows at the same time.
static void addScratch(Task &task) {
  const ResolvedKernel &kernel = *task.kernel;
  if (kernel.scratchBytes == 0)
    return;
  for (unsigned thread = 1; thread < kernel.threads; ++thread) {
    task.otherArguments.push_back(task.arguments);
    void *&own = task.otherArguments.back()[kernel.workspace];
    own = static_cast<std::byte *>(own) + thread * kernel.scratchBytes;
  }
}

/// Resolves the slots and kernels of a section's instructions.
static void addTasks(Rank &rank, Section section,
                     const std::vector<ResolvedKernel> &kernels) {
  const InstructionList &list = instructionsOf(rank.program, section);
  for (size_t i = 0; i < list.size(); ++i) {
    const ppx::InstructionT &instruction = *list[i];
    Task task;
    task.instruction = &instruction;
    task.index = uint32_t(i);
    for (uint32_t slot : instruction.arguments)
      task.arguments.push_back(rank.arena.data() +
                               rank.program.slots[slot]->offset);
    if (instruction.opcode == ppx::Opcode_run ||
        instruction.opcode == ppx::Opcode_gate) {
      task.kernel = &kernels[instruction.kernel];
      addScratch(task);
    }
    rank.tasks[size_t(section)][instruction.queue].push_back(std::move(task));
  }
}

static Status refusedThread() {
  return Status(ExitCode::device,
                "expects a thread for each rank and its team, which the system "
                "refuses; give fewer ranks or threads");
}

/// Bytes of memory that this machine has. The system grants arenas that exceed
/// it together, and kills the process when they are filled.
static uint64_t machineMemory() {
  const long pages = sysconf(_SC_PHYS_PAGES), size = sysconf(_SC_PAGE_SIZE);
  return pages > 0 && size > 0 ? uint64_t(pages) * uint64_t(size)
                               : std::numeric_limits<uint64_t>::max();
}

Expected<std::unique_ptr<Executor>>
Executor::create(std::shared_ptr<const ppx::ArtifactT> artifact,
                 const Mesh &mesh, const ExecutorOptions &options,
                 std::shared_ptr<HostData> host) {
  auto executor = std::make_unique<Executor>();
  executor->state = std::make_shared<State>();
  State &state = *executor->state;
  state.artifact = artifact;
  state.host = std::move(host);
  state.options = options;
  if (Status status = resolveKernels(*artifact, options, state.kernels);
      !status.ok())
    return status;

  const Ranks programs(*artifact, mesh);
  state.range = options.ranks.value_or(RankRange{0, mesh.worldSize()});
  uint64_t needed = 0;
  for (uint32_t index = state.range.begin; index < state.range.end; ++index) {
    const ppx::ProgramT &program = programs.program(index);
    auto rank = std::make_unique<Rank>(index, mesh, program);
    if (!rank->arena.allocate(program.arena_bytes))
      return Status(ExitCode::outOfMemory,
                    "rank " + std::to_string(index) + " expects " +
                        std::to_string(program.arena_bytes) +
                        " bytes of memory, which the system refuses");
    needed += rank->arena.size();
    for (Section section : kSections)
      addTasks(*rank, section, state.kernels);
    state.ranks.push_back(std::move(rank));
  }
  if (const uint64_t memory = machineMemory(); needed > memory)
    return Status(ExitCode::outOfMemory,
                  "expects arenas of at most " + std::to_string(memory) +
                      " bytes in all, the memory of this machine, got " +
                      std::to_string(needed) + " bytes for " +
                      std::to_string(state.range.size()) +
                      " ranks; give a smaller model or batch");
  state.transport = options.transport
                        ? options.transport
                        : std::make_shared<inprocess::ThreadTransport>();
  for (std::unique_ptr<Rank> &rank : state.ranks)
    rank->transport = state.transport.get();
  Expected<MeetingList> meetings =
      prepareMeetings(programs, state.range, state.ranks, *state.transport);
  if (!meetings)
    return meetings.status();
  state.meetings = std::move(*meetings);
  if (!options.transport)
    if (Status status = state.transport->connect(); !status.ok())
      return status;

  // The threads poison their arenas first; the executor is ready when all have.
  state.running = state.ranks.size();
  for (uint32_t index = 0; index < state.ranks.size(); ++index)
    if (!executor->threads.emplace_back().start(
            [shared = executor->state, index] { rankThread(shared, index); }))
      return refusedThread();
  {
    std::unique_lock<std::mutex> lock(state.mutex);
    state.changed.wait(lock, [&] { return state.running == 0; });
    if (!state.failure.ok())
      return state.failure;
  }
  // Not before: poisoning completes no instruction, however long it takes.
  if (options.hangTimeoutSeconds > 0 &&
      !executor->threads.emplace_back().start(
          [shared = executor->state] { watchdogThread(shared); }))
    return refusedThread();
  return executor;
}

Executor::~Executor() {
  if (!state)
    return;
  {
    std::lock_guard<std::mutex> lock(state->mutex);
    state->quit = true;
  }
  state->changed.notify_all();
  for (Thread &thread : threads)
    if (stuck)
      thread.detach();
    else
      thread.join();
}

std::byte *Executor::slot(uint32_t rank, uint32_t slot) {
  Rank &owner = this->rank(rank);
  return owner.arena.data() + owner.program.slots[slot]->offset;
}

Status Executor::run(Section section, int64_t step) {
  std::unique_lock<std::mutex> lock(state->mutex);
  if (!state->failure.ok())
    return state->failure;
  state->section = section;
  state->step = step;
  state->running = state->ranks.size();
  ++state->command;
  state->changed.notify_all();
  state->changed.wait(
      lock, [&] { return state->running == 0 || !state->failure.ok(); });
  // Ranks that only wait leave at once; one inside a kernel may never.
  state->changed.wait_for(lock, kLeaving, [&] { return state->running == 0; });
  stuck = state->running != 0;
  return state->failure;
}

void Executor::State::fail(const Status &status) {
  {
    std::lock_guard<std::mutex> lock(mutex);
    if (failure.ok())
      failure = status;
  }
  cancellation.isSet.store(true, std::memory_order_relaxed);
  for (std::unique_ptr<Rank> &rank : ranks)
    rank->event.wake();
  transport->abort(status);
  changed.notify_all();
}

uint64_t Executor::State::progress() const {
  uint64_t sum = 0;
  for (const std::unique_ptr<Rank> &rank : ranks)
    sum += rank->progress.load(std::memory_order_relaxed);
  return sum;
}

void Executor::rankThread(std::shared_ptr<State> state, uint32_t index) {
  Rank &rank = *state->ranks[index];
  const uint32_t spins = state->options.spin ? kSpins : 0;
  Team team(state->options.threadsPerRank, spins, &rank.allocations);
  if (team.size() < state->options.threadsPerRank)
    state->fail(refusedThread());
  rank.arena.poison(team);
  uint64_t seen = 0;
  std::unique_lock<std::mutex> lock(state->mutex);
  while (true) {
    if (--state->running == 0)
      state->changed.notify_all();
    state->changed.wait(lock,
                        [&] { return state->quit || state->command != seen; });
    if (state->quit)
      return;
    seen = state->command;
    const Section section = state->section;
    const int64_t step = state->step;
    lock.unlock();
    if (Status status = rank.run(section, step, team, *state->host,
                                 state->cancellation, spins);
        !status.ok())
      state->fail(status);
    lock.lock();
  }
}

void Executor::watchdogThread(std::shared_ptr<State> state) {
  using Clock = std::chrono::steady_clock;
  const std::chrono::duration<double> timeout(
      state->options.hangTimeoutSeconds);
  uint64_t command = 0, progress = 0;
  Clock::time_point since = Clock::now();
  std::unique_lock<std::mutex> lock(state->mutex);
  while (!state->quit) {
    state->changed.wait_for(lock, timeout / 8);
    const uint64_t now = state->progress();
    if (state->running == 0 || command != state->command || progress != now) {
      command = state->command;
      progress = now;
      since = Clock::now();
      continue;
    }
    const std::chrono::duration<double> idle = Clock::now() - since;
    if (idle < timeout || !state->failure.ok())
      continue;
    const int64_t step = state->step;
    lock.unlock();
    state->fail(
        Status(ExitCode::hang, hangReport(state->ranks, step, idle.count())));
    lock.lock();
  }
}
