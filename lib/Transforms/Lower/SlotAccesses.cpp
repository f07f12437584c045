//===- SlotAccesses.cpp - reads and writes of an instruction --------------===//
//
// SPDX-License-Identifier: Apache-2.0
//
// In: an instruction of a verified program. Out: the slots it names, each read,
// written or both.
//
//===----------------------------------------------------------------------===//
#include "Slots.h"
#include "pp/IR/Kernel.h"

using namespace mlir;
using namespace pp;

std::vector<SmallVector<SlotAccess>> pp::listAccesses(const ProgramList &list,
                                                      SymbolTable &symbols) {
  std::vector<SmallVector<SlotAccess>> accesses;
  for (Operation *op : list.instructions())
    accesses.push_back(getAccesses(*op, symbols));
  return accesses;
}

SmallVector<SlotAccess> pp::getAccesses(Operation &op, SymbolTable &symbols) {
  SmallVector<SlotAccess> accesses;
  ArrayRef<int64_t> slots = op.getAttrOfType<DenseI64ArrayAttr>("slots");
  auto add = [&](int64_t slot, bool reads, bool writes) {
    accesses.push_back({slot, reads, writes});
  };
  if (isa<RunOp, GateOp>(op)) {
    auto kernel = symbols.lookup<func::FuncOp>(
        op.getAttrOfType<FlatSymbolRefAttr>("kernel").getValue());
    bool accumulate = isa<RunOp>(op) && cast<RunOp>(op).getAccumulate();
    bool isGated = isa<GateOp>(op);
    // A skipped kernel keeps the values that it would write.
    for (auto [slot, parameter] :
         llvm::zip(slots, getRunParameters(kernel, accumulate)))
      add(slot, parameter.reads || isGated, parameter.writes);
    if (isGated)
      add(slots.back(), true, false);
  } else if (isa<CollectiveInstructionOp>(op)) {
    for (auto [index, slot] : llvm::enumerate(slots))
      add(slot, index < slots.size() / 2, index >= slots.size() / 2);
  } else if (isa<CopyOp, FlagOp>(op)) {
    for (auto [index, slot] : llvm::enumerate(slots))
      add(slot, index + 1 < slots.size(), index + 1 == slots.size());
  } else if (isa<SendOp, EmitOp>(op)) {
    add(slots[0], true, false);
  } else if (isa<RecvOp, LoadOp>(op)) {
    add(slots[0], false, true);
  }
  return accesses;
}
