//===- QueueWaits.h - waits of an instruction -------------------*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0
//
// Walks a rank's list once. For every byte of the arena it remembers who last
// wrote it and who has read it since; a conflicting access of another queue
// waits for them. A wait that earlier waits imply is left out (a vector clock
// per queue knows). Waits only ever point back in the list.
//
//===----------------------------------------------------------------------===//
#ifndef PP_LIB_TRANSFORMS_LOWER_QUEUEWAITS_H
#define PP_LIB_TRANSFORMS_LOWER_QUEUEWAITS_H

#include "pp/IR/ProgramList.h"
#include <cstdint>
#include <map>
#include <vector>

namespace pp {

/// An access to the bytes [begin, end) of the arena.
struct ByteAccess {
  int64_t begin, end;
  bool reads, writes;
};

/// Bytes [begin, end) that instructions of a queue touch.
struct QueueBytes {
  int64_t begin, end, queue;
};

/// By range: whether another queue touches some of its bytes, too. Accesses to
/// others need no waits, since a queue is in order.
std::vector<bool> findContested(llvm::ArrayRef<QueueBytes> ranges);

class QueueWaits {
public:
  explicit QueueWaits(unsigned queues);

  /// Appends an instruction to `queue`; returns what it waits for.
  QueueCounts add(int64_t queue, llvm::ArrayRef<ByteAccess> accesses);

  /// Appends an instruction that waits for all earlier ones.
  QueueCounts addBarrier(int64_t queue);

private:
  /// Per queue: how many of its instructions are known to be complete.
  using Clock = std::vector<int64_t>;
  struct Event {
    int64_t queue, count;
  };
  struct Bytes {
    int64_t end;
    llvm::SmallVector<Event, 1> writers;
    llvm::SmallVector<Event, 2> readers;
  };

  void collect(const ByteAccess &access, Event event, Clock &needed);
  /// Makes `position` a boundary between segments.
  void split(int64_t position);
  QueueCounts finish(int64_t queue, const Clock &needed);

  std::map<int64_t, Bytes> segments; ///< by begin; untouched bytes have none
  std::vector<Clock> known; ///< per queue, after its last instruction's waits
  std::vector<std::vector<Clock>> history; ///< `known` of every instruction
};

} // namespace pp

#endif // PP_LIB_TRANSFORMS_LOWER_QUEUEWAITS_H
