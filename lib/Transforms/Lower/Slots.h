//===- Slots.h - accesses, copies and places of slots -----------*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0
//
// For the passes that write programs, let slots share memory, order queues and
// place slots in the arena. Programs are verified. What lives and is placed is
// a copy of a slot (ProgramList.h).
//
//===----------------------------------------------------------------------===//
#ifndef PP_LIB_TRANSFORMS_LOWER_SLOTS_H
#define PP_LIB_TRANSFORMS_LOWER_SLOTS_H

#include "mlir/IR/SymbolTable.h"
#include "pp/IR/ProgramList.h"
#include "pprt/Alignment.h"
#include "llvm/ADT/STLFunctionalExtras.h"

namespace pp {

struct SlotAccess {
  int64_t slot;
  bool reads, writes;
};

/// The slots that an instruction of a program names, with their accesses. A
/// slot that is written and not read is written as a whole. All passes learn
/// from here which operand of an instruction is read and which is written.
llvm::SmallVector<SlotAccess> getAccesses(mlir::Operation &op,
                                          mlir::SymbolTable &symbols);

/// Those of each of the list's instructions as they are written.
std::vector<llvm::SmallVector<SlotAccess>>
listAccesses(const ProgramList &list, mlir::SymbolTable &symbols);

/// Two slots are the same or disjoint.
struct SlotCopy {
  int64_t source, target;
  mlir::Type type; ///< of both
};

/// A sequence with the effect of doing `copies`, whose targets differ, at once
/// (each state gets its new value as if all copies read before any wrote). Each
/// copy is as early as possible in the given order: once no other copy still
/// reads its target. In a ring, the first target is saved in a slot from
/// `addSlot`, and its readers read that slot.
llvm::SmallVector<SlotCopy>
putInSequence(llvm::ArrayRef<SlotCopy> copies,
              llvm::function_ref<int64_t(mlir::Type)> addSlot);

struct CopyLifetime {
  int64_t bytes = 0;
  int64_t first = -1; ///< first and last item that touch it; -1: never
  int64_t last = -1;
  int64_t alignment = pprt::kSlotAlignment;
  /// Copies of one slot are a pattern, and this is one of them; -1: the only.
  int64_t pattern = -1;
  int64_t copy = 0;
  /// Of a received value, -1 of all others. From `postable` on it shares bytes
  /// only with other received ones, and from `pendingFrom` on none with those
  /// that are sent.
  int64_t postable = -1, pendingFrom = -1;
  bool isSent = false;
  /// Scratch memory of a kernel, of which not every byte need be written.
  bool isScratch = false;
  int64_t offset = -1; ///< the answer
};

/// The action during which values may be sent and the one during which they may
/// be received; only the latter; only half of that; none.
enum class MessageTime { Ample, ToReceive, Scant, None };

/// Lets received values live earlier and sent ones longer, as far as that does
/// not raise what lives at once. In any case no receive waits
/// for a send of the action before it; those of earlier ones are received when
/// that action begins (PositionRuns.cpp). So no positions wait for each other
/// in a circle.
void giveMessagesTime(const ProgramList &list,
                      llvm::ArrayRef<llvm::SmallVector<SlotAccess>> accesses,
                      MessageTime time,
                      llvm::MutableArrayRef<CopyLifetime> lifetimes);

/// The largest number of bytes that live at one instruction, if each copy has a
/// multiple of `alignment`.
int64_t findMostLive(llvm::ArrayRef<CopyLifetime> copies,
                     int64_t alignment = 1);

/// Places copies behind `base` so that those that live together have no byte in
/// common. Copies without a lifetime get `base`.
struct ArenaLayout {
  int64_t end; ///< the highest, not of scratch memory if there are others
  /// Copies that are so many apart have one place; 0: each has its own.
  int64_t period;
};
ArenaLayout layoutSlots(llvm::MutableArrayRef<CopyLifetime> copies,
                        int64_t base);

} // namespace pp

#endif // PP_LIB_TRANSFORMS_LOWER_SLOTS_H
