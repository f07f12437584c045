//===- ParallelCopy.cpp - puts parallel copies in sequence ----------------===//
//
// SPDX-License-Identifier: Apache-2.0
//
// In: copies with different targets, as if done at once. Out: the same as a
// sequence.
//
//===----------------------------------------------------------------------===//
#include "Slots.h"
#include "llvm/ADT/DenseMap.h"
#include <set>

using namespace llvm;
using namespace pp;

SmallVector<SlotCopy>
pp::putInSequence(ArrayRef<SlotCopy> copies,
                  function_ref<int64_t(mlir::Type)> addSlot) {
  SmallVector<SlotCopy> pending(make_filter_range(
      copies, [](const SlotCopy &copy) { return copy.source != copy.target; }));
  DenseMap<int64_t, SmallVector<size_t>> readers; // copies by source
  DenseMap<int64_t, size_t> writers;              // the copy by target
  for (auto [index, copy] : enumerate(pending)) {
    readers[copy.source].push_back(index);
    writers[copy.target] = index;
  }
  SmallVector<SlotCopy> sequence;
  std::set<size_t> free, waiting; // by whether their target is still to be read
  for (auto [index, copy] : enumerate(pending))
    (readers.contains(copy.target) ? waiting : free).insert(index);
  while (!free.empty() || !waiting.empty()) {
    if (free.empty()) {
      size_t first = *waiting.begin();
      auto [source, target, type] = pending[first];
      int64_t saved = addSlot(type);
      sequence.push_back({target, saved, type});
      for (size_t reader : readers[target])
        pending[reader].source = saved;
      // The map may move its entries when it takes the new slot.
      SmallVector<size_t> moved = std::move(readers[target]);
      readers.erase(target);
      readers[saved] = std::move(moved);
      waiting.erase(first);
      free.insert(first);
    }
    size_t next = *free.begin();
    free.erase(free.begin());
    sequence.push_back(pending[next]);
    auto &others = readers[pending[next].source];
    llvm::erase(others, next);
    if (!others.empty())
      continue;
    auto writer = writers.find(pending[next].source);
    if (writer != writers.end() && waiting.erase(writer->second))
      free.insert(writer->second);
  }
  return sequence;
}
