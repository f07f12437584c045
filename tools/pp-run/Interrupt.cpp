//===- Interrupt.cpp - handles signals ------------------------------------===//
//
// SPDX-License-Identifier: Apache-2.0
//
// A lost terminal (SIGHUP) or reader of the output (SIGPIPE) ends a run like a
// user's signal, after its parameters are saved.
//
//===----------------------------------------------------------------------===//
#include "Run.h"
#include "pprt/Files.h"

#include <atomic>
#include <csignal>
#include <unistd.h>

// Any thread may run the handler.
static std::atomic<bool> arrived{false};
static_assert(std::atomic<bool>::is_always_lock_free,
              "a signal handler takes no lock");

extern "C" {
static void noteInterrupt(int signal) {
  if (!arrived.exchange(true) || signal == SIGPIPE)
    return;
  pprt::removeUnfinishedFiles();
  std::signal(signal, SIG_DFL);
  raise(signal); // delivered when this returns
}
}

void pp::run::catchInterrupts() {
  struct sigaction action = {};
  action.sa_handler = noteInterrupt;
  action.sa_flags = SA_RESTART;
  for (int signal : {SIGINT, SIGTERM, SIGHUP, SIGPIPE}) {
    struct sigaction inherited;
    sigaction(signal, nullptr, &inherited);
    // Under nohup, say, the user has decided.
    if (inherited.sa_handler != SIG_IGN)
      sigaction(signal, &action, nullptr);
  }
}

bool pp::run::interrupted() { return arrived; }
