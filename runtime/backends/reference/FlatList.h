//===- FlatList.h - what a program runs, written out ------------*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0
//
// Copies each instruction of each call, with its micro-batch and its waits, and
// each copy of a slot, which becomes a slot. It does by copying what
// pprt/InstructionList.h does by looking up, and shares no code with it, so
// that one judges the other.
//
//===----------------------------------------------------------------------===//
#ifndef PPRT_BACKENDS_REFERENCE_FLATLIST_H
#define PPRT_BACKENDS_REFERENCE_FLATLIST_H

#include "pprt/Ppx.h"

namespace pprt::reference {

/// Returns a program that runs the same: its setup, body and teardown call
/// routine 0, 1 and 2 once.
ppx::ProgramT writeOut(const ppx::ProgramT &program);

} // namespace pprt::reference

#endif // PPRT_BACKENDS_REFERENCE_FLATLIST_H
