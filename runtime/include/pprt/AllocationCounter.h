//===- AllocationCounter.h - what the heap gives to a rank ------*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0
//
// The heap's part of a rank's memory. Programs that link `pprt_counting_malloc`
// have the calls of malloc and its relatives counted, by thread; in others the
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

/// From now on the calling thread's allocations count here, or nowhere (null).
void attributeAllocations(AllocationCounter *counter);
/// Where the calling thread's allocations count.
AllocationCounter *attributedAllocations();

/// Whether `pprt_counting_malloc` is part of this program.
bool allocationsAreCounted();

} // namespace pprt
#pragma GCC visibility pop

#endif // PPRT_ALLOCATIONCOUNTER_H
