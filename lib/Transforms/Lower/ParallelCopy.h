//===- ParallelCopy.h - copies that happen at once, in sequence -*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0
//
// For results that become the new values of states: each gets its value as if
// all copies read before any of them wrote. Two slots are the same or apart.
//
//===----------------------------------------------------------------------===//
#ifndef PP_LIB_TRANSFORMS_LOWER_PARALLELCOPY_H
#define PP_LIB_TRANSFORMS_LOWER_PARALLELCOPY_H

#include "mlir/IR/Types.h"
#include "llvm/ADT/STLFunctionalExtras.h"
#include "llvm/ADT/SmallVector.h"

namespace pp {

struct SlotCopy {
  int64_t source, target;
  mlir::Type type; ///< of both
};

/// A sequence that does what `copies` would do at once, whose targets differ.
/// Each is as early as possible in the given order: once no other has still to
/// read its target. Where they form a ring, the first one's target is saved in
/// a slot from `addSlot`, which those that read it then read.
llvm::SmallVector<SlotCopy>
putInSequence(llvm::ArrayRef<SlotCopy> copies,
              llvm::function_ref<int64_t(mlir::Type)> addSlot);

} // namespace pp

#endif // PP_LIB_TRANSFORMS_LOWER_PARALLELCOPY_H
