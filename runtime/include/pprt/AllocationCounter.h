//===- AllocationCounter.h - heap memory of a rank --------------*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0
//
// The heap's part of a rank's memory. Programs that link `pprt_counting_malloc`
// count the calls of malloc and its relatives by thread; in other programs the
// counters stay at zero and allocationsAreCounted() is false.
//
//===----------------------------------------------------------------------===//
#ifndef PPRT_ALLOCATIONCOUNTER_H
#define PPRT_ALLOCATIONCOUNTER_H

#include <atomic>
#include <cstdint>

#pragma GCC visibility push(default)
namespace pprt {

struct AllocationCounter {
  std::atomic<int64_t> live{0}; ///< bytes
  std::atomic<int64_t> peak{0}; ///< the highest `live`
  std::atomic<uint64_t> count{0};

  void add(int64_t bytes);
};

/// Counts the calling thread's allocations here from now on; null: nowhere.
void attributeAllocations(AllocationCounter *counter);
/// Returns the counter of the calling thread, or null.
AllocationCounter *attributedAllocations();

/// Returns whether `pprt_counting_malloc` is part of this program.
bool allocationsAreCounted();

} // namespace pprt
#pragma GCC visibility pop

#endif // PPRT_ALLOCATIONCOUNTER_H
