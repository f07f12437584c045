//===- PolledExecutor.cpp - a thread per rank looks for work --------------===//
//
// SPDX-License-Identifier: Apache-2.0
//
//===----------------------------------------------------------------------===//
#include "PolledExecutor.h"
#include "HangReport.h"
#include "pprt/World.h"

#include <algorithm>
#include <chrono>

using namespace pprt;
using namespace pprt::polled;

/// How long a failed section waits for ranks that are inside a kernel.
static constexpr std::chrono::seconds kLeaving(1);
/// How often at least the watchdog asks for an interruption and for failures
/// elsewhere, and how long nothing has to happen for the first to end a
/// section.
static constexpr std::chrono::duration<double> kAsking(0.25), kBlocked(2);

static void addTasks(Rank &rank, Section section, Device &device,
                     const Kernels &kernels) {
  const InstructionList &list = instructionsOf(rank.program, section);
  for (size_t i = 0; i < list.size(); ++i) {
    QueuedTask task(rank.program, *list[i], rank.arena->address(), rank.scalars,
                    kernels, device);
    task.index = uint32_t(i);
    rank.tasks[size_t(section)][list[i]->queue].push_back(std::move(task));
  }
}

Expected<std::unique_ptr<PolledExecutor>>
PolledExecutor::create(std::shared_ptr<const ppx::ArtifactT> artifact,
                       const Mesh &mesh, const Options &options,
                       std::shared_ptr<HostData> host) {
  auto executor = std::make_unique<PolledExecutor>();
  executor->state = std::make_shared<State>(artifact, mesh);
  State &state = *executor->state;
  state.host = std::move(host);
  state.options = options;
  Device &device = *options.device;
  Expected<Kernels> kernels = prepareKernels(*artifact, device);
  if (!kernels)
    return kernels.status();
  state.kernels = std::move(*kernels);

  const Ranks programs(*artifact, mesh);
  state.range = options.ranks.value_or(RankRange{0, mesh.worldSize()});
  state.transport = options.transport;
  if (!state.transport) {
    Expected<std::unique_ptr<Transport>> created =
        device.transport(*thisProcess(), mesh.worldSize());
    if (!created)
      return created.status();
    state.transport.reset(static_cast<PolledTransport *>(created->release()));
  }
  std::vector<Staging> staging =
      layOutStaging(programs, state.range, state.transport->model());
  for (uint32_t index = state.range.begin; index < state.range.end; ++index) {
    const ppx::ProgramT &program = programs.program(index);
    auto rank = std::make_unique<Rank>(index, mesh, program);
    rank->staging = std::move(staging[index - state.range.begin]);
    auto arena = device.allocateArena(rank->staging.end);
    if (!arena)
      return refuseMemory(arena.status(), index, rank->staging.end);
    rank->arena = std::move(*arena);
    if (Status status = rank->scalars.allocate(device); !status.ok())
      return refuseMemory(status, index, rank->scalars.bytes());
    for (Section section : kSections)
      addTasks(*rank, section, device, state.kernels);
    state.ranks.push_back(std::move(rank));
  }
  for (std::unique_ptr<Rank> &rank : state.ranks)
    rank->transport = state.transport.get();
  Expected<CommOpList> commOps =
      prepareCommOps(programs, state.range, state.ranks, *state.transport);
  if (!commOps)
    return commOps.status();
  state.commOps = std::move(*commOps);
  if (!options.transport)
    if (Status status = state.transport->connect(); !status.ok())
      return status;

  state.transport->watch(executor->state);

  // The threads have their arenas filled first; the executor is ready when all
  // have.
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
  // Not before: filling completes no instruction, however long it takes.
  if ((options.hangTimeoutSeconds > 0 || options.isInterrupted) &&
      !executor->threads.emplace_back().start(
          [shared = executor->state] { watchdogThread(shared); }))
    return refusedThread();
  return executor;
}

PolledExecutor::~PolledExecutor() {
  if (!state)
    return;
  // A transport that held the state last would end it, and so itself.
  if (state->transport)
    state->transport->watch({});
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

Status
PolledExecutor::readSlot(uint32_t rank, uint32_t slot,
                         const std::function<void(const std::byte *)> &visit) {
  const Rank &owner = this->rank(rank);
  const ppx::SlotT &its = *owner.program.slots[slot];
  return owner.arena->visit(its.offset, its.bytes, visit);
}

Status PolledExecutor::writeSlot(uint32_t rank, uint32_t slot,
                                 const std::function<void(std::byte *)> &fill) {
  const Rank &owner = this->rank(rank);
  const ppx::SlotT &its = *owner.program.slots[slot];
  return owner.arena->fill(its.offset, its.bytes, fill);
}

uint64_t PolledExecutor::peakBytes(uint32_t rank) const {
  const Rank &its = this->rank(rank);
  return its.arena->writtenBytes() +
         uint64_t(std::max<int64_t>(0, its.allocations.peak));
}

Status PolledExecutor::wait() {
  const std::lock_guard<std::mutex> lock(state->mutex);
  return state->failure;
}

Status PolledExecutor::submit(Section section, int64_t step) {
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

void PolledExecutor::State::fail(const Status &status) {
  {
    std::lock_guard<std::mutex> lock(mutex);
    if (failure.ok())
      failure = status;
  }
  cancellation.isSet.store(true, std::memory_order_relaxed);
  for (std::unique_ptr<Rank> &rank : ranks)
    rank->event->wake();
  transport->abort(status);
  changed.notify_all();
}

uint64_t PolledExecutor::State::progress() const {
  uint64_t sum = transport->progress();
  for (const std::unique_ptr<Rank> &rank : ranks)
    sum += rank->progress.load(std::memory_order_relaxed);
  return sum;
}

void PolledExecutor::rankThread(std::shared_ptr<State> state, uint32_t index) {
  Rank &rank = *state->ranks[index];
  const uint32_t spins = state->options.spin ? inprocess::Event::kSpins : 0;
  Expected<std::unique_ptr<Stream>> stream =
      state->options.device->stream(*rank.arena, rank.allocations);
  if (!stream)
    state->fail(stream.status());
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
    if (Status status = rank.run(section, step, **stream, *state->host,
                                 state->cancellation, spins);
        !status.ok())
      state->fail(status);
    lock.lock();
  }
}

bool PolledExecutor::State::moves() {
  const uint64_t now = progress();
  bool moves = command != seenCommand || now != seenProgress;
  seenCommand = command;
  seenProgress = now;
  seenCalls.resize(ranks.size());
  for (size_t i = 0; i < ranks.size(); ++i) {
    const uint64_t calls = ranks[i]->calls.load(std::memory_order_relaxed);
    // Whoever looks for work is inside of short ones at times.
    moves |= calls % 2 != 0 && calls == seenCalls[i];
    seenCalls[i] = calls;
  }
  return moves;
}

Standstill PolledExecutor::State::standstill(uint64_t number) {
  std::lock_guard<std::mutex> lock(mutex);
  const bool isThere = number == 0 ? running > 0 : command == number;
  if (!isThere || seenCommand != command || seenProgress != progress() ||
      !failure.ok())
    return {};
  const std::chrono::duration<double> idle =
      std::chrono::steady_clock::now() - since;
  return {idle.count(), packStates(statesOf(ranks))};
}

void PolledExecutor::State::end(
    ExitCode why, double seconds,
    const std::vector<std::vector<std::byte>> &all) {
  std::vector<RankState> states;
  for (const std::vector<std::byte> &its : all)
    unpackStates(its, states);
  std::unique_lock<std::mutex> lock(mutex);
  const int64_t step = this->step;
  lock.unlock();
  fail(Status(why,
              why == ExitCode::interrupted
                  ? "interrupted in step " + std::to_string(step + 1) +
                        ", which made no progress"
                  : hangReport(Ranks(*artifact, mesh), states, step, seconds)));
}

void PolledExecutor::watchdogThread(std::shared_ptr<State> state) {
  using Clock = std::chrono::steady_clock;
  const auto &isInterrupted = state->options.isInterrupted;
  // Clocks end in some 290 years.
  std::chrono::duration<double> timeout(
      std::min(state->options.hangTimeoutSeconds, 1e9));
  const auto pause =
      timeout.count() > 0
          ? std::min<std::chrono::duration<double>>(timeout / 8, kAsking)
          : kAsking;
  if (timeout.count() <= 0)
    timeout = timeout.max();
  std::unique_lock<std::mutex> lock(state->mutex);
  Clock::time_point asked = state->since = Clock::now();
  while (!state->quit) {
    state->changed.wait_for(lock, pause);
    const Clock::time_point now = Clock::now();
    // A rank inside a kernel does not hear of it.
    if (const Status status = state->transport->poll();
        !status.ok() && state->failure.ok()) {
      lock.unlock();
      state->fail(status);
      lock.lock();
    }
    if (state->moves()) {
      state->since = now;
      continue;
    }
    // What has ended waits for nobody, but others may wait in the section.
    if (state->running == 0 || !state->failure.ok())
      continue;
    const std::chrono::duration<double> idle = now - state->since;
    Suspicion its = {ExitCode::interrupted, state->command, kBlocked.count()};
    if (idle < kBlocked || !isInterrupted || !isInterrupted()) {
      if (idle < timeout || now - asked < timeout / 8)
        continue;
      asked = now;
      its.why = ExitCode::hang;
      its.seconds = timeout.count();
    }
    lock.unlock();
    if (!state->transport->suspect(its))
      state->end(its.why, idle.count(), {packStates(statesOf(state->ranks))});
    lock.lock();
  }
}
