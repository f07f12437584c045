//===- Exchange.h - the data movement of one collective ---------*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0
//
// In: the arenas of a group's members and one instruction of each. Out: a list
// of independent pieces of work that together perform the collective. Pieces
// may run in any order, on any thread, at the same time; every element is
// reduced in member order whichever piece it falls in, so the bits do not
// depend on timing. bf16 is summed in f32 and rounded once.
//
// A send with its receive is a collective of two members, one of which has
// only an output.
//
//===----------------------------------------------------------------------===//
#ifndef PPRT_COLLECTIVES_INPROCESS_EXCHANGE_H
#define PPRT_COLLECTIVES_INPROCESS_EXCHANGE_H

#include "pprt/ppx_generated.h"

#include <cstddef>
#include <cstdint>
#include <vector>

namespace pprt::inprocess {

/// One member's part: its instruction's slots, resolved to memory.
struct Participant {
  std::vector<std::byte *> inputs, outputs;
  std::vector<const ppx::SlotT *> inputSlots, outputSlots;
};

class Exchange {
public:
  /// `instruction` is any member's: they agree on everything used here. Of a
  /// permute, member i sends to member receivers[i].
  static Exchange collective(const ppx::InstructionT &instruction,
                             const std::vector<Participant> &members,
                             const std::vector<uint32_t> &receivers);
  static Exchange transfer(const std::byte *source, std::byte *destination,
                           uint64_t bytes);

  uint32_t pieceCount() const { return uint32_t(pieces.size()); }
  void run(uint32_t piece) const;
  /// Bytes read, over all pieces.
  uint64_t bytes() const { return totalBytes; }

private:
  /// outer x middle runs of `run` contiguous elements; strides in elements.
  struct Region {
    uint64_t outer = 1, middle = 1, run = 0;
    uint64_t sourceOuter = 0, sourceMiddle = 0;
    uint64_t targetOuter = 0, targetMiddle = 0;
  };
  /// Reads the region from every source and writes the result to every target.
  struct Piece {
    Region region;
    ppx::ElementType element;
    ppx::Reduction reduction; ///< used if there is more than one source
    uint32_t firstSource, sourceCount, firstTarget, targetCount;
  };

  void add(Piece piece, const std::vector<const std::byte *> &from,
           const std::vector<std::byte *> &to);

  std::vector<Piece> pieces;
  std::vector<const std::byte *> sources;
  std::vector<std::byte *> targets;
  uint64_t totalBytes = 0;
};

} // namespace pprt::inprocess

#endif // PPRT_COLLECTIVES_INPROCESS_EXCHANGE_H
