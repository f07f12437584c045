//===- PolledExecutor.cpp - a thread per rank looks for work --------------===//
//
// SPDX-License-Identifier: Apache-2.0
//
//===----------------------------------------------------------------------===//
#include "PolledExecutor.h"
#include "../Devices.h"
#include "HangReport.h"

#include <algorithm>
#include <chrono>

using namespace pprt;
using namespace pprt::polled;

/// Time that a failed section waits for ranks inside a kernel.
static constexpr std::chrono::seconds kThreadsLeave(1);
/// Longest interval between the watchdog's checks for an interruption and for
/// failures elsewhere.
static constexpr std::chrono::duration<double> kAskAgain(0.25);

/// Prepares the device's memory and kernels, and the transport.
Status PolledExecutor::State::prepare() {
  Expected<Kernels> prepared = prepareKernels(*artifact, *device);
  if (!prepared)
    return prepared.status();
  kernels = std::move(*prepared);
  const Ranks programs(*artifact, mesh);
  auto made =
      makeRanks<Rank>(programs, options.ranks, transport->model(), *device);
  if (!made)
    return made.status();
  ranks = std::move(*made);
  for (std::unique_ptr<Rank> &rank : ranks) {
    rank->addTasks(kernels, *device);
    rank->transport = transport.get();
  }
  Status status;
  for (Section section : kSections)
    if (status.ok())
      status = forEachCommOp(
          programs, options.ranks, section,
          [&](const CommOpHere &commOp) { return prepareCommOp(commOp); });
  return status;
}

Status PolledExecutor::State::prepareCommOp(const CommOpHere &its) {
  auto commOp = std::make_unique<CommOp>();
  commOp->section = its.section;
  commOp->ranks = its.ranks;
  for (uint32_t member = 0; member < its.ranks.size(); ++member)
    commOp->indices.push_back(its.index(member));
  const Participant all = its.participant();
  for (uint32_t member = 0; member < its.ranks.size(); ++member) {
    if (!options.ranks.contains(its.ranks[member]))
      continue;
    Rank &rank = *ranks[its.ranks[member] - options.ranks.begin];
    QueuedTask &task = rank.task(its.section, commOp->indices[member]);
    Participant participant = rank.take(all, member, task);
    participant.waker = rank.event;
    const Expected<Ticket> ticket = transport->prepare(std::move(participant));
    if (!ticket)
      return ticket.status();
    task.commOp = commOp.get();
    task.ticket = *ticket;
  }
  commOps.push_back(std::move(commOp));
  return {};
}

Expected<std::unique_ptr<PolledExecutor>>
PolledExecutor::create(std::shared_ptr<const ppx::ArtifactT> artifact,
                       const Mesh &mesh, std::shared_ptr<PolledDevice> device,
                       std::shared_ptr<PolledTransport> transport,
                       const ExecutorOptions &options,
                       std::shared_ptr<HostData> host) {
  auto executor = std::make_unique<PolledExecutor>();
  executor->state = std::make_shared<State>(std::move(artifact), mesh);
  State &state = *executor->state;
  state.host = std::move(host);
  state.options = options;
  state.device = std::move(device);
  state.transport = std::move(transport);
  if (Status status = state.prepare(); !status.ok())
    return status;

  state.transport->watch(executor->state);

  // The threads fill their arenas first; the executor is ready when all have
  // done so.
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
  // Not earlier: filling completes no instruction, however long it takes.
  if ((options.limits.hangSeconds > 0 || options.limits.isInterrupted) &&
      !executor->threads.emplace_back().start(
          [shared = executor->state] { watchdogThread(shared); }))
    return refusedThread();
  return executor;
}

PolledExecutor::~PolledExecutor() {
  if (!state)
    return;
  // A transport with the last reference would destroy the state and itself.
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
  // Ranks that only wait leave at once; one inside a kernel may never leave.
  state->changed.wait_for(lock, kThreadsLeave,
                          [&] { return state->running == 0; });
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
      state->device->stream(*rank.arena, rank.allocations);
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
    // A thread that looks for work makes short calls at times.
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
                  ? describeInterruption(step)
                  : hangReport(Ranks(*artifact, mesh), states, step, seconds)));
}

void PolledExecutor::watchdogThread(std::shared_ptr<State> state) {
  using Clock = std::chrono::steady_clock;
  const Limits &limits = state->options.limits;
  // Limited because clocks overflow after some 290 years.
  const std::chrono::duration<double> often(std::min(limits.hangSeconds, 1e9) /
                                            8);
  const auto pause = often.count() > 0 ? std::min(often, kAskAgain) : kAskAgain;
  std::unique_lock<std::mutex> lock(state->mutex);
  Clock::time_point asked = state->since = Clock::now();
  while (!state->quit) {
    state->changed.wait_for(lock, pause);
    const Clock::time_point now = Clock::now();
    // A rank inside a kernel does not notice it.
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
    // After the section's end this process waits for none, but others may.
    if (state->running == 0 || !state->failure.ok())
      continue;
    const std::chrono::duration<double> idle = now - state->since;
    std::optional<Suspicion> its = limits.suspect(idle.count());
    if (!its || (its->why == ExitCode::hang && now - asked < often))
      continue;
    if (its->why == ExitCode::hang)
      asked = now;
    its->section = state->command;
    lock.unlock();
    if (!state->transport->suspect(*its))
      state->end(its->why, idle.count(), {packStates(statesOf(state->ranks))});
    lock.lock();
  }
}

//===----------------------------------------------------------------------===//
// A session's devices
//===----------------------------------------------------------------------===//

namespace {

class PolledDevices final : public Devices {
public:
  explicit PolledDevices(std::unique_ptr<PolledDevice> device)
      : its(std::move(device)) {}

  size_t count() const override { return 1; }
  Device &device(size_t) const override { return *its; }
  bool usesThreads() const override { return true; }
  Expected<TransportModel> meet(World &world, uint32_t worldSize) override {
    auto made = its->transport(world, worldSize);
    if (!made)
      return made.status();
    transport = std::move(*made);
    return transport->model();
  }
  Expected<std::unique_ptr<Executor>>
  makeExecutor(std::shared_ptr<const ppx::ArtifactT> artifact, const Mesh &mesh,
               const ExecutorOptions &options,
               std::shared_ptr<HostData> host) override {
    auto made = PolledExecutor::create(std::move(artifact), mesh, its,
                                       transport, options, std::move(host));
    if (!made)
      return made.status();
    return std::unique_ptr<Executor>(std::move(*made));
  }
  Status connect() override {
    return std::exchange(transport, nullptr)->connect();
  }

private:
  const std::shared_ptr<PolledDevice> its;
  std::shared_ptr<PolledTransport> transport;
};

} // namespace

std::shared_ptr<Devices>
pprt::makeDevices(std::unique_ptr<PolledDevice> device) {
  return std::make_shared<PolledDevices>(std::move(device));
}
