//===- HangReport.h - who waits on whom -------------------------*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0
//
// For an execution that has made no progress for long, by the ranks of this
// process. Assumes that messages and groups have been matched, so that whom a
// rank waits for is known.
//
//===----------------------------------------------------------------------===//
#ifndef PPRT_ENGINE_POLLED_HANGREPORT_H
#define PPRT_ENGINE_POLLED_HANGREPORT_H

#include "Rank.h"

namespace pprt::polled {

/// One line per rank with what it waits for, after a line with the cause: the
/// rank whose kernel has not returned, or else the cycle of waiting ranks.
/// `ranks` are neighbours. Reads the ranks' counters while they may still move.
std::string hangReport(const std::vector<std::unique_ptr<Rank>> &ranks,
                       int64_t step, double seconds);

} // namespace pprt::polled

#endif // PPRT_ENGINE_POLLED_HANGREPORT_H
