//===- Rendezvous.cpp - where the members of an exchange meet -------------===//
//
// SPDX-License-Identifier: Apache-2.0
//
//===----------------------------------------------------------------------===//
#include "Rendezvous.h"

using namespace pprt::inprocess;

/// Bytes of work that make it worth waking sleeping members to help.
static constexpr uint64_t kShared = 1 << 18;

void Rendezvous::wakeAll() {
  for (const std::shared_ptr<Waker> &member : members)
    member->wake();
}

void Rendezvous::arrive(uint64_t round) {
  const uint64_t all = (round + 1) * members.size();
  const bool last = arrivals.fetch_add(1, std::memory_order_acq_rel) + 1 == all;
  // The last to arrive does a small exchange alone, and wakes the others once.
  if (last && (exchange.pieceCount() == 0 || exchange.bytes() >= kShared))
    wakeAll();
}

bool Rendezvous::advance(uint64_t round) {
  if (!ready(round))
    return false;
  const uint64_t pieces = exchange.pieceCount();
  const uint64_t end = (round + 1) * pieces;
  uint64_t next = claimed.load(std::memory_order_relaxed);
  while (next < end) {
    if (!claimed.compare_exchange_weak(next, next + 1,
                                       std::memory_order_relaxed))
      continue;
    exchange.run(uint32_t(next - round * pieces));
    if (finished.fetch_add(1, std::memory_order_acq_rel) + 1 == end)
      wakeAll();
    next = claimed.load(std::memory_order_relaxed);
  }
  return finished.load(std::memory_order_acquire) >= end;
}
