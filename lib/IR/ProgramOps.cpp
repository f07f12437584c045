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

/// Checks the numbers by which an instruction refers to others (program_c2).
/// The program is verified before its instructions, so incomplete instructions
/// are left to their verifiers.
static LogicalResult verifyInstruction(Operation &op, int64_t slots,
                                       int64_t queues) {
  auto slotNumbers = op.getAttrOfType<DenseI64ArrayAttr>("slots");
  auto queueNumber = op.getAttrOfType<IntegerAttr>("queue");
  auto waitNumbers = op.getAttrOfType<DenseI64ArrayAttr>("waits");
  if (!slotNumbers || !queueNumber || !waitNumbers)
    return success();
  if (StringRef fault = findSlotFault(op, slotNumbers.size()); !fault.empty())
    return op.emitOpError() << "expects " << fault << ", got ["
                            << slotNumbers.asArrayRef() << "] (program_c3)";
  for (int64_t slot : slotNumbers.asArrayRef())
    if (slot < 0 || slot >= slots)
      return op.emitOpError() << "expects slots below " << slots << ", got "
                              << slot << " (program_c2)";
  SmallVector<int64_t> used{queueNumber.getInt()};
  ArrayRef<int64_t> waits = waitNumbers.asArrayRef();
  if (waits.size() % 2)
    return op.emitOpError() << "expects pairs of a queue and a count, got ["
                            << waits << "] (program_c2)";
  for (size_t index = 0; index < waits.size(); index += 2)
    used.push_back(waits[index]);
  for (int64_t queue : used)
    if (queue < 0 || queue >= queues)
      return op.emitOpError() << "expects queues below " << queues << ", got "
                              << queue << " (program_c2)";
  return success();
}

LogicalResult ProgramOp::verify() {
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
  int64_t slots = count(getSlots()), queues = count(getQueues());
  for (Region *section : {&getSetup(), &getBody(), &getTeardown()}) {
    if (failed(verifyRegion(*section, "an instruction", isInstruction)))
      return failure();
    for (Operation &op : section->getOps())
      if (failed(verifyInstruction(op, slots, queues)))
        return failure();
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
      op->getParentOp()->getParentOp(), name);
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
  if (isTensor(getType()))
    return success();
  return emitOpError() << "expects a tensor of static shape whose elements the "
                          "dialect knows, got "
                       << getType() << " (slot_c1)";
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
