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
  std::vector<int64_t> queues;                  // by instruction as written
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

QueueCounts ProgramList::getWaits(const Run &run) const {
  QueueCounts waits;
  auto call = dyn_cast<CallOp>(entries[run.entry]);
  const ArrayRef<int64_t> base = countsBefore(run.entry);
  const ArrayRef<int64_t> own = getWaitNumbers(getOp(run));
  for (size_t i = 0; i < own.size(); i += 2)
    waits.push_back({own[i], own[i + 1] + (call ? base[own[i]] : 0)});
  if (call) {
    ArrayRef<int64_t> triples = call.getWaits();
    for (size_t i = 0; i < triples.size(); i += 3)
      if (triples[i] == placeOf(run))
        waits.push_back({triples[i + 1], triples[i + 2]});
  }
  llvm::sort(waits);
  return waits;
}

void ProgramList::setWaits(ArrayRef<QueueCounts> waits) {
  // By instruction of a routine: counts within it, and in how many calls.
  std::vector<llvm::SmallDenseMap<std::pair<int64_t, int64_t>, unsigned, 2>>
      within(written.size());
  std::vector<unsigned> numCalls(written.size());
  auto isOfRoutine = [&](const Run &run) {
    return isa<CallOp>(entries[run.entry]);
  };
  auto inRoutine = [&](const Run &run, std::pair<int64_t, int64_t> wait) {
    wait.second -= countsBefore(run.entry)[wait.first];
    return wait;
  };
  for (auto [run, its] : llvm::zip_equal(listed, waits)) {
    if (!isOfRoutine(run))
      continue;
    ++numCalls[run.instruction];
    for (std::pair<int64_t, int64_t> wait : its)
      if (auto relative = inRoutine(run, wait); relative.second > 0)
        ++within[run.instruction][relative];
  }
  auto isOfAllCalls = [&](const Run &run, std::pair<int64_t, int64_t> wait) {
    return within[run.instruction].lookup(inRoutine(run, wait)) ==
           numCalls[run.instruction];
  };
  Builder builder(written.empty() ? nullptr : written.front()->getContext());
  auto set = [&](Operation *op, ArrayRef<int64_t> numbers) {
    op->setAttr("waits", builder.getDenseI64ArrayAttr(numbers));
  };
  std::vector<bool> isSet(written.size());
  SmallVector<int64_t> ofCall;
  for (size_t i = 0; i < listed.size(); ++i) {
    const Run &run = listed[i];
    SmallVector<int64_t> own;
    for (std::pair<int64_t, int64_t> wait : waits[i]) {
      if (!isOfRoutine(run))
        own.append({wait.first, wait.second});
      else if (!isOfAllCalls(run, wait))
        ofCall.append({placeOf(run), wait.first, wait.second});
      else if (auto relative = inRoutine(run, wait); !isSet[run.instruction])
        own.append({relative.first, relative.second});
    }
    if (!isSet[run.instruction])
      set(getOp(run), own);
    isSet[run.instruction] = true;
    if (isOfRoutine(run) &&
        (i + 1 == listed.size() || listed[i + 1].entry != run.entry)) {
      set(entries[run.entry], ofCall);
      ofCall.clear();
    }
  }
}
