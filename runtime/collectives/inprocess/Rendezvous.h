//===- Rendezvous.h - where the members of an exchange meet -----*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0
//
// In: an Exchange and its members' wakers. Out: the exchange, performed once a
// round, after every member has arrived and before any has completed.
//
// Matching is static: the k-th instruction of each member belongs to the same
// rendezvous in every step, so arriving is one atomic increment and nothing is
// allocated. The threads that find the members complete take pieces of the
// work; a member whose thread computes meanwhile does not delay them.
//
//===----------------------------------------------------------------------===//
#ifndef PPRT_COLLECTIVES_INPROCESS_RENDEZVOUS_H
#define PPRT_COLLECTIVES_INPROCESS_RENDEZVOUS_H

#include "Exchange.h"
#include "pprt/Transport.h"

#include <atomic>
#include <memory>

namespace pprt::inprocess {

class Rendezvous {
public:
  Rendezvous(Exchange exchange, std::vector<std::shared_ptr<Waker>> members)
      : exchange(std::move(exchange)), members(std::move(members)) {}

  /// Each member calls this once a round; rounds count from 0.
  void arrive(uint64_t round);
  /// Whether all members have arrived.
  bool ready(uint64_t round) const {
    return arrivals.load(std::memory_order_acquire) >=
           (round + 1) * members.size();
  }
  /// Works on a round if it is ready. Returns true if the round is finished:
  /// then the caller's instruction is complete.
  bool advance(uint64_t round);

private:
  void wakeAll();

  Exchange exchange;
  std::vector<std::shared_ptr<Waker>> members;
  // Totals over all rounds, so that a member that notices the end of one round
  // late cannot disturb the next.
  std::atomic<uint64_t> arrivals{0}, claimed{0}, finished{0};
};

} // namespace pprt::inprocess

#endif // PPRT_COLLECTIVES_INPROCESS_RENDEZVOUS_H
