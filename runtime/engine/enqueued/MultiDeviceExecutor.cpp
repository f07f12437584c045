//===- MultiDeviceExecutor.cpp - an executor for each device --------------===//
//
// SPDX-License-Identifier: Apache-2.0
//
//===----------------------------------------------------------------------===//
#include "MultiDeviceExecutor.h"
#include "../Devices.h"

#include <algorithm>

using namespace pprt;
using namespace pprt::enqueued;

Expected<std::unique_ptr<MultiDeviceExecutor>>
MultiDeviceExecutor::create(std::vector<Part> parts) {
  std::unique_ptr<MultiDeviceExecutor> made(
      new MultiDeviceExecutor(std::move(parts)));
  for (size_t part = 1; part < made->parts.size(); ++part)
    if (!made->threads.emplace_back().start(
            [its = made.get(), part] { its->work(part); }))
      return refusedThread();
  return made;
}

MultiDeviceExecutor::~MultiDeviceExecutor() {
  {
    std::lock_guard guard(mutex);
    quits = true;
  }
  changed.notify_all();
  for (Thread &thread : threads)
    thread.join();
}

EnqueuedExecutor &MultiDeviceExecutor::of(uint32_t rank) const {
  return *std::find_if(parts.begin(), parts.end(), [&](const Part &part) {
            return part.ranks.contains(rank);
          })->executor;
}

bool MultiDeviceExecutor::isStuck() const {
  return std::any_of(parts.begin(), parts.end(),
                     [](const Part &part) { return part.executor->isStuck(); });
}

/// All devices are idle between two calls, so this thread may query them.
bool MultiDeviceExecutor::hasEnded() {
  return std::all_of(parts.begin(), parts.end(), [](const Part &part) {
    return part.executor->hasEnded();
  });
}

unsigned MultiDeviceExecutor::stepsAhead() const {
  unsigned least = parts.front().executor->stepsAhead();
  for (const Part &part : parts)
    least = std::min(least, part.executor->stepsAhead());
  return least;
}

void MultiDeviceExecutor::work(size_t part) {
  std::unique_lock lock(mutex);
  for (uint64_t done = 0;; ++done) {
    changed.wait(lock, [&] { return quits || calls > done; });
    if (quits)
      return;
    lock.unlock();
    const Status status = call(*parts[part].executor);
    lock.lock();
    if (first.ok())
      first = status;
    if (--running == 0)
      changed.notify_all();
  }
}

Status MultiDeviceExecutor::callEach(Call wanted) {
  {
    std::lock_guard guard(mutex);
    first = {};
    call = std::move(wanted);
    running = threads.size();
    ++calls;
  }
  changed.notify_all();
  const Status status = call(*parts.front().executor);
  std::unique_lock lock(mutex);
  if (first.ok())
    first = status;
  changed.wait(lock, [&] { return running == 0; });
  return first;
}

Status MultiDeviceExecutor::onEach(Call wanted) {
  if (!failure.ok())
    return failure;
  failure = callEach(std::move(wanted));
  if (!failure.ok())
    (void)callEach([&](EnqueuedExecutor &executor) {
      executor.fail(failure);
      return failure;
    });
  return failure;
}

Status MultiDeviceExecutor::submit(Section section, int64_t step) {
  const Status status = onEach([=](EnqueuedExecutor &executor) {
    return executor.ready(section, step);
  });
  return status.ok() ? onEach([](EnqueuedExecutor &executor) {
    return executor.start();
  })
                     : status;
}

//===----------------------------------------------------------------------===//
// A session's devices
//===----------------------------------------------------------------------===//

namespace {

class StreamDevices final : public Devices {
public:
  explicit StreamDevices(std::vector<std::unique_ptr<StreamDevice>> devices)
      : all(std::make_move_iterator(devices.begin()),
            std::make_move_iterator(devices.end())) {}

  size_t count() const override { return all.size(); }
  Device &device(size_t index) const override { return *all[index]; }
  bool usesThreads() const override { return false; }
  Expected<TransportModel> meet(World &world, uint32_t worldSize) override {
    auto made = all.front()->transport(world, worldSize);
    if (!made)
      return made.status();
    transport = std::move(*made);
    return transport ? transport->model() : TransportModel();
  }
  Expected<std::unique_ptr<Executor>>
  makeExecutor(std::shared_ptr<const ppx::ArtifactT> artifact, const Mesh &mesh,
               const ExecutorOptions &options,
               std::shared_ptr<HostData> host) override;
  Status connect() override {
    const auto its = std::exchange(transport, nullptr);
    return its ? its->connect() : Status();
  }

private:
  std::vector<std::shared_ptr<StreamDevice>> all;
  std::shared_ptr<StreamTransport> transport;
};

} // namespace

Expected<std::unique_ptr<Executor>>
StreamDevices::makeExecutor(std::shared_ptr<const ppx::ArtifactT> artifact,
                            const Mesh &mesh, const ExecutorOptions &options,
                            std::shared_ptr<HostData> host) {
  const auto patience =
      std::make_shared<Patience>(count(), options.limits, transport);
  if (transport)
    transport->watch(patience);
  std::vector<MultiDeviceExecutor::Part> parts;
  for (size_t i = 0; i < count(); ++i) {
    ExecutorOptions its = options;
    its.ranks = ranksOf(i, options.ranks);
    auto made = EnqueuedExecutor::create(
        artifact, mesh, {all[i], transport, patience, i}, its, host);
    if (!made)
      return made.status();
    parts.push_back({its.ranks, std::move(*made)});
  }
  if (parts.size() == 1)
    return std::unique_ptr<Executor>(std::move(parts.front().executor));
  auto made = MultiDeviceExecutor::create(std::move(parts));
  if (!made)
    return made.status();
  return std::unique_ptr<Executor>(std::move(*made));
}

std::shared_ptr<Devices>
pprt::makeDevices(std::vector<std::unique_ptr<StreamDevice>> devices) {
  return std::make_shared<StreamDevices>(std::move(devices));
}
