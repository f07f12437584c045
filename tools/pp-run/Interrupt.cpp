//===- Interrupt.cpp - ending a run by hand -------------------------------===//
//
// SPDX-License-Identifier: Apache-2.0
//
//===----------------------------------------------------------------------===//
#include "Interrupt.h"

#include <csignal>

static volatile std::sig_atomic_t arrived = 0;

extern "C" {
static void noteInterrupt(int) { arrived = 1; }
}

void pp::run::catchInterrupts() {
  struct sigaction action = {};
  action.sa_handler = noteInterrupt;
  // SA_RESETHAND: the second signal finds the default action.
  action.sa_flags = SA_RESTART | SA_RESETHAND;
  sigaction(SIGINT, &action, nullptr);
  sigaction(SIGTERM, &action, nullptr);
}

bool pp::run::interrupted() { return arrived != 0; }
