//===- ReadAhead.cpp - batches read while a step runs ---------------------===//
//
// SPDX-License-Identifier: Apache-2.0
//
//===----------------------------------------------------------------------===//
#include "pprt/host/ReadAhead.h"
#include "../engine/Thread.h"

#include <condition_variable>
#include <mutex>

using namespace pprt;
using namespace pprt::host;

struct ReadAhead::State {
  State(const Batches &batches, uint64_t first, uint64_t end)
      : batches(batches), end(end), step(first) {}

  const Batches &batches;
  const uint64_t end;

  std::mutex mutex;
  std::condition_variable changed;
  /// Used by the reader while `isFull` is false, else by the caller.
  Batch batch;
  Status status;
  bool isFull = false, isEnding = false;

  uint64_t step; ///< of the next batch to read
  bool hasThread = false;
  Thread thread;

  void read() { status = batches.read(step++, batch); }
  void run();
};

void ReadAhead::State::run() {
  while (step < end) {
    read();
    std::unique_lock<std::mutex> lock(mutex);
    isFull = true;
    changed.notify_one();
    if (!status.ok())
      return;
    changed.wait(lock, [this] { return !isFull || isEnding; });
    if (isEnding)
      return;
  }
}

ReadAhead::ReadAhead(const Batches &batches, uint64_t first, uint64_t end)
    : state(std::make_unique<State>(batches, first, end)) {
  State *owned = state.get();
  // If the system refuses a thread, the caller reads.
  state->hasThread = state->thread.start([owned] { owned->run(); });
}

ReadAhead::~ReadAhead() {
  {
    const std::lock_guard<std::mutex> lock(state->mutex);
    state->isEnding = true;
    state->changed.notify_one();
  }
  state->thread.join();
}

bool ReadAhead::isReady(std::chrono::milliseconds patience) {
  std::unique_lock<std::mutex> lock(state->mutex);
  return !state->hasThread || state->changed.wait_for(lock, patience, [this] {
    return state->isFull;
  });
}

Status ReadAhead::next(Batch &batch) {
  std::unique_lock<std::mutex> lock(state->mutex);
  if (state->hasThread)
    state->changed.wait(lock, [this] { return state->isFull; });
  else if (state->status.ok())
    state->read();
  if (!state->status.ok())
    return state->status;
  std::swap(batch, state->batch);
  state->isFull = false;
  state->changed.notify_one();
  return {};
}
