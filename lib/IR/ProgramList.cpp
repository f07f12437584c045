//===- ProgramList.cpp - the body of a program as it runs -----------------===//
//
// SPDX-License-Identifier: Apache-2.0
//
//===----------------------------------------------------------------------===//
#include "pp/IR/ProgramList.h"
#include "mlir/IR/Builders.h"
#include "llvm/ADT/DenseMap.h"
#include "llvm/ADT/STLExtras.h"

using namespace mlir;
using namespace pp;

static int64_t getInt(Operation *op, StringRef name) {
  return op->getAttrOfType<IntegerAttr>(name).getInt();
}

static ArrayRef<int64_t> getWaitNumbers(Operation *op) {
  return op->getAttrOfType<DenseI64ArrayAttr>("waits").asArrayRef();
}

ProgramList::ProgramList(ProgramOp program)
    : numQueues(llvm::range_size(program.getQueues().getOps<QueueOp>())) {
  firstCopies.push_back(0);
  for (auto slot : program.getSlots().getOps<SlotOp>())
    firstCopies.push_back(firstCopies.back() + slot.getCopies());

  struct Routine {
    unsigned begin, end;
  };
  llvm::DenseMap<StringAttr, Routine> routines; // by name
  auto write = [&](Operation &op) {
    written.push_back(&op);
    queues.push_back(getInt(&op, "queue"));
  };
  for (auto routine : program.getRoutines().getOps<RoutineOp>()) {
    const unsigned begin = written.size();
    for (Operation &op : routine.getBody().front())
      write(op);
    routines[routine.getNameAttr()] = {begin, unsigned(written.size())};
  }
  std::vector<int64_t> counts(numQueues);
  for (Operation &op : program.getBody().front()) {
    const unsigned entry = entries.size();
    entries.push_back(&op);
    llvm::append_range(before, counts);
    auto call = dyn_cast<CallOp>(op);
    if (!call)
      write(op);
    const Routine its =
        call ? routines.at(call.getRoutineAttr())
             : Routine{unsigned(written.size()) - 1, unsigned(written.size())};
    firstOfEntry.push_back(its.begin);
    const int microBatch =
        call ? call.getMicroBatch() : getInt(&op, "micro_batch");
    for (unsigned instruction = its.begin; instruction < its.end;
         ++instruction) {
      listed.push_back({instruction, microBatch, entry});
      ++counts[queues[instruction]];
    }
  }
}

QueueCounts ProgramList::getWaits(const Item &item) const {
  QueueCounts waits;
  auto call = dyn_cast<CallOp>(entries[item.entry]);
  const ArrayRef<int64_t> base = countsBefore(item.entry);
  const ArrayRef<int64_t> own = getWaitNumbers(getOp(item));
  for (size_t i = 0; i < own.size(); i += 2)
    waits.push_back({own[i], own[i + 1] + (call ? base[own[i]] : 0)});
  if (call) {
    // They ascend by instruction.
    ArrayRef<int64_t> triples = call.getWaits();
    const auto numbers = llvm::seq<size_t>(triples.size() / 3);
    auto next = llvm::partition_point(
        numbers, [&](size_t i) { return triples[3 * i] < placeOf(item); });
    for (; next != numbers.end() && triples[3 * *next] == placeOf(item); ++next)
      waits.push_back({triples[3 * *next + 1], triples[3 * *next + 2]});
  }
  llvm::sort(waits);
  return waits;
}

void ProgramList::setWaits(ArrayRef<QueueCounts> waits) {
  // By instruction of a routine: counts within it, and in how many calls.
  std::vector<llvm::SmallDenseMap<std::pair<int64_t, int64_t>, unsigned, 2>>
      within(written.size());
  std::vector<unsigned> numCalls(written.size());
  auto isOfRoutine = [&](const Item &item) {
    return isa<CallOp>(entries[item.entry]);
  };
  auto inRoutine = [&](const Item &item, std::pair<int64_t, int64_t> wait) {
    wait.second -= countsBefore(item.entry)[wait.first];
    return wait;
  };
  for (auto [item, its] : llvm::zip_equal(listed, waits)) {
    if (!isOfRoutine(item))
      continue;
    ++numCalls[item.instruction];
    for (std::pair<int64_t, int64_t> wait : its)
      if (auto relative = inRoutine(item, wait); relative.second > 0)
        ++within[item.instruction][relative];
  }
  auto isOfAllCalls = [&](const Item &item, std::pair<int64_t, int64_t> wait) {
    return within[item.instruction].lookup(inRoutine(item, wait)) ==
           numCalls[item.instruction];
  };
  Builder builder(written.empty() ? nullptr : written.front()->getContext());
  auto set = [&](Operation *op, ArrayRef<int64_t> numbers) {
    op->setAttr("waits", builder.getDenseI64ArrayAttr(numbers));
  };
  std::vector<bool> isSet(written.size());
  SmallVector<int64_t> ofCall;
  for (size_t i = 0; i < listed.size(); ++i) {
    const Item &item = listed[i];
    SmallVector<int64_t> own;
    for (std::pair<int64_t, int64_t> wait : waits[i]) {
      if (!isOfRoutine(item))
        own.append({wait.first, wait.second});
      else if (!isOfAllCalls(item, wait))
        ofCall.append({placeOf(item), wait.first, wait.second});
      else if (auto relative = inRoutine(item, wait); !isSet[item.instruction])
        own.append({relative.first, relative.second});
    }
    if (!isSet[item.instruction])
      set(getOp(item), own);
    isSet[item.instruction] = true;
    if (isOfRoutine(item) &&
        (i + 1 == listed.size() || listed[i + 1].entry != item.entry)) {
      set(entries[item.entry], ofCall);
      ofCall.clear();
    }
  }
}
