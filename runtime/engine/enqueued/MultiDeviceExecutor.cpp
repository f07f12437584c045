//===- MultiDeviceExecutor.cpp - an executor for each device
//-------------------===//
//
// SPDX-License-Identifier: Apache-2.0
//
//===----------------------------------------------------------------------===//
#include "MultiDeviceExecutor.h"

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

/// All of them stand still between two calls, so that this thread may ask.
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
