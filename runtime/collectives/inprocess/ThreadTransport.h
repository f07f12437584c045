//===- ThreadTransport.h - comm ops of threads of one process ---*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0
//
// In: participants whose memory all threads can access. Out: a rendezvous for
// each comm op; every member's ticket refers to it. Members meet if their
// transports share a hub; usually all share one transport.
//
//===----------------------------------------------------------------------===//
#ifndef PPRT_COLLECTIVES_INPROCESS_THREADTRANSPORT_H
#define PPRT_COLLECTIVES_INPROCESS_THREADTRANSPORT_H

#include "Rendezvous.h"
#include "pprt/Transport.h"

#include <condition_variable>
#include <map>
#include <mutex>
#include <set>

namespace pprt::inprocess {

/// Connects transports with each other.
class Hub {
public:
  /// Collects the members of a comm op; the last one makes the rendezvous.
  struct Gathering {
    std::vector<MemberBuffers> participants;
    std::vector<std::shared_ptr<Waker>> wakers;
    std::vector<std::shared_ptr<const void>> memory; ///< of all members
    size_t missing = 0;
    std::unique_ptr<Rendezvous> rendezvous;
  };
  Expected<Gathering *> join(const Participant &participant);
  /// Returns when each has all of its members.
  Status await(const std::vector<Gathering *> &gatherings);
  void leave(const std::set<std::shared_ptr<Waker>> &wakers);

  bool hasFailed() const { return failed.load(std::memory_order_relaxed); }
  Status failure();
  void abort(const Status &status);

private:
  using Key = std::tuple<uint64_t, Section, uint32_t>;

  std::mutex mutex;
  std::condition_variable changed;
  std::map<Key, Gathering> gatherings;
  std::set<std::shared_ptr<Waker>> wakers;
  Status firstFailure;
  std::atomic<bool> failed{false};
};

class ThreadTransport final : public PolledTransport {
public:
  explicit ThreadTransport(std::shared_ptr<Hub> hub = std::make_shared<Hub>())
      : hub(std::move(hub)) {}
  ~ThreadTransport() override { hub->leave(wakers); }

  Expected<Ticket> prepare(Participant participant) override;
  Status connect() override;
  void start(Ticket ticket, uint64_t round) override {
    tickets[ticket]->arrive(round);
  }
  bool ready(Ticket ticket, uint64_t round) override {
    return tickets[ticket]->ready(round);
  }
  Progress test(Ticket ticket, uint64_t round) override {
    return tickets[ticket]->advance(round) ? Progress::complete
                                           : Progress::pending;
  }
  Status poll() override {
    return hub->hasFailed() ? hub->failure() : Status();
  }
  void abort(const Status &status) override { hub->abort(status); }

private:
  std::shared_ptr<Hub> hub;
  std::vector<Hub::Gathering *> gatherings; ///< by ticket
  std::vector<Rendezvous *> tickets;        ///< once connected
  std::set<std::shared_ptr<Waker>> wakers;
};

} // namespace pprt::inprocess

#endif // PPRT_COLLECTIVES_INPROCESS_THREADTRANSPORT_H
