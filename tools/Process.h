//===- Process.h - how a tool ends that something ends early ----*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0
//
// LLVM ends a process by itself: at a signal, and when a stream of its own
// cannot be written. This gives such an end the message and the exit code of
// the tool, and removes what is half written.
//
//===----------------------------------------------------------------------===//
#ifndef PP_TOOLS_PROCESS_H
#define PP_TOOLS_PROCESS_H

#include <csignal>

namespace pp {

/// False in the processes that a launcher started beside the first. What ends
/// them before they know of each other ends all: the first tells of it.
bool isFirstProcess();

/// Call it once, before llvm::InitLLVM, which takes signals over. `tool` begins
/// the messages.
void guardProcess(const char *tool);

/// Whether a signal that ends the process is told of. Not once the cause of the
/// end has been, and never beside other processes: mpirun sends one to all when
/// the first has ended, and tells of that.
inline volatile std::sig_atomic_t tellsOfSignals = 1;

} // namespace pp

#endif // PP_TOOLS_PROCESS_H
