//===- Background.cpp - one task beside the caller ------------------------===//
//
// SPDX-License-Identifier: Apache-2.0
//
// The result is read once the thread is joined.
//
//===----------------------------------------------------------------------===//
#include "pprt/host/Background.h"
#include "../engine/Thread.h"

#include <algorithm>
#include <atomic>
#include <vector>

using namespace pprt;
using namespace pprt::host;

struct Background::State {
  std::function<Status()> task;
  Status result;
  std::atomic<bool> isBusy{false};
  Thread thread;

  void run() {
    result = task();
    isBusy = false;
  }
};

Background::Background() : state(std::make_unique<State>()) {}
Background::~Background() { (void)finish(); }

void Background::start(std::function<Status()> task) {
  state->task = std::move(task);
  state->isBusy = true;
  State *its = state.get();
  if (!state->thread.start([its] { its->run(); }))
    its->run();
}

bool Background::isBusy() const { return state->isBusy; }

Status Background::finish() {
  state->thread.join();
  return state->result;
}

Status pprt::host::forEachAtOnce(
    size_t count, size_t threads,
    const std::function<Status(size_t i, size_t thread)> &body) {
  std::vector<Status> ended(count);
  std::atomic<size_t> next{0};
  const auto work = [&](size_t thread) {
    for (size_t i; (i = next++) < count;)
      if (ended[i] = body(i, thread); !ended[i].ok())
        next = count; // the others need not begin
    return Status();
  };
  std::vector<Background> others(std::max<size_t>(std::min(count, threads), 1) -
                                 1);
  for (size_t i = 0; i < others.size(); ++i)
    others[i].start([&work, i] { return work(i + 1); });
  (void)work(0);
  for (Background &other : others)
    (void)other.finish();
  const auto failed =
      std::find_if(ended.begin(), ended.end(),
                   [](const Status &status) { return !status.ok(); });
  return failed == ended.end() ? Status() : *failed;
}
