//===- FlatList.h - what a section runs, written out ------------*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0
//
// Copies each instruction of each call, with its micro-batch, its slots and its
// waits. It does by copying what pprt/InstructionList.h does by looking up, and
// shares no code with it, so that one judges the other.
//
//===----------------------------------------------------------------------===//
#ifndef PPRT_BACKENDS_REFERENCE_FLATLIST_H
#define PPRT_BACKENDS_REFERENCE_FLATLIST_H

#include "pprt/Ppx.h"

#include <memory>
#include <vector>

namespace pprt::reference {

using FlatList = std::vector<std::unique_ptr<const ppx::InstructionT>>;

/// `calls` is a section of the program.
FlatList writeOut(const ppx::ProgramT &program,
                  const std::vector<std::unique_ptr<ppx::CallT>> &calls);

} // namespace pprt::reference

#endif // PPRT_BACKENDS_REFERENCE_FLATLIST_H
