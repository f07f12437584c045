//===- SlotPatterns.cpp - slots that repeat with micro-batches ------------===//
//
// SPDX-License-Identifier: Apache-2.0
//
// In: the list of a program and the lives of its slots. Out: which of them are
// alike. Assumes that all instructions for one micro-batch, and no others, are
// tagged with it; a wrong tag costs memory, and nothing else.
//
//===----------------------------------------------------------------------===//
#include "Slots.h"
#include "llvm/ADT/DenseMap.h"
#include "llvm/ADT/STLExtras.h"

using namespace mlir;
using namespace pp;

void pp::findPatterns(ArrayRef<SlotOp> slots,
                      ArrayRef<Operation *> instructions,
                      ArrayRef<SmallVector<SlotAccess>> accesses,
                      MutableArrayRef<SlotLifetime> lifetimes) {
  // Kernel or kind of instruction, phase and stage.
  using Work = std::tuple<const void *, int, int64_t>;
  llvm::DenseMap<std::tuple<Work, int64_t>, int64_t> counts; // and micro-batch
  // Of the work which one, its operand, and the slot's type.
  using Place = std::tuple<Work, int64_t, size_t, const void *>;
  llvm::DenseMap<Place, int64_t> patterns;
  std::vector<bool> isSeen(slots.size());
  for (auto [op, list] : llvm::zip_equal(instructions, accesses)) {
    auto number = [op = op](StringRef name, int64_t absent) {
      auto value = op->getAttrOfType<IntegerAttr>(name);
      return value ? value.getInt() : absent;
    };
    auto kernel = op->getAttrOfType<FlatSymbolRefAttr>("kernel");
    auto phase = op->getAttrOfType<PhaseAttr>("phase");
    const Work work{kernel ? kernel.getAsOpaquePointer()
                           : op->getName().getAsOpaquePointer(),
                    phase ? int(phase.getValue()) : 0, number("stage", 0)};
    const int64_t microBatch = number("micro_batch", -1);
    const int64_t count = counts[{work, microBatch}]++;
    for (auto [operand, access] : llvm::enumerate(list)) {
      SlotOp slot = slots[access.slot];
      SlotLifetime &lifetime = lifetimes[access.slot];
      if (isSeen[access.slot]) {
        if (lifetime.microBatch != microBatch)
          lifetime.pattern = -1;
        continue;
      }
      isSeen[access.slot] = true;
      lifetime.microBatch = microBatch;
      if (microBatch >= 0)
        lifetime.pattern =
            patterns
                .try_emplace(
                    {work, count, operand, slot.getType().getAsOpaquePointer()},
                    patterns.size())
                .first->second;
    }
  }
}
