//===- ProgramWriter.cpp - appending to a rank program --------------------===//
//
// SPDX-License-Identifier: Apache-2.0
//
//===----------------------------------------------------------------------===//
#include "ProgramWriter.h"
#include "llvm/ADT/MapVector.h"
#include "llvm/ADT/TypeSwitch.h"

using namespace mlir;
using namespace pp;

ProgramWriter::ProgramWriter(ModuleOp module, StringRef name,
                             ArrayRef<int64_t> ranks)
    : builder(module.getContext()), loc(module.getLoc()) {
  builder.setInsertionPointToEnd(module.getBody());
  program = ProgramOp::create(builder, loc, builder.getStringAttr(name),
                              builder.getDenseI64ArrayAttr(ranks),
                              builder.getI64IntegerAttr(0));
  for (Region &region : program->getRegions())
    region.emplaceBlock();
  queue("compute", QueueKind::Compute);
}

int64_t ProgramWriter::addSlot(StringRef name, SlotClass slotClass, Type type,
                               int64_t copies) {
  OpBuilder inner = OpBuilder::atBlockEnd(&program.getSlots().front());
  SlotOp::create(inner, loc, name, slotClass, /*offsets=*/ArrayRef<int64_t>(),
                 copies, type, /*argument=*/IntegerAttr());
  return numSlots++;
}

int64_t ProgramWriter::addArgument(StringRef name, SlotClass slotClass,
                                   Type type, int64_t argument) {
  const int64_t slot = addSlot(name, slotClass, type, /*copies=*/1);
  cast<SlotOp>(program.getSlots().front().back()).setArgument(argument);
  return slot;
}

RoutineOp ProgramWriter::beginRoutine(StringRef name) {
  OpBuilder inner = OpBuilder::atBlockEnd(&program.getRoutines().front());
  // finish() gives it its name, once it is known that it stays.
  routine = RoutineOp::create(
      inner, loc, builder.getStringAttr(Twine(routineNames.size())));
  routineNames.push_back(name.str());
  routine.getBody().emplaceBlock();
  return routine;
}

void ProgramWriter::call(RoutineOp routine, int64_t microBatch) {
  OpBuilder inner = OpBuilder::atBlockEnd(&program.getBody().front());
  CallOp::create(inner, loc, routine.getNameAttr(), microBatch,
                 ArrayRef<int64_t>());
}

void ProgramWriter::finish() {
  llvm::MapVector<StringAttr, SmallVector<CallOp, 1>> calls;
  for (auto call : program.getBody().getOps<CallOp>())
    calls[call.getRoutineAttr()].push_back(call);
  llvm::StringMap<int64_t> names;
  SmallVector<RoutineOp> routines(program.getRoutines().getOps<RoutineOp>());
  for (auto [routine, name] : llvm::zip_equal(routines, routineNames)) {
    ArrayRef<CallOp> its = calls[routine.getNameAttr()];
    if (its.size() > 1) {
      const int64_t count = ++names[name];
      routine.setName(count == 1 ? name : name + "." + std::to_string(count));
      for (CallOp call : its)
        call.setRoutineAttr(routine.getNameAttr());
      continue;
    }
    CallOp call = its.front();
    Block &instructions = routine.getBody().front();
    for (Operation &op : instructions)
      op.setAttr("micro_batch", call.getMicroBatchAttr());
    call->getBlock()->getOperations().splice(call->getIterator(),
                                             instructions.getOperations());
    call.erase();
    routine.erase();
  }
}

int64_t ProgramWriter::queue(StringRef name, QueueKind kind) {
  auto [it, isNew] = queues.try_emplace(name, queues.size());
  if (isNew) {
    OpBuilder inner = OpBuilder::atBlockEnd(&program.getQueues().front());
    QueueOp::create(inner, loc, name, kind);
  }
  return it->second;
}

/// Every instruction ends with queue, waits and tag.
template <typename Op, typename... Args>
void ProgramWriter::append(ArrayRef<int64_t> slots, int64_t queue,
                           Args &&...args) {
  OpBuilder inner = OpBuilder::atBlockEnd(routine ? &routine.getBody().front()
                                                  : &program.getBody().front());
  Op::create(inner, loc, slots, std::forward<Args>(args)..., queue,
             ArrayRef<int64_t>(), tag.phase, tag.stage,
             routine ? -1 : tag.microBatch);
}

void ProgramWriter::run(func::FuncOp kernel, ArrayRef<int64_t> slots,
                        bool accumulate) {
  append<RunOp>(slots, 0, kernel.getSymName(), accumulate);
}

void ProgramWriter::send(int64_t slot, int64_t peer) {
  append<SendOp>(slot, queue(("send " + Twine(peer)).str(), QueueKind::Send),
                 peer);
}
void ProgramWriter::recv(int64_t slot, int64_t peer) {
  append<RecvOp>(slot, queue(("recv " + Twine(peer)).str(), QueueKind::Recv),
                 peer);
}
void ProgramWriter::copy(int64_t source, int64_t target) {
  append<CopyOp>({source, target}, 0);
}
void ProgramWriter::load(int64_t slot, int64_t argument) {
  append<LoadOp>(slot, 0, argument);
}
void ProgramWriter::emit(int64_t slot, int64_t output) {
  append<EmitOp>(slot, 0, output);
}
void ProgramWriter::step() {
  setTag({});
  append<StepOp>({}, 0);
}

void ProgramWriter::collective(Operation *op, ArrayRef<int64_t> slots) {
  auto axes = op->getAttrOfType<ArrayAttr>("axes");
  std::string name = "collective";
  for (Attribute axis : axes)
    name += " " + cast<StringAttr>(axis).getValue().str();
  int64_t index = queue(name, QueueKind::Collective);
  auto add = [&](CollectiveKind kind, std::optional<Reduction> reduction,
                 ArrayRef<int64_t> stages = {},
                 ArrayRef<int64_t> dimensions = {},
                 ArrayRef<int64_t> splitDimensions = {},
                 ArrayAttr target = {}) {
    auto reductionAttr = reduction
                             ? ReductionAttr::get(op->getContext(), *reduction)
                             : ReductionAttr();
    append<CollectiveInstructionOp>(slots, index, kind, reductionAttr, axes,
                                    stages, dimensions, splitDimensions,
                                    target);
  };
  llvm::TypeSwitch<Operation *>(op)
      .Case([&](AllReduceOp reduce) {
        add(CollectiveKind::AllReduce, reduce.getReduction(),
            reduce.getStages().value_or(ArrayRef<int64_t>()));
      })
      .Case([&](AllGatherOp gather) {
        add(CollectiveKind::AllGather, std::nullopt, {},
            gather.getDimensions());
      })
      .Case([&](ReduceScatterOp scatter) {
        add(CollectiveKind::ReduceScatter, scatter.getReduction(), {},
            scatter.getDimensions());
      })
      .Case([&](AllToAllOp exchange) {
        add(CollectiveKind::AllToAll, std::nullopt, {},
            static_cast<int64_t>(exchange.getConcatDimension()),
            static_cast<int64_t>(exchange.getSplitDimension()));
      })
      .Case([&](PermuteOp permute) {
        add(CollectiveKind::Permute, std::nullopt, {}, {}, {},
            permute.getTarget());
      });
}
