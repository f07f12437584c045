//===- Signals.cpp - signals belong to the host ---------------------------===//
//
// SPDX-License-Identifier: Apache-2.0
//
// Assumes that no signal arrives while this runs, which takes microseconds.
//
//===----------------------------------------------------------------------===//
#include "Signals.h"
#include "llvm/Support/Signals.h"

#include <csignal>
#include <map>
#include <mutex>

void pp::leaveSignalsToHost() {
  static std::once_flag once;
  std::call_once(once, [] {
    std::map<int, struct sigaction> hosts;
    for (int signal = 1; signal < NSIG; ++signal)
      if (struct sigaction action; sigaction(signal, nullptr, &action) == 0)
        hosts[signal] = action;
    llvm::sys::SetInterruptFunction(nullptr);
    for (const auto &[signal, action] : hosts)
      sigaction(signal, &action, nullptr);
  });
}
