//===- ProgramOps.cpp - verifiers of programs and slots -------------------===//
//
// SPDX-License-Identifier: Apache-2.0
//
// Checks a program before it is translated to an artifact, where pprt/Checks.h
// proves the absence of races and deadlocks. Each failed check names the label
// of the constraint in the op's description.
//
//===----------------------------------------------------------------------===//
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "pp/IR/Kernel.h"
#include "pp/IR/Values.h"
#include "pp/Schedule/Schedule.h"
#include "llvm/ADT/StringMap.h"
#include "llvm/ADT/TypeSwitch.h"

using namespace mlir;
using namespace pp;

static bool isInstruction(Operation &op) {
  return isa<RunOp, SendOp, RecvOp, CollectiveInstructionOp, CopyOp, LoadOp,
             EmitOp, FlagOp, GateOp, StepOp>(op);
}

/// Checks that every op of a region is of the right kind (program_c1).
static LogicalResult verifyRegion(Region &region, StringRef expected,
                                  function_ref<bool(Operation &)> isExpected) {
  for (Operation &op : region.getOps())
    if (!isExpected(op))
      return op.emitOpError() << "expects to be " << expected << " here, got "
                              << op.getName() << " (program_c1)";
  return success();
}

/// The number of slots that `op` should name (program_c3), in words; empty if
/// it does. Kernels have a separate check.
static StringRef findSlotFault(Operation &op, size_t count) {
  auto unless = [](bool isFit, StringRef expected) {
    return isFit ? StringRef() : expected;
  };
  return llvm::TypeSwitch<Operation *, StringRef>(&op)
      .Case<SendOp, RecvOp, LoadOp, EmitOp>(
          [&](auto) { return unless(count == 1, "one slot"); })
      .Case([&](CopyOp) { return unless(count == 2, "two slots"); })
      .Case([&](FlagOp) { return unless(count >= 1, "a slot for the flag"); })
      .Case([&](CollectiveInstructionOp) {
        return unless(count % 2 == 0, "as many slots to read as to write");
      })
      .Case([&](StepOp) { return unless(count == 0, "no slots"); })
      .Default([](Operation *) { return StringRef(); });
}

/// Checks that `number` is from 0 on and below `bound` (constraint `label`).
static LogicalResult expectBelow(Operation *op, StringRef what, int64_t number,
                                 int64_t bound, StringRef label) {
  if (number >= 0 && number < bound)
    return success();
  return op->emitOpError() << "expects " << what << " below " << bound
                           << ", got " << number << " (" << label << ")";
}

/// Artifacts count what a queue has completed in 32 bits.
constexpr int64_t kCounts = int64_t(1) << 32;

/// Checks the numbers by which an instruction refers to others (program_c2).
static LogicalResult verifyInstruction(Operation &op, int64_t slots,
                                       int64_t queues, bool isOfRoutine) {
  constexpr StringLiteral label = "program_c2";
  ArrayRef<int64_t> slotNumbers = op.getAttrOfType<DenseI64ArrayAttr>("slots");
  if (StringRef fault = findSlotFault(op, slotNumbers.size()); !fault.empty())
    return op.emitOpError() << "expects " << fault << ", got [" << slotNumbers
                            << "] (program_c3)";
  for (int64_t slot : slotNumbers)
    if (failed(expectBelow(&op, "slots", slot, slots, label)))
      return failure();
  auto getInt = [&](StringRef name) {
    return op.getAttrOfType<IntegerAttr>(name).getInt();
  };
  const int64_t microBatch = getInt("micro_batch");
  if (isOfRoutine && microBatch != -1)
    return op.emitOpError() << "expects no micro-batch in a routine, whose "
                               "calls have one, got "
                            << microBatch << " (program_c2)";
  if (microBatch != -1 && failed(expectBelow(&op, "a micro-batch", microBatch,
                                             schedule::maxMicroBatches, label)))
    return failure();
  ArrayRef<int64_t> waits = op.getAttrOfType<DenseI64ArrayAttr>("waits");
  if (waits.size() % 2)
    return op.emitOpError() << "expects pairs of a queue and a count, got ["
                            << waits << "] (program_c2)";
  if (failed(expectBelow(&op, "queues", getInt("queue"), queues, label)))
    return failure();
  for (size_t index = 0; index < waits.size(); index += 2)
    if (failed(expectBelow(&op, "queues", waits[index], queues, label)) ||
        failed(expectBelow(&op, "a count", waits[index + 1], kCounts, label)))
      return failure();
  return success();
}

/// Checks that a routine's instructions wait for its own (program_c2).
static LogicalResult verifyOwnWaits(Region &routine, int64_t queues) {
  SmallVector<int64_t> counts(queues);
  for (Operation &op : routine.getOps())
    ++counts[op.getAttrOfType<IntegerAttr>("queue").getInt()];
  for (Operation &op : routine.getOps()) {
    ArrayRef<int64_t> waits =
        op.getAttrOfType<DenseI64ArrayAttr>("waits").asArrayRef();
    for (size_t index = 0; index < waits.size(); index += 2)
      if (const int64_t most = counts[waits[index]];
          waits[index + 1] < 1 || waits[index + 1] > most)
        return op.emitOpError()
               << "expects to wait for an instruction of the routine, of which "
                  "queue "
               << waits[index] << " has " << most << ", got number "
               << waits[index + 1] << " (program_c2)";
  }
  return success();
}

/// `sizes` are those of the routines, by name (program_c4).
static LogicalResult
verifyCall(CallOp call, const llvm::StringMap<int64_t> &sizes, int64_t queues) {
  const auto routine = sizes.find(call.getRoutine());
  if (routine == sizes.end())
    return call.emitOpError() << "expects the name of a routine, got \""
                              << call.getRoutine() << "\" (program_c4)";
  constexpr StringLiteral label = "program_c4";
  if (failed(expectBelow(call, "a micro-batch", call.getMicroBatch(),
                         schedule::maxMicroBatches, label)))
    return failure();
  ArrayRef<int64_t> waits = call.getWaits();
  if (waits.size() % 3)
    return call.emitOpError()
           << "expects triples of an instruction, a queue and a count, got ["
           << waits << "] (program_c4)";
  for (size_t index = 0; index < waits.size(); index += 3) {
    if (failed(expectBelow(call, "an instruction", waits[index],
                           routine->second, label)) ||
        failed(expectBelow(call, "queues", waits[index + 1], queues, label)) ||
        failed(expectBelow(call, "a count", waits[index + 2], kCounts, label)))
      return failure();
    if (index > 0 && waits[index] < waits[index - 3])
      return call.emitOpError()
             << "expects the waits of an instruction behind those of the ones "
                "before it, got ["
             << waits << "] (program_c4)";
  }
  return success();
}

LogicalResult ProgramOp::verifyRegions() {
  if (getMain() != "main")
    return emitOpError("expects main to be @main, got @") << getMain();
  if (failed(verifyRegion(getSlots(), "a pp.slot",
                          [](Operation &op) { return isa<SlotOp>(op); })) ||
      failed(verifyRegion(getQueues(), "a pp.queue",
                          [](Operation &op) { return isa<QueueOp>(op); })))
    return failure();
  auto count = [](Region &region) {
    return static_cast<int64_t>(llvm::range_size(region.getOps()));
  };
  const int64_t slots = count(getSlots()), queues = count(getQueues());
  // As the runtime's checks do.
  constexpr int64_t mostQueues = 1024;
  if (queues > mostQueues)
    return emitOpError() << "expects at most " << mostQueues << " queues, got "
                         << queues << " (program_c5)";
  auto verifyList = [&](Region &list, StringRef expected,
                        function_ref<bool(Operation &)> isExpected) {
    if (failed(verifyRegion(list, expected, isExpected)))
      return failure();
    for (Operation &op : list.getOps())
      if (!isa<CallOp>(op) &&
          failed(verifyInstruction(op, slots, queues,
                                   isa<RoutineOp>(list.getParentOp()))))
        return failure();
    return success();
  };
  llvm::StringMap<int64_t> sizes; // of routines
  if (failed(verifyRegion(getRoutines(), "a pp.routine",
                          [](Operation &op) { return isa<RoutineOp>(op); })))
    return failure();
  for (auto routine : getRoutines().getOps<RoutineOp>()) {
    if (!sizes.try_emplace(routine.getName(), count(routine.getBody())).second)
      return routine.emitOpError()
             << "expects a name of its own, got \"" << routine.getName()
             << "\", which another routine has (program_c4)";
    if (failed(verifyList(routine.getBody(), "an instruction of routines",
                          [](Operation &op) {
                            return isInstruction(op) && !isa<StepOp>(op);
                          })) ||
        failed(verifyOwnWaits(routine.getBody(), queues)))
      return failure();
  }
  for (Region *section : {&getSetup(), &getTeardown()})
    if (failed(verifyList(*section, "an instruction", isInstruction)))
      return failure();
  if (failed(
          verifyList(getBody(), "an instruction or a call", [](Operation &op) {
            return isInstruction(op) || isa<CallOp>(op);
          })))
    return failure();
  llvm::DenseSet<std::pair<StringAttr, int64_t>> calls;
  for (auto call : getBody().getOps<CallOp>()) {
    if (failed(verifyCall(call, sizes, queues)))
      return failure();
    if (!calls.insert({call.getRoutineAttr(), call.getMicroBatch()}).second)
      return call.emitOpError() << "expects one call of \"" << call.getRoutine()
                                << "\" for micro-batch " << call.getMicroBatch()
                                << ", got another (program_c4)";
  }
  return success();
}

/// Checks that `name` is a kernel, with as many parameters, plus `numFlags`
/// flags, as there are slots (constraint `label`).
static LogicalResult verifyKernelUse(Operation *op, FlatSymbolRefAttr name,
                                     ArrayRef<int64_t> slots, size_t numFlags,
                                     SymbolTableCollection &symbols,
                                     StringRef label) {
  auto kernel = symbols.lookupNearestSymbolFrom<func::FuncOp>(
      op->getParentOfType<ProgramOp>()->getParentOp(), name);
  if (!kernel || !getKernelKind(kernel))
    return op->emitOpError() << "expects a kernel named " << name
                             << ", got none (" << label << ")";
  size_t expected = getRunParameters(kernel).size() + numFlags;
  if (slots.size() != expected)
    return op->emitOpError()
           << "expects " << expected << " slots for " << name << ", got "
           << slots.size() << " (" << label << ")";
  return success();
}

LogicalResult RunOp::verifySymbolUses(SymbolTableCollection &symbols) {
  return verifyKernelUse(*this, getKernelAttr(), getSlots(), /*numFlags=*/0,
                         symbols, "run_c1");
}

LogicalResult GateOp::verifySymbolUses(SymbolTableCollection &symbols) {
  return verifyKernelUse(*this, getKernelAttr(), getSlots(), /*numFlags=*/1,
                         symbols, "gate_c1");
}

LogicalResult SlotOp::verify() {
  if (!isTensor(getType()))
    return emitOpError() << "expects a tensor of static shape whose elements "
                            "the dialect knows, got "
                         << getType() << " (slot_c1)";
  const int64_t copies = getCopies(), places = getOffsets().size();
  const int64_t most = getArgument() ? 1 : schedule::maxMicroBatches;
  if (copies < 1 || copies > most)
    return emitOpError() << "expects between 1 and " << most << " copies, got "
                         << copies << " (slot_c3)";
  if (places != 0 && places != copies)
    return emitOpError() << "expects an offset of each of " << copies
                         << " copies or none, got " << places << " (slot_c3)";
  for (int64_t offset : getOffsets())
    if (offset < 0)
      return emitOpError() << "expects offsets from 0 on, got " << offset
                           << " (slot_c3)";
  return success();
}

LogicalResult SlotOp::verifySymbolUses(SymbolTableCollection &symbols) {
  std::optional<uint64_t> argument = getArgument();
  if (!argument)
    return success();
  auto main = symbols.lookupNearestSymbolFrom<func::FuncOp>(
      getOperation()->getParentOp(), StringAttr::get(getContext(), "main"));
  if (!main || *argument >= main.getNumArguments())
    return emitOpError() << "expects an argument below "
                         << (main ? main.getNumArguments() : 0)
                         << " of @main, got " << *argument << " (slot_c2)";
  if (main.getArgumentTypes()[*argument] != getType())
    return emitOpError() << "expects the type of argument " << *argument << ", "
                         << main.getArgumentTypes()[*argument] << ", got "
                         << getType() << " (slot_c2)";
  return success();
}
