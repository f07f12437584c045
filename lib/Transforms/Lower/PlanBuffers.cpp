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
#include "mlir/IR/Threading.h"
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

using Accesses = std::vector<SmallVector<SlotAccess>>;

struct PlanBuffersPass : pp::impl::PlanBuffersBase<PlanBuffersPass> {
  void runOnModule() override {
    auto programs = lookupPrograms(getOperation());
    if (failed(programs))
      return signalPassFailure();
    SymbolTable symbols(getOperation());
    if (auto plan = getOperation()->getAttrOfType<PlanAttr>(attrs::kPlan))
      ahead = plan.getInt(PlanKey::Ahead);
    // Programs do not depend on each other.
    std::vector<int64_t> live(programs->size());
    parallelFor(&getContext(), 0, programs->size(), [&](size_t index) {
      live[index] = plan((*programs)[index], symbols);
    });
    if (getContext().getRemarkEngine())
      for (auto [program, bytes] : llvm::zip_equal(*programs, live))
        remark(program, bytes);
  }

private:
  static void remark(ProgramOp program, int64_t live) {
    remark::analysis(
        program.getLoc(),
        remark::RemarkOpts::name("arena").category("pp-plan-buffers"))
        << remark::metric("program", program.getSymName())
        << remark::metric("arena_bytes",
                          std::to_string(program.getArenaBytes()))
        << remark::metric("live_bytes", std::to_string(live));
  }

  /// Returns the most bytes that live at once.
  int64_t plan(ProgramOp program, SymbolTable &symbols) const {
    ProgramList list(program);
    const Accesses accesses = listAccesses(list, symbols);
    SmallVector<SlotOp> slots(program.getSlots().getOps<SlotOp>());
    SmallVector<CopyLifetime> lifetimes =
        measureLifetimes(slots, list, accesses);
    extendCollectives(list, accesses, lifetimes);
    const auto [layout, live] = place(slots, list, accesses, lifetimes);
    program.setArenaBytes(layout.end);
    int64_t mostMicroBatch = 0;
    for (const ProgramList::Item &item : list.items())
      mostMicroBatch = std::max<int64_t>(mostMicroBatch, item.microBatch);
    for (auto [number, slot] : llvm::enumerate(slots))
      setOffsets(slot,
                 ArrayRef(lifetimes).slice(list.getFirstCopy(number),
                                           slot.getCopies()),
                 layout.period, mostMicroBatch);
    setWaits(program, list, accesses, lifetimes);
    return live;
  }

  static void setWaits(ProgramOp program, ProgramList &list,
                       const Accesses &accesses,
                       ArrayRef<CopyLifetime> lifetimes) {
    QueueWaits waits(llvm::range_size(program.getQueues().getOps<QueueOp>()));
    const std::vector<bool> contested =
        findContestedCopies(list, accesses, lifetimes);
    std::vector<QueueCounts> all;
    SmallVector<ByteAccess> bytes;
    for (const ProgramList::Item &item : list.items()) {
      const int64_t queue = list.getQueue(item);
      bytes.clear();
      for (SlotAccess access : accesses[item.instruction]) {
        const int64_t number = list.getCopy(access.slot, item);
        const CopyLifetime &copy = lifetimes[number];
        if (contested[number])
          bytes.push_back({copy.offset, copy.offset + copy.bytes, access.reads,
                           access.writes});
      }
      all.push_back(isa<StepOp>(list.getOp(item)) ? waits.addBarrier(queue)
                                                  : waits.add(queue, bytes));
    }
    list.setWaits(all);
  }

  /// By copy: whether several queues touch its bytes.
  static std::vector<bool>
  findContestedCopies(const ProgramList &list, const Accesses &accesses,
                      ArrayRef<CopyLifetime> lifetimes) {
    std::vector<SmallVector<int64_t, 1>> queuesOf(lifetimes.size());
    for (const ProgramList::Item &item : list.items())
      for (SlotAccess access : accesses[item.instruction]) {
        auto &its = queuesOf[list.getCopy(access.slot, item)];
        if (!llvm::is_contained(its, list.getQueue(item)))
          its.push_back(list.getQueue(item));
      }
    std::vector<QueueBytes> ranges;
    std::vector<int64_t> copies;
    for (auto [number, its] : llvm::enumerate(queuesOf))
      for (int64_t queue : its) {
        const CopyLifetime &copy = lifetimes[number];
        ranges.push_back({copy.offset, copy.offset + copy.bytes, queue});
        copies.push_back(number);
      }
    std::vector<bool> result(lifetimes.size());
    for (auto [copy, isContested] :
         llvm::zip_equal(copies, findContested(ranges)))
      if (isContested)
        result[copy] = true;
    return result;
  }

  /// Of a slot whose copies take `period` places in turn, or one, only those
  /// stay. An item for micro-batch i then has copy i modulo `period`: that must
  /// be the copy that was placed for it.
  static void setOffsets(SlotOp slot, ArrayRef<CopyLifetime> copies,
                         int64_t period, int64_t mostMicroBatch) {
    const int64_t count = copies.size();
    SmallVector<int64_t> offsets;
    auto takeTurns = [&](int64_t period) {
      if (period < 1 || (mostMicroBatch >= count && count % period != 0))
        return false;
      offsets.assign(period, -1);
      for (auto [number, copy] : llvm::enumerate(copies)) {
        int64_t &offset = offsets[number % period];
        if (copy.first < 0) // nothing touches it
          continue;
        if (offset >= 0 && offset != copy.offset)
          return false;
        offset = copy.offset;
      }
      return true;
    };
    if (!takeTurns(1) && !takeTurns(period))
      takeTurns(count);
    for (auto [offset, copy] : llvm::zip(offsets, copies))
      if (offset < 0)
        offset = copy.offset;
    slot.setOffsets(offsets);
    slot.setCopies(offsets.size());
  }

  static SmallVector<CopyLifetime>
  measureLifetimes(MutableArrayRef<SlotOp> slots, const ProgramList &list,
                   const Accesses &accesses) {
    SmallVector<CopyLifetime> lifetimes(list.getNumCopies());
    for (auto [index, item] : llvm::enumerate(list.items()))
      for (SlotAccess access : accesses[item.instruction]) {
        CopyLifetime &lifetime = lifetimes[list.getCopy(access.slot, item)];
        if (lifetime.first < 0)
          lifetime.first = index;
        lifetime.last = index;
      }
    for (auto [number, slot] : llvm::enumerate(slots))
      for (int64_t copy = 0; copy < int64_t(slot.getCopies()); ++copy) {
        CopyLifetime &lifetime = lifetimes[list.getFirstCopy(number) + copy];
        lifetime.bytes = getTensorBytes(slot.getType());
        if (slot.getCopies() > 1) {
          lifetime.pattern = number;
          lifetime.copy = copy;
        }
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
  void extendCollectives(const ProgramList &list, const Accesses &accesses,
                         MutableArrayRef<CopyLifetime> lifetimes) const {
    const int64_t end = list.items().size();
    std::vector<int64_t> nextAccess(lifetimes.size(), -1); // by copy
    llvm::DenseMap<std::pair<int64_t, CollectiveKind>, SmallVector<int64_t>>
        behind; // by queue and kind, descending
    for (int64_t index = end - 1; index >= 0; --index) {
      const ProgramList::Item &item = list.items()[index];
      auto copyOf = [&](SlotAccess access) {
        return list.getCopy(access.slot, item);
      };
      ArrayRef<SlotAccess> its = accesses[item.instruction];
      if (auto op = dyn_cast<CollectiveInstructionOp>(list.getOp(item))) {
        auto &others = behind[{op.getQueue(), op.getKind()}];
        const int64_t issued = others.size();
        int64_t done = ahead == 0       ? index
                       : issued < ahead ? end - 1
                                        : others[issued - ahead];
        others.push_back(index);
        for (SlotAccess access : its)
          if (int64_t next = nextAccess[copyOf(access)];
              access.writes && next >= 0)
            done = std::min(done, next);
        for (SlotAccess access : its)
          lifetimes[copyOf(access)].last =
              std::max(lifetimes[copyOf(access)].last, done);
      }
      for (SlotAccess access : its)
        nextAccess[copyOf(access)] = index;
    }
  }

  /// What to try. A stage that receives late delays its neighbour; between two,
  /// that would put the whole pipeline in lock step.
  static ArrayRef<MessageTime> listTimes(const ProgramList &list) {
    static constexpr MessageTime times[] = {
        MessageTime::Ample, MessageTime::ToReceive, MessageTime::Scant,
        MessageTime::None};
    llvm::SmallDenseSet<int64_t> peers;
    for (Operation *op : list.instructions())
      if (isa<SendOp, RecvOp>(op))
        peers.insert(op->getAttrOfType<IntegerAttr>("peer").getInt());
    const size_t count = peers.empty() ? 1 : peers.size() == 1 ? 4 : 3;
    return ArrayRef(times).take_front(count);
  }

  /// Arguments first; returns the arena's size, and what lives at once.
  /// Messages get as much time as is possible within a fiftieth more than what
  /// lives at once.
  static std::pair<ArenaLayout, int64_t>
  place(MutableArrayRef<SlotOp> slots, const ProgramList &list,
        const Accesses &accesses, MutableArrayRef<CopyLifetime> lifetimes) {
    int64_t base = 0;
    std::vector<bool> isArgument(lifetimes.size());
    for (auto [number, slot] : llvm::enumerate(slots))
      if (slot.getArgument()) {
        isArgument[list.getFirstCopy(number)] = true;
        CopyLifetime &lifetime = lifetimes[list.getFirstCopy(number)];
        lifetime.first = -1;
        lifetime.offset = base;
        base += llvm::alignTo(lifetime.bytes, pprt::kSlotAlignment);
      }
    const int64_t live = base + findMostLive(lifetimes);
    const int64_t goal =
        (base + findMostLive(lifetimes, pprt::kSlotAlignment)) / 50 * 51;
    SmallVector<CopyLifetime> best;
    ArenaLayout layout{std::numeric_limits<int64_t>::max(), 0};
    for (MessageTime time : listTimes(list)) {
      SmallVector<CopyLifetime> timed(lifetimes);
      giveMessagesTime(list, accesses, time, timed);
      if (ArenaLayout other = layoutSlots(timed, base);
          other.end < layout.end) {
        layout = other;
        best = std::move(timed);
      }
      if (layout.end <= goal)
        break;
    }
    for (auto [isHeld, lifetime, placed] :
         llvm::zip_equal(isArgument, lifetimes, best))
      if (!isHeld)
        lifetime.offset = placed.offset;
    return {layout, live};
  }

  int64_t ahead = 0;
};

} // namespace
