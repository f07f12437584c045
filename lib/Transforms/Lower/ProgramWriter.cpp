//===- ProgramWriter.cpp - appending to a rank program --------------------===//
//
// SPDX-License-Identifier: Apache-2.0
//
//===----------------------------------------------------------------------===//
#include "ProgramWriter.h"
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
                               int64_t argument) {
  OpBuilder inner = OpBuilder::atBlockEnd(&program.getSlots().front());
  SlotOp::create(inner, loc, name, slotClass, /*offset=*/-1, type,
                 argument < 0 ? IntegerAttr()
                              : builder.getI64IntegerAttr(argument));
  return numSlots++;
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
  OpBuilder inner = OpBuilder::atBlockEnd(&program.getBody().front());
  Op::create(inner, loc, slots, std::forward<Args>(args)..., queue,
             ArrayRef<int64_t>(), tag.phase, tag.stage, tag.microBatch);
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
