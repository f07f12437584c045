//===- Staging.h - where a rank keeps messages on their way -----*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0
//
// In: programs, and the model of what carries their messages. Out: one area for
// each queue of a rank, behind the arena of its program, as large as the
// largest of the queue's operations needs: they come one after another. So the
// memory of a rank is known before a run, and without the transport.
//
//===----------------------------------------------------------------------===//
#ifndef PPRT_ENGINE_STAGING_H
#define PPRT_ENGINE_STAGING_H

#include "pprt/TransportModel.h"

namespace pprt {

struct Staging {
  std::vector<uint64_t> offsets; ///< by queue, from the arena's begin
  uint64_t end = 0;              ///< of arena and areas
};

/// By rank of the range.
std::vector<Staging> layOutStaging(const Ranks &programs, RankRange range,
                                   const TransportModel &model);

} // namespace pprt

#endif // PPRT_ENGINE_STAGING_H
