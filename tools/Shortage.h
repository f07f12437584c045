//===- Shortage.h - how a tool ends where memory or threads lack -*- C++
//-*-===//
//
// SPDX-License-Identifier: Apache-2.0
//
// The compiler and its libraries do not return where the system refuses memory
// or a thread: some throw, some abort, some go on with a null pointer, and a
// stack that cannot grow is a fault of addresses. Each such end gets one line
// and the exit code of what lacks.
//
//===----------------------------------------------------------------------===//
#ifndef PP_TOOLS_SHORTAGE_H
#define PP_TOOLS_SHORTAGE_H

#include "pprt/Status.h"

#include <functional>

namespace pp {

/// Call it once, after what else takes over faults: those that no shortage
/// explains are left to it. `tool` begins the messages. `cleanUp` is called
/// before an early end, from a signal's handler too.
void guardAgainstShortage(const char *tool, void (*cleanUp)());

/// Has an allocation that is refused told to other processes: `tell` ends them
/// and this one, with memory that is kept for that, unless it returns because
/// there are none any more.
void tellOfShortage(std::function<void(const pprt::Status &)> tell);

/// Ends the process: memory cannot be had.
[[noreturn]] void endWithoutMemory();

/// Ends the process: the system refused a thread, which may be for want of
/// memory for its stack.
[[noreturn]] void endWithoutThread();

} // namespace pp

#endif // PP_TOOLS_SHORTAGE_H
