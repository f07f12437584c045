//===- Exchange.cpp - the data movement of one comm op --------------------===//
//
// SPDX-License-Identifier: Apache-2.0
//
//===----------------------------------------------------------------------===//
#include "Exchange.h"
#include "Reduce.h"
#include "pprt/Program.h"

#include <algorithm>
#include <cstring>

using namespace pprt;
using namespace pprt::inprocess;

/// Small enough to balance over the members' threads and to stay in the
/// second-level cache, large enough that claiming a piece costs nothing.
static constexpr uint64_t kPieceElements = 1 << 15;

void Exchange::add(const Move &move,
                   const std::vector<MemberBuffers> &members) {
  const Region &whole = move.region;
  const uint64_t width = elementSize(move.element);
  totalBytes += whole.outer * whole.middle * whole.run * width *
                uint64_t(move.sources.size());
  const bool isOneRun = whole.outer * whole.middle <= 1;
  const uint64_t step = isOneRun ? kPieceElements : whole.run;
  const uint64_t end = isOneRun ? whole.run * whole.outer * whole.middle : step;
  for (uint64_t begin = 0; begin < end; begin += step) {
    Piece piece = {whole,
                   move.element,
                   move.reduction,
                   uint32_t(sources.size()),
                   uint32_t(move.sources.size()),
                   uint32_t(targets.size()),
                   uint32_t(move.targets.size())};
    if (isOneRun)
      piece.region.run = std::min(kPieceElements, whole.run - begin);
    for (const Part &part : move.sources)
      sources.push_back(members[part.member].inputs[part.operand] +
                        (part.offset + begin) * width);
    for (const Part &part : move.targets)
      targets.push_back(members[part.member].outputs[part.operand] +
                        (part.offset + begin) * width);
    pieces.push_back(piece);
  }
}

Exchange::Exchange(const std::vector<Move> &moves,
                   const std::vector<MemberBuffers> &members) {
  for (const Move &move : moves)
    add(move, members);
}

void Exchange::run(uint32_t index) const {
  const Piece &piece = pieces[index];
  const Region &region = piece.region;
  const uint64_t width = elementSize(piece.element);
  const std::byte *const *from = &sources[piece.firstSource];
  std::byte *const *to = &targets[piece.firstTarget];
  for (uint64_t outer = 0; outer < region.outer; ++outer)
    for (uint64_t middle = 0; middle < region.middle; ++middle) {
      const uint64_t source =
          (outer * region.sourceOuter + middle * region.sourceMiddle) * width;
      const uint64_t target =
          (outer * region.targetOuter + middle * region.targetMiddle) * width;
      if (piece.sourceCount > 1) {
        reduce(piece.element, piece.reduction, from, piece.sourceCount, source,
               to, piece.targetCount, target, region.run);
        continue;
      }
      for (uint32_t t = 0; t < piece.targetCount; ++t)
        if (to[t] + target != from[0] + source)
          std::memcpy(to[t] + target, from[0] + source, region.run * width);
    }
}
