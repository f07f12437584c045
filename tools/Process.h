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

namespace pp {

/// Call it once, before llvm::InitLLVM, which takes signals over. `tool` begins
/// the messages.
void guardProcess(const char *tool);

} // namespace pp

#endif // PP_TOOLS_PROCESS_H
