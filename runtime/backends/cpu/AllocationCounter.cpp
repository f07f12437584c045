//===- AllocationCounter.cpp - heap memory of a rank ----------------------===//
//
// SPDX-License-Identifier: Apache-2.0
//
//===----------------------------------------------------------------------===//
#include "pprt/AllocationCounter.h"

using namespace pprt;

/// Defined by pprt_counting_malloc.
extern "C" __attribute__((weak)) const char pprtCountingMalloc;

// Read inside malloc, which must not allocate to find it in a shared library.
[[gnu::tls_model(
    "initial-exec")]] static thread_local AllocationCounter *current = nullptr;

void pprt::attributeAllocations(AllocationCounter *counter) {
  current = counter;
}

AllocationCounter *pprt::attributedAllocations() { return current; }

bool pprt::allocationsAreCounted() { return &pprtCountingMalloc != nullptr; }

void AllocationCounter::add(int64_t bytes) {
  const int64_t now = live.fetch_add(bytes, std::memory_order_relaxed) + bytes;
  if (bytes <= 0)
    return;
  count.fetch_add(1, std::memory_order_relaxed);
  int64_t highest = peak.load(std::memory_order_relaxed);
  while (now > highest &&
         !peak.compare_exchange_weak(highest, now, std::memory_order_relaxed)) {
  }
}
