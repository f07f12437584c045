//===- Interrupt.h - ending a run by hand -----------------------*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0
//
//===----------------------------------------------------------------------===//
#ifndef PP_RUN_INTERRUPT_H
#define PP_RUN_INTERRUPT_H

namespace pp::run {

/// From now on the first SIGINT or SIGTERM only sets a flag, so that the step
/// can be finished; the second ends the process.
void catchInterrupts();

/// Whether one has arrived.
bool interrupted();

} // namespace pp::run

#endif // PP_RUN_INTERRUPT_H
