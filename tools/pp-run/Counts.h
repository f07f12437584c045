//===- Counts.h - what devices counted --------------------------*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0
//
// In: what each process's device has counted, by name. Out: all of it, as a
// line for people. Devices of one kind count the same things in every process.
//
//===----------------------------------------------------------------------===//
#ifndef PP_RUN_COUNTS_H
#define PP_RUN_COUNTS_H

#include "pprt/Execution.h"
#include "pprt/World.h"

#include <string>
#include <vector>

namespace pp::run {

/// Of all processes, which have the same names in the same order, at the first.
pprt::Expected<std::vector<pprt::NamedCount>>
sumCounts(pprt::World &world, std::vector<pprt::NamedCount> counts);

/// `12 launches, 3 copies`.
std::string printCounts(const std::vector<pprt::NamedCount> &counts);

} // namespace pp::run

#endif // PP_RUN_COUNTS_H
