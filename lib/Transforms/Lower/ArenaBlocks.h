//===- ArenaBlocks.h - what is placed in an arena ---------------*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0
//
// Private to the layout of arenas. In 1F1B a stage holds few micro-batches at
// once, and each has slots like those of the one before: a block is a place
// that such slots take in turn. So the work of placing depends on how many
// micro-batches are held, not on how many there are.
//
//===----------------------------------------------------------------------===//
#ifndef PP_LIB_TRANSFORMS_LOWER_ARENABLOCKS_H
#define PP_LIB_TRANSFORMS_LOWER_ARENABLOCKS_H

#include "Slots.h"
#include "llvm/ADT/SmallVector.h"
#include <limits>
#include <vector>

namespace pp {

/// The life of one slot (CopyLifetime); the last two are `first` if it is not
/// received.
struct ArenaLife {
  int64_t first, last, postable, pendingFrom;
};

struct ArenaBlock {
  llvm::SmallVector<ArenaLife, 1> lives; ///< of its slots, ascending
  llvm::SmallVector<unsigned, 1> slots;
  int64_t bytes; ///< a multiple of `alignment`
  int64_t alignment;
  bool isReceived, isSent, isScratch;
  int64_t offset = 0;

  int64_t first() const { return lives.front().first; }
  int64_t last() const { return lives.back().last; }
  int64_t end() const { return offset + bytes; }
};

using ArenaBlocks = std::vector<ArenaBlock>;

/// The end of a layout that is none.
constexpr int64_t kNoLayout = std::numeric_limits<int64_t>::max();

/// The end of the blocks as they are placed, or the other way up if the last
/// bytes would be scratch memory, which kernels need not fill; kNoLayout if
/// they would be then, too.
int64_t findEnd(const ArenaBlocks &blocks);

/// Turns a layout if findEnd() expects that.
void turnScratchDown(ArenaBlocks &blocks);

/// Blocks for slots; those that are alike `period` micro-batches apart share
/// one. With a period of 0 each slot has a block.
ArenaBlocks formBlocks(llvm::ArrayRef<CopyLifetime> slots, int64_t period);

/// The smallest number of micro-batches apart at which no two slots that are
/// alike live together; 0 if there is none.
int64_t findPeriod(llvm::ArrayRef<CopyLifetime> slots);

/// Places blocks of one slot each, from the instruction at which most lives
/// outwards, in time that hardly grows with what lives together; returns their
/// end. Tries again with other orders until the end is at most `goal`.
int64_t placeOutwards(ArenaBlocks &blocks, int64_t goal);

/// Places blocks in the orders of several heuristics, and changes the best of
/// those little by little, until the end is at most `goal` or `steps` blocks
/// were looked at; returns the end. Needs a bit for each pair of blocks.
int64_t placeBySearch(ArenaBlocks &blocks, int64_t goal, int64_t steps);

} // namespace pp

#endif // PP_LIB_TRANSFORMS_LOWER_ARENABLOCKS_H
