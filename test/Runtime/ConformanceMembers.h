//===- ConformanceMembers.h - the ranks of a process, as members -*- C++ -*-==//
//
// SPDX-License-Identifier: Apache-2.0
//
// In: cases that all processes have, and a transport. Out: rounds of them by
// the ranks of this process, each on a thread of its own, and their faults.
//
//===----------------------------------------------------------------------===//
#ifndef PP_TEST_RUNTIME_CONFORMANCEMEMBERS_H
#define PP_TEST_RUNTIME_CONFORMANCEMEMBERS_H

#include "ConformanceCases.h"

#include "collectives/inprocess/Event.h"
#include "engine/Devices.h"
#include "pprt/World.h"

#include <functional>
#include <map>
#include <mutex>

namespace pprt::conformance {

/// Set by main().
extern std::unique_ptr<World> world;
extern std::string deviceName;

enum class Places { many, one };

/// The ranks of this process with the cases they take part in: case c is place
/// c, and the only comm op there; or comm op c of the one place.
class Members {
  std::map<uint32_t, std::shared_ptr<inprocess::Event>> events;

public:
  Members(std::vector<Case> cases, uint32_t worldSize,
          Places places = Places::many);

  /// Calls f(rank) on a thread of each rank here, and waits for all.
  void forEachRank(const std::function<void(uint32_t)> &f);
  std::vector<size_t> casesOf(uint32_t rank) const;
  /// Parts of one case's round.
  void start(uint32_t rank, size_t test, uint32_t round);
  bool isComplete(uint32_t rank, size_t test, uint32_t round);
  void await(uint32_t rank, size_t test, uint32_t round);
  void check(uint32_t rank, size_t test, uint32_t round);
  /// For a device that counts: called after all rounds of all cases.
  void checkCounts();
  /// Some threads help before they sleep, some do not.
  void sleep(uint32_t rank, uint32_t seen) {
    if (rank % 3 != 0)
      transport->help([&] { return count(rank) != seen; });
    events[rank]->wait(seen, 0);
  }
  uint32_t count(uint32_t rank) { return events[rank]->count(); }
  /// Runs all rounds of these cases, each round of all at the same time.
  void run(uint32_t rank, const std::vector<size_t> &tests);

  const std::vector<Case> cases;
  const std::shared_ptr<Devices> devices;
  PolledDevice &device;
  const bool hasValues; ///< null moves none
  std::unique_ptr<PolledTransport> transport;
  Status failure; ///< of the transport, before it is connected
  /// Memory of the rank in its only case.
  std::weak_ptr<const void> memory(uint32_t rank) const {
    return memberships.at({rank, 0});
  }
  /// Faults of all threads.
  std::string faults();

private:
  struct Membership {
    uint32_t member;
    Ticket ticket;
    std::vector<std::vector<std::byte>> inputs, outputs;
    std::vector<std::byte> staging;
  };
  void fault(const std::string &text);
  void checkNothing(uint32_t rank, size_t test, uint32_t round);

  std::vector<uint32_t> here; ///< ranks
  std::map<std::pair<uint32_t, size_t>, std::shared_ptr<Membership>>
      memberships;
  std::mutex mutex;
  std::string found;
};

} // namespace pprt::conformance

#endif // PP_TEST_RUNTIME_CONFORMANCEMEMBERS_H
