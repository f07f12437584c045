//===- Fit.h - what to do about too little memory ---------------*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0
//
//===----------------------------------------------------------------------===//
#ifndef PP_RUN_FIT_H
#define PP_RUN_FIT_H

#include "Compile.h"
#include "Options.h"

#include <optional>
#include <string>

namespace pp::run {

/// Bytes of the rank that needs most.
uint64_t largestArena(const pprt::ppx::ArtifactT &artifact);

/// A table of keys that save some of `arena`, the best first, and the first as
/// a command if it fits. Empty if there are none. `extra`: bytes that a rank
/// needs beyond its arena.
std::string adviseOnMemory(const Options &options, SourceModule &module,
                           uint64_t arena, uint64_t extra);

/// The plan that --fit applies; nothing if none fits.
std::optional<PlanTrial> findFit(const Options &options, SourceModule &module,
                                 uint64_t extra);

/// What --fit says.
std::string describeFit(const Options &options, const PlanTrial &fit,
                        uint64_t arena);

} // namespace pp::run

#endif // PP_RUN_FIT_H
