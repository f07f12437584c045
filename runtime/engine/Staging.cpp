//===- Staging.cpp - where a rank keeps messages on their way -------------===//
//
// SPDX-License-Identifier: Apache-2.0
//
//===----------------------------------------------------------------------===//
#include "Staging.h"
#include "pprt/Alignment.h"
#include "pprt/Program.h"

#include <algorithm>

using namespace pprt;

static uint64_t roundUp(uint64_t bytes) {
  return alignUp(bytes, kWorkspaceAlignment);
}

/// needed[rank of the range][queue], of one section.
static void addSection(const Ranks &programs, RankRange range, Section section,
                       const TransportModel &model,
                       std::vector<std::vector<uint64_t>> &needed) {
  const CommOps commOps(programs, section);
  for (const CommPlace &place : commOps.places(range)) {
    const std::vector<uint32_t> ranks = commOps.members(place);
    const size_t length = commOps.sequence(place, 0, ranks[0]).size();
    for (uint32_t k = 0; k < length; ++k) {
      const std::vector<Move> moves = commOps.moves(place, k);
      for (uint32_t member = 0; member < ranks.size(); ++member) {
        const uint32_t rank = ranks[member];
        if (!range.contains(rank))
          continue;
        const std::vector<uint32_t> &sequence =
            commOps.sequence(place, member, rank);
        if (k >= sequence.size())
          continue; // whoever prepares the comm ops says so
        const InstructionList &list =
            instructionsOf(programs.program(rank), section);
        uint64_t &bytes = needed[rank - range.begin][list[sequence[k]]->queue];
        bytes = std::max(bytes, model.stagingBytes(moves, ranks, member));
      }
    }
  }
}

std::vector<Staging> pprt::layOutStaging(const Ranks &programs, RankRange range,
                                         const TransportModel &model) {
  std::vector<std::vector<uint64_t>> needed;
  for (uint32_t rank = range.begin; rank < range.end; ++rank)
    needed.emplace_back(programs.program(rank).queues.size());
  if (model.stagingBytes)
    for (Section section : kSections)
      addSection(programs, range, section, model, needed);
  std::vector<Staging> result;
  for (uint32_t rank = range.begin; rank < range.end; ++rank) {
    Staging staging;
    staging.end = programs.program(rank).arena_bytes;
    for (uint64_t bytes : needed[rank - range.begin]) {
      staging.offsets.push_back(roundUp(staging.end));
      if (bytes > 0)
        staging.end = staging.offsets.back() + alignUp(bytes, kSlotAlignment);
    }
    result.push_back(std::move(staging));
  }
  return result;
}
