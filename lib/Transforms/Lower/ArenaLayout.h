//===- ArenaLayout.h - offsets for slots with lifetimes ---------*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0
//
// Offline dynamic storage allocation: every slot is live over an interval of
// the instruction list; slots whose intervals meet must not overlap in memory.
//
//===----------------------------------------------------------------------===//
#ifndef PP_LIB_TRANSFORMS_LOWER_ARENALAYOUT_H
#define PP_LIB_TRANSFORMS_LOWER_ARENALAYOUT_H

#include "pprt/Alignment.h"

#include "llvm/ADT/ArrayRef.h"
#include <cstdint>

namespace pp {

struct SlotLifetime {
  int64_t bytes = 0;
  int64_t first = -1; ///< first and last instruction that touch it; -1: never
  int64_t last = -1;
  int64_t offset = -1; ///< the answer
};

/// Places `slots` at multiples of `alignment` from `base` on, which is one, and
/// returns the end of the highest. Slots without a lifetime get `base`.
int64_t layoutSlots(llvm::MutableArrayRef<SlotLifetime> slots, int64_t base,
                    int64_t alignment = pprt::kSlotAlignment);

} // namespace pp

#endif // PP_LIB_TRANSFORMS_LOWER_ARENALAYOUT_H
