//===- Model.cpp - what is known of MPI without it ------------------------===//
//
// SPDX-License-Identifier: Apache-2.0
//
//===----------------------------------------------------------------------===//
#include "Model.h"

using namespace pprt;

TransportModel mpi::model(std::vector<uint32_t> processOf,
                          const Limits &limits) {
  TransportModel model;
  model.stagingBytes = [processOf = std::move(processOf),
                        limits](const std::vector<Move> &moves,
                                const std::vector<uint32_t> &ranks,
                                uint32_t member) -> uint64_t {
    const auto isHere = [&](uint32_t other) {
      return processOf[ranks[other]] == processOf[ranks[member]];
    };
    bool areAllHere = true;
    for (uint32_t other = 0; other < ranks.size(); ++other)
      areAllHere &= isHere(other);
    // Then they meet as threads.
    return areAllHere ? 0
                      : makeLanes(moves, member, isHere, limits).stagingBytes;
  };
  return model;
}
