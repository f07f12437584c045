//===- Background.cpp - one task beside the caller ------------------------===//
//
// SPDX-License-Identifier: Apache-2.0
//
// The result is read once the thread is joined.
//
//===----------------------------------------------------------------------===//
#include "pprt/host/Background.h"
#include "../engine/Thread.h"

#include <atomic>

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
