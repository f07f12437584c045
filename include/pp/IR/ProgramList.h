//===- ProgramList.h - the body of a program as it runs ---------*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0
//
// A body calls routines, and slots have copies; what runs is one flat list over
// tensors at one place each. This is that list, without ops of its own: an
// instruction of a routine is listed once for each call. Assumes a verified
// program, which is not changed but through setWaits().
//
//===----------------------------------------------------------------------===//
#ifndef PP_IR_PROGRAMLIST_H
#define PP_IR_PROGRAMLIST_H

#include "pp/IR/PP.h"
#include <vector>

namespace pp {

/// Pairs of a queue and the count of its completed instructions, by queue.
using QueueCounts = llvm::SmallVector<std::pair<int64_t, int64_t>, 2>;

class ProgramList {
public:
  explicit ProgramList(ProgramOp program);

  /// An instruction as it runs, for a micro-batch or (-1) none.
  struct Item {
    unsigned instruction; ///< index into instructions()
    int microBatch;
    unsigned entry; ///< the op of the body: itself, or the call
  };

  /// The instructions as they are written: those of the body and of routines.
  llvm::ArrayRef<mlir::Operation *> instructions() const { return written; }
  llvm::ArrayRef<Item> items() const { return listed; }
  mlir::Operation *getOp(const Item &item) const {
    return written[item.instruction];
  }
  int64_t getQueue(const Item &item) const { return queues[item.instruction]; }

  /// Copies of slots are numbered, those of one slot in a row.
  int64_t getNumCopies() const { return firstCopies.back(); }
  int64_t getNumSlots() const { return firstCopies.size() - 1; }
  int64_t getFirstCopy(int64_t slot) const { return firstCopies[slot]; }
  int64_t getCopy(int64_t slot, const Item &item) const {
    return getCopy(slot, item.microBatch);
  }
  int64_t getCopy(int64_t slot, int64_t microBatch) const {
    const int64_t first = firstCopies[slot],
                  count = firstCopies[slot + 1] - first;
    return first + (microBatch > 0 ? microBatch % count : 0);
  }

  /// What an item waits for, counted from the beginning of the body.
  QueueCounts getWaits(const Item &item) const;
  /// Writes what each of items() waits for into instructions and calls: what
  /// all calls of a routine wait for within it becomes the routine's.
  void setWaits(llvm::ArrayRef<QueueCounts> waits);

  /// By queue, how many instructions are listed before an op of the body.
  llvm::ArrayRef<int64_t> countsBefore(unsigned entry) const {
    return llvm::ArrayRef(before).slice(entry * numQueues, numQueues);
  }

private:
  /// Where an instruction is in its routine.
  int64_t placeOf(const Item &item) const {
    return item.instruction - firstOfEntry[item.entry];
  }

  std::vector<mlir::Operation *> written;
  std::vector<int64_t> queues; ///< of `written`
  std::vector<Item> listed;
  std::vector<int64_t> firstCopies; ///< by slot, and behind the last
  std::vector<mlir::Operation *> entries;
  std::vector<unsigned> firstOfEntry; ///< index into `written`
  size_t numQueues;
  /// By entry and queue: instructions listed before it.
  std::vector<int64_t> before;
};

} // namespace pp

#endif // PP_IR_PROGRAMLIST_H
