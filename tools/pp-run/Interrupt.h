//===- Interrupt.h - ending a run by hand -----------------------*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0
//
// Signals are the process's: called once, before the first step.
//
//===----------------------------------------------------------------------===//
#ifndef PP_RUN_INTERRUPT_H
#define PP_RUN_INTERRUPT_H

namespace pp::run {

/// From now on the first SIGINT, SIGTERM or SIGHUP, and every SIGPIPE, only
/// sets a flag, so that the step can be finished and its result saved. The next
/// of the first three removes what is half written and ends the process.
void catchInterrupts();

/// Whether one has arrived.
bool interrupted();

} // namespace pp::run

#endif // PP_RUN_INTERRUPT_H
