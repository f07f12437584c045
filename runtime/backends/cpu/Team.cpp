//===- Team.cpp - the threads that work inside one rank -------------------===//
//
// SPDX-License-Identifier: Apache-2.0
//
//===----------------------------------------------------------------------===//
#include "Team.h"

using namespace pprt;
using namespace pprt::cpu;

Team::Team(unsigned threads, uint32_t spins, AllocationCounter *allocations)
    : spins(spins) {
  for (unsigned index = 1; index < threads; ++index) {
    Thread worker;
    if (!worker.start([=] { work(index, allocations); }))
      return;
    workers.push_back(std::move(worker));
  }
}

Team::~Team() {
  quit = true;
  start.wake();
  for (Thread &worker : workers)
    worker.join();
}

void Team::runAll(Entry what, const void *with) {
  entry = what;
  body = with;
  running.store(unsigned(workers.size()), std::memory_order_relaxed);
  start.wake();
  entry(body, 0);
  while (true) {
    const uint32_t seen = finished.count();
    if (running.load(std::memory_order_acquire) == 0)
      return;
    finished.wait(seen, spins);
  }
}

void Team::work(unsigned index, AllocationCounter *allocations) {
  attributeAllocations(allocations);
  // One wake-up per run: the next comes only when this one is finished.
  for (uint32_t seen = 0;; ++seen) {
    start.wait(seen, spins);
    if (quit)
      return;
    entry(body, index);
    if (running.fetch_sub(1, std::memory_order_acq_rel) == 1)
      finished.wake();
  }
}
