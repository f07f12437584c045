//===- Host.cpp - the threads of a block as coroutines --------------------===//
//
// SPDX-License-Identifier: Apache-2.0
//
//===----------------------------------------------------------------------===//
#include "Host.h"

#include <ucontext.h>

#include <cstdio>
#include <cstdlib>
#include <map>
#include <memory>
#include <vector>

namespace host {
const Thread *current;
dim3 blockSize, gridSize;
} // namespace host

using namespace host;

namespace {

constexpr size_t kStack = 64 << 10;

/// Where threads wait for each other, again and again.
struct Meeting {
  uint64_t generation = 0;
  unsigned arrived = 0;
  uint64_t coming[32] = {}, came[32] = {};
};

struct Fiber {
  Thread thread;
  ucontext_t context;
  std::unique_ptr<char[]> stack{new char[kStack]};
  bool isEnded = false;
};

ucontext_t scheduler;
std::vector<Fiber> fibers;
Fiber *running;
const std::function<void()> *work;
bool progresses;
std::vector<std::map<unsigned, Meeting>> warps;
Meeting wholeBlock;
unsigned sums[2];
std::vector<double> dynamic; // aligned for what kernels keep there

void fiberMain() {
  (*work)();
  running->isEnded = true;
  swapcontext(&running->context, &scheduler);
}

void awaitNext(const Meeting &meeting, uint64_t generation) {
  while (meeting.generation == generation)
    swapcontext(&running->context, &scheduler);
}

void runBlock(uint3 number) {
  const unsigned threads = blockSize.x * blockSize.y * blockSize.z;
  if (fibers.size() < threads)
    fibers = std::vector<Fiber>(threads);
  warps.assign((threads + 31) / 32, {});
  wholeBlock = Meeting();
  for (unsigned index = 0; index < threads; ++index) {
    Fiber &fiber = fibers[index];
    fiber.isEnded = false;
    fiber.thread = {{index % blockSize.x, index / blockSize.x % blockSize.y,
                     index / blockSize.x / blockSize.y},
                    number,
                    index % 32,
                    index / 32};
    getcontext(&fiber.context);
    fiber.context.uc_stack.ss_sp = fiber.stack.get();
    fiber.context.uc_stack.ss_size = kStack;
    fiber.context.uc_link = nullptr;
    makecontext(&fiber.context, fiberMain, 0);
  }
  unsigned left = threads;
  while (left > 0) {
    progresses = false;
    for (unsigned index = 0; index < threads; ++index) {
      Fiber &fiber = fibers[index];
      if (fiber.isEnded)
        continue;
      running = &fiber;
      current = &fiber.thread;
      swapcontext(&scheduler, &fiber.context);
      if (fiber.isEnded) {
        --left;
        progresses = true;
      }
    }
    if (!progresses) {
      std::fprintf(stderr,
                   "host: the threads of a block wait for each other\n");
      std::abort();
    }
  }
}

} // namespace

void host::run(dim3 grid, dim3 block, unsigned sharedBytes,
               const std::function<void()> &body) {
  gridSize = grid;
  blockSize = block;
  dynamic.assign((sharedBytes + 15) / 8, 0);
  work = &body;
  for (unsigned z = 0; z < grid.z; ++z)
    for (unsigned y = 0; y < grid.y; ++y)
      for (unsigned x = 0; x < grid.x; ++x)
        runBlock({x, y, z});
}

void *host::dynamicShared() { return dynamic.data(); }

unsigned host::sumOfBlock(unsigned value) {
  const uint64_t generation = wholeBlock.generation;
  unsigned &sum = sums[generation % 2];
  sum = (wholeBlock.arrived == 0 ? 0 : sum) + value;
  progresses = true;
  if (++wholeBlock.arrived == blockSize.x * blockSize.y * blockSize.z) {
    wholeBlock.arrived = 0;
    ++wholeBlock.generation;
  } else {
    awaitNext(wholeBlock, generation);
  }
  return sum;
}

void host::awaitBlock() { sumOfBlock(0); }

const uint64_t *host::meet(unsigned mask, uint64_t value) {
  Meeting &meeting = warps[current->warp][mask];
  const uint64_t generation = meeting.generation;
  meeting.coming[current->lane] = value;
  meeting.arrived |= 1u << current->lane;
  progresses = true;
  if (meeting.arrived == mask) {
    // Nobody can come again before all have seen what came.
    std::memcpy(meeting.came, meeting.coming, sizeof(meeting.came));
    meeting.arrived = 0;
    ++meeting.generation;
  } else {
    awaitNext(meeting, generation);
  }
  return meeting.came;
}
