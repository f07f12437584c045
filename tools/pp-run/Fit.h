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

/// A table of keys that save some of the `bytes` of a rank, the best first, and
/// the first as a command if it fits. Empty if there are none.
std::string adviseOnMemory(const Options &options, SourceModule &module,
                           uint64_t bytes, const MeasureBeside &measureBeside);

/// The plan that --fit applies; nothing if none fits.
std::optional<PlanTrial> findFit(const Options &options, SourceModule &module,
                                 const MeasureBeside &measureBeside);

/// What --fit says; `now` is what a rank needs without it.
std::string describeFit(const Options &options, const PlanTrial &fit,
                        const std::string &now);

} // namespace pp::run

#endif // PP_RUN_FIT_H
