//===- Exchange.h - the data movement of one comm op ------------*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0
//
// In: the moves of a comm op, and the addresses of its members' operands. Out:
// a list of independent pieces of work that together perform it. Pieces may run
// in any order, on any thread, at the same time; every element is reduced in
// member order whichever piece it falls in, so the bits do not depend on
// timing.
//
//===----------------------------------------------------------------------===//
#ifndef PPRT_COLLECTIVES_INPROCESS_EXCHANGE_H
#define PPRT_COLLECTIVES_INPROCESS_EXCHANGE_H

#include "pprt/CommOps.h"

#include <cstddef>
#include <cstdint>
#include <vector>

namespace pprt::inprocess {

/// One member's memory, by operand.
struct MemberBuffers {
  std::vector<std::byte *> inputs, outputs;
};

class Exchange {
public:
  Exchange() = default;
  Exchange(const std::vector<Move> &moves,
           const std::vector<MemberBuffers> &members);

  uint32_t pieceCount() const { return uint32_t(pieces.size()); }
  void run(uint32_t piece) const;
  /// Bytes read, over all pieces.
  uint64_t bytes() const { return totalBytes; }

private:
  /// Reads the region from every source and writes the result to every target.
  struct Piece {
    Region region;
    ppx::ElementType element;
    ppx::Reduction reduction; ///< used if there is more than one source
    uint32_t firstSource, sourceCount, firstTarget, targetCount;
  };

  void add(const Move &move, const std::vector<MemberBuffers> &members);

  std::vector<Piece> pieces;
  std::vector<const std::byte *> sources;
  std::vector<std::byte *> targets;
  uint64_t totalBytes = 0;
};

} // namespace pprt::inprocess

#endif // PPRT_COLLECTIVES_INPROCESS_EXCHANGE_H
