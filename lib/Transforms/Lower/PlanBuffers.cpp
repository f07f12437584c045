//===- PlanBuffers.cpp - place slots and make queues wait -----------------===//
//
// SPDX-License-Identifier: Apache-2.0
//
// Takes level 4 programs with unplaced slots and no waits; leaves them ready to
// run. Arguments' slots come first and live for ever; then everything else.
// Only compute releases what a received value takes, so that a receive is never
// posted late because a send is pending, which could close a cycle between two
// ranks. The last slot is no scratch memory, and so written as a whole: a run
// touches the arena's last byte.
//
//===----------------------------------------------------------------------===//
#include "QueueWaits.h"
#include "Slots.h"
#include "mlir/IR/Remarks.h"
#include "pp/IR/Kernel.h"
#include "pp/IR/Model.h"
#include "pp/IR/PlanKeys.h"
#include "pp/Transforms/Passes.h"

using namespace mlir;
using namespace pp;

namespace pp {
#define GEN_PASS_DEF_PLANBUFFERS
#include "pp/Transforms/Passes.h.inc"
} // namespace pp

namespace {

struct PlanBuffersPass : pp::impl::PlanBuffersBase<PlanBuffersPass> {
  void runOnModule() override {
    auto programs = lookupPrograms(getOperation());
    if (failed(programs))
      return signalPassFailure();
    SymbolTable symbols(getOperation());
    if (auto plan = getOperation()->getAttrOfType<PlanAttr>(attrs::kPlan))
      ahead = plan.getInt(PlanKey::Ahead);
    for (ProgramOp program : *programs)
      plan(program, symbols);
  }

private:
  void plan(ProgramOp program, SymbolTable &symbols) const {
    SmallVector<SlotOp> slots(program.getSlots().getOps<SlotOp>());
    SmallVector<Operation *> instructions;
    SmallVector<SmallVector<SlotAccess>> accesses;
    for (Operation &op : program.getBody().front()) {
      instructions.push_back(&op);
      accesses.push_back(getAccesses(op, symbols));
    }
    SmallVector<SlotLifetime> lifetimes = measureLifetimes(slots, accesses);
    extendCollectives(instructions, accesses, lifetimes);
    findPatterns(slots, instructions, accesses, lifetimes);
    program.setArenaBytes(
        place(program, slots, instructions, accesses, lifetimes));
    for (auto [slot, lifetime] : llvm::zip_equal(slots, lifetimes))
      slot.setOffset(lifetime.offset);

    QueueWaits waits(llvm::range_size(program.getQueues().getOps<QueueOp>()));
    for (auto [op, list] : llvm::zip_equal(instructions, accesses)) {
      int64_t queue = op->getAttrOfType<IntegerAttr>("queue").getInt();
      SmallVector<ByteAccess> bytes;
      for (SlotAccess access : list)
        bytes.push_back(
            {lifetimes[access.slot].offset,
             lifetimes[access.slot].offset + lifetimes[access.slot].bytes,
             access.reads, access.writes});
      SmallVector<int64_t> pairs =
          isa<StepOp>(op) ? waits.addBarrier(queue) : waits.add(queue, bytes);
      op->setAttr("waits", DenseI64ArrayAttr::get(op->getContext(), pairs));
    }
  }

  static SmallVector<SlotLifetime>
  measureLifetimes(MutableArrayRef<SlotOp> slots,
                   ArrayRef<SmallVector<SlotAccess>> accesses) {
    SmallVector<SlotLifetime> lifetimes(slots.size());
    for (auto [index, list] : llvm::enumerate(accesses))
      for (SlotAccess access : list) {
        SlotLifetime &lifetime = lifetimes[access.slot];
        if (lifetime.first < 0)
          lifetime.first = index;
        lifetime.last = index;
      }
    for (auto [slot, lifetime] : llvm::zip_equal(slots, lifetimes)) {
      lifetime.bytes = getTensorBytes(slot.getType());
      if (slot.getSlotClass() == SlotClass::Workspace) {
        lifetime.isScratch = true;
        lifetime.alignment = pprt::kWorkspaceAlignment;
      }
    }
    return lifetimes;
  }

  /// Operands of a collective must not be overwritten while it runs, or kernels
  /// would wait for it: until the `ahead`-th later call of its kind and queue
  /// is issued, or its results are awaited.
  void extendCollectives(ArrayRef<Operation *> instructions,
                         ArrayRef<SmallVector<SlotAccess>> accesses,
                         MutableArrayRef<SlotLifetime> lifetimes) const {
    const int64_t end = instructions.size();
    llvm::DenseMap<int64_t, int64_t> nextAccess; // by slot
    llvm::DenseMap<std::pair<int64_t, CollectiveKind>, SmallVector<int64_t>>
        behind; // by queue and kind, descending
    for (int64_t index = end - 1; index >= 0; --index) {
      if (auto op = dyn_cast<CollectiveInstructionOp>(instructions[index])) {
        auto &others = behind[{op.getQueue(), op.getKind()}];
        const int64_t issued = others.size();
        int64_t done = ahead == 0       ? index
                       : issued < ahead ? end - 1
                                        : others[issued - ahead];
        others.push_back(index);
        for (SlotAccess access : accesses[index])
          if (auto next = nextAccess.find(access.slot);
              access.writes && next != nextAccess.end())
            done = std::min(done, next->second);
        for (SlotAccess access : accesses[index])
          lifetimes[access.slot].last =
              std::max(lifetimes[access.slot].last, done);
      }
      for (SlotAccess access : accesses[index])
        nextAccess[access.slot] = index;
    }
  }

  /// What to try. A stage that receives late delays its neighbour; between two,
  /// that would put the whole pipeline in lock step.
  static ArrayRef<MessageTime> listTimes(ArrayRef<Operation *> instructions) {
    static constexpr MessageTime times[] = {
        MessageTime::Ample, MessageTime::ToReceive, MessageTime::Scant,
        MessageTime::None};
    llvm::SmallDenseSet<int64_t> peers;
    for (Operation *op : instructions)
      if (isa<SendOp, RecvOp>(op))
        peers.insert(op->getAttrOfType<IntegerAttr>("peer").getInt());
    const size_t count = peers.empty() ? 1 : peers.size() == 1 ? 4 : 3;
    return ArrayRef(times).take_front(count);
  }

  /// Arguments first; returns the arena's size. Messages get as much time as
  /// is possible within a fiftieth more than what lives at once.
  static int64_t place(ProgramOp program, MutableArrayRef<SlotOp> slots,
                       ArrayRef<Operation *> instructions,
                       ArrayRef<SmallVector<SlotAccess>> accesses,
                       MutableArrayRef<SlotLifetime> lifetimes) {
    int64_t base = 0;
    for (auto [slot, lifetime] : llvm::zip_equal(slots, lifetimes))
      if (slot.getArgument()) {
        lifetime.first = -1;
        lifetime.offset = base;
        base += llvm::alignTo(lifetime.bytes, pprt::kSlotAlignment);
      }
    const int64_t live = base + findMostLive(lifetimes);
    const int64_t goal =
        (base + findMostLive(lifetimes, pprt::kSlotAlignment)) / 50 * 51;
    SmallVector<SlotLifetime> best;
    int64_t end = std::numeric_limits<int64_t>::max();
    for (MessageTime time : listTimes(instructions)) {
      SmallVector<SlotLifetime> timed(lifetimes);
      giveMessagesTime(instructions, accesses, time, timed);
      if (int64_t other = layoutSlots(timed, base); other < end) {
        end = other;
        best = std::move(timed);
      }
      if (end <= goal)
        break;
    }
    for (auto [slot, lifetime, placed] :
         llvm::zip_equal(slots, lifetimes, best))
      if (!slot.getArgument())
        lifetime.offset = placed.offset;
    if (program.getContext()->getRemarkEngine())
      remark::analysis(
          program.getLoc(),
          remark::RemarkOpts::name("arena").category("pp-plan-buffers"))
          << remark::metric("program", program.getSymName())
          << remark::metric("arena_bytes", std::to_string(end))
          << remark::metric("live_bytes", std::to_string(live));
    return end;
  }

  int64_t ahead = 0;
};

} // namespace
