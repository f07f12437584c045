//===- Event.cpp - how the threads of ranks wake each other ---------------===//
//
// SPDX-License-Identifier: Apache-2.0
//
// std::atomic::wait is C++20; this is its Linux implementation, a futex.
//
//===----------------------------------------------------------------------===//
#include "Event.h"

#include <climits>
#include <linux/futex.h>
#include <sys/syscall.h>
#include <unistd.h>

using namespace pprt::inprocess;

static_assert(sizeof(std::atomic<uint32_t>) == sizeof(uint32_t),
              "a futex is a plain 32-bit word");

static void relax() {
#if defined(__x86_64__) || defined(__i386__)
  __builtin_ia32_pause();
#endif
}

void Event::wake() {
  counter.fetch_add(1, std::memory_order_seq_cst);
  if (sleepers.load(std::memory_order_seq_cst) != 0)
    syscall(SYS_futex, &counter, FUTEX_WAKE_PRIVATE, INT_MAX, nullptr, nullptr,
            0);
}

void Event::wait(uint32_t seen, uint32_t spins) {
  for (uint32_t i = 0; i < spins; ++i, relax())
    if (count() != seen)
      return;
  // Either wake() sees the sleeper, or the kernel sees the new counter.
  sleepers.fetch_add(1, std::memory_order_seq_cst);
  while (counter.load(std::memory_order_seq_cst) == seen)
    syscall(SYS_futex, &counter, FUTEX_WAIT_PRIVATE, seen, nullptr, nullptr, 0);
  sleepers.fetch_sub(1, std::memory_order_seq_cst);
}
