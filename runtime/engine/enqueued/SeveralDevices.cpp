//===- SeveralDevices.cpp - an executor for each device -------------------===//
//
// SPDX-License-Identifier: Apache-2.0
//
//===----------------------------------------------------------------------===//
#include "SeveralDevices.h"

#include <algorithm>

using namespace pprt;
using namespace pprt::enqueued;

Expected<std::unique_ptr<SeveralDevices>>
SeveralDevices::create(std::vector<Part> parts) {
  std::unique_ptr<SeveralDevices> made(new SeveralDevices(std::move(parts)));
  for (size_t part = 1; part < made->parts.size(); ++part)
    if (!made->threads.emplace_back().start(
            [its = made.get(), part] { its->work(part); }))
      return refusedThread();
  return made;
}

SeveralDevices::~SeveralDevices() {
  {
    std::lock_guard guard(mutex);
    quits = true;
  }
  changed.notify_all();
  for (Thread &thread : threads)
    thread.join();
}

Executor &SeveralDevices::of(uint32_t rank) const {
  return *std::find_if(parts.begin(), parts.end(), [&](const Part &part) {
            return part.ranks.contains(rank);
          })->executor;
}

bool SeveralDevices::isStuck() const {
  return std::any_of(parts.begin(), parts.end(),
                     [](const Part &part) { return part.executor->isStuck(); });
}

unsigned SeveralDevices::stepsAhead() const {
  unsigned least = parts.front().executor->stepsAhead();
  for (const Part &part : parts)
    least = std::min(least, part.executor->stepsAhead());
  return least;
}

void SeveralDevices::work(size_t part) {
  std::unique_lock lock(mutex);
  for (uint64_t done = 0;; ++done) {
    changed.wait(lock, [&] { return quits || calls > done; });
    if (quits)
      return;
    lock.unlock();
    const Status status = call(*parts[part].executor);
    lock.lock();
    if (failure.ok())
      failure = status;
    if (--running == 0)
      changed.notify_all();
  }
}

Status SeveralDevices::onEach(std::function<Status(Executor &)> wanted) {
  {
    std::lock_guard guard(mutex);
    if (!failure.ok())
      return failure;
    call = std::move(wanted);
    running = threads.size();
    ++calls;
  }
  changed.notify_all();
  const Status status = call(*parts.front().executor);
  std::unique_lock lock(mutex);
  if (failure.ok())
    failure = status;
  changed.wait(lock, [&] { return running == 0; });
  return failure;
}
