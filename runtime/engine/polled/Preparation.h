//===- Preparation.h - tells the transport which tasks meet -----*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0
//
// In: the ranks of this process with their tasks. Out: a participant for each
// task that meets others, of which the task keeps the transport's ticket.
//
//===----------------------------------------------------------------------===//
#ifndef PPRT_ENGINE_POLLED_PREPARATION_H
#define PPRT_ENGINE_POLLED_PREPARATION_H

#include "Rank.h"
#include "pprt/CommOps.h"

namespace pprt::polled {

using CommOpList = std::vector<std::unique_ptr<const CommOp>>;

/// Fails (checkFailed) on what cannot be matched, which the checks rule out.
/// `ranks` are those of `range`; the others of `programs` are in other
/// processes.
Expected<CommOpList>
prepareCommOps(const Ranks &programs, RankRange range,
               const std::vector<std::unique_ptr<Rank>> &ranks,
               PolledTransport &transport);

} // namespace pprt::polled

#endif // PPRT_ENGINE_POLLED_PREPARATION_H
