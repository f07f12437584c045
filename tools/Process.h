//===- Process.h - early ends of a tool -------------------------*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0
//
// LLVM ends a process by itself at a signal and when its own stream cannot be
// written. Libraries throw, abort, or go on with a null pointer when the system
// refuses memory or a thread; a full stack is an address fault. These functions
// give each such end a message and the tool's exit code, and remove
// half-written files.
//
//===----------------------------------------------------------------------===//
#ifndef PP_TOOLS_PROCESS_H
#define PP_TOOLS_PROCESS_H

#include "pprt/Status.h"

#include <csignal>
#include <functional>

namespace pp {

/// False in the processes that a launcher started beside the first. Only the
/// first prints an error that occurs before the processes know each other.
bool isFirstProcess();

/// Call it once, before llvm::InitLLVM, which installs signal handlers. `tool`
/// begins the messages.
void guardProcess(const char *tool);

/// Whether a fatal signal is printed. False once the cause of the end has been
/// printed, and among several processes: mpirun signals all when the first has
/// ended, and prints that itself.
inline volatile std::sig_atomic_t tellsOfSignals = 1;

/// Handles faults that a shortage explains and leaves others to the previous
/// handlers: call it once, after these are installed. `tool` begins the
/// messages. `cleanUp` is called before an early end, also from a signal
/// handler.
void guardAgainstShortage(const char *tool, void (*cleanUp)());

/// Has `tell` called when an allocation is refused, with memory reserved for
/// that. `tell` ends the other processes and this one, and returns only if
/// there are no others any more.
void tellOfShortage(std::function<void(const pprt::Status &)> tell);

/// Ends the process: out of memory.
[[noreturn]] void endWithoutMemory();

/// Ends the process: the system refused a thread, perhaps for lack of memory
/// for its stack.
[[noreturn]] void endWithoutThread();

} // namespace pp

#endif // PP_TOOLS_PROCESS_H
