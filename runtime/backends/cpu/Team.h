//===- Team.h - the threads that work inside one rank -----------*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0
//
// If there are spare cores, the thread of a rank and some workers that wait
// beside it divide a kernel. With one thread there are no workers.
//
//===----------------------------------------------------------------------===//
#ifndef PPRT_BACKENDS_CPU_TEAM_H
#define PPRT_BACKENDS_CPU_TEAM_H

#include "../../collectives/inprocess/Event.h"
#include "../../engine/Thread.h"
#include "pprt/AllocationCounter.h"

#include <vector>

namespace pprt::cpu {

class Team {
public:
  /// `spins`: see Event. Allocations of the workers count in `allocations`. Has
  /// fewer threads if the system refuses some.
  explicit Team(unsigned threads, uint32_t spins = 0,
                AllocationCounter *allocations = nullptr);
  ~Team();
  Team(const Team &) = delete;
  Team &operator=(const Team &) = delete;

  unsigned size() const { return unsigned(workers.size()) + 1; }

  /// Calls body(index) for every index below size(), at the same time, and
  /// returns when all have returned. The caller's index is 0.
  template <typename Body> void run(const Body &body) {
    if (workers.empty())
      return body(0u);
    runAll([](const void *body,
              unsigned index) { (*static_cast<const Body *>(body))(index); },
           &body);
  }

private:
  using Entry = void (*)(const void *body, unsigned index);
  void runAll(Entry entry, const void *body);
  void work(unsigned index, AllocationCounter *allocations);

  const uint32_t spins;
  // The work: written before `start`, read after it.
  Entry entry = nullptr;
  const void *body = nullptr;
  bool quit = false;
  inprocess::Event start, finished;
  std::atomic<unsigned> running{0};
  std::vector<Thread> workers;
};

} // namespace pprt::cpu

#endif // PPRT_BACKENDS_CPU_TEAM_H
