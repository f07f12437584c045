//===- Signals.h - signals belong to the host -------------------*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0
//
// A library in a program of somebody else must not take over its signals, as
// LLVM does: Python's Ctrl-C would end the process.
//
//===----------------------------------------------------------------------===//
#ifndef PP_CAPI_SIGNALS_H
#define PP_CAPI_SIGNALS_H

namespace pp {

/// LLVM takes over SIGINT and others of the process when it first notes a
/// temporary file, as the cache of kernels has them. This lets it do so now,
/// and puts back what the host had. Once a process.
void leaveSignalsToHost();

} // namespace pp

#endif // PP_CAPI_SIGNALS_H
