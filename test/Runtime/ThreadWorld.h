//===- ThreadWorld.h - processes that are threads ---------------*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0
//
// A world for tests: each thread is a process of it, with sessions that hold
// some of the ranks. They communicate through a shared transport.
//
//===----------------------------------------------------------------------===//
#ifndef PP_TEST_RUNTIME_THREADWORLD_H
#define PP_TEST_RUNTIME_THREADWORLD_H

#include "collectives/inprocess/ThreadTransport.h"
#include "pprt/World.h"

#include <condition_variable>
#include <cstring>
#include <mutex>
#include <vector>

namespace pprt::test {

using Bytes = std::vector<std::byte>;

/// State that the processes of a world share: a place for messages.
class Square {
public:
  explicit Square(uint32_t processes) : left(processes) {}

  /// Returns the bytes of all processes, once all have left theirs.
  std::vector<Bytes> exchange(uint32_t process, Bytes bytes) {
    std::unique_lock<std::mutex> lock(mutex);
    const uint64_t mine = round;
    left[process] = std::move(bytes);
    if (++count == left.size()) {
      collected = left;
      count = 0;
      ++round;
      changed.notify_all();
    } else {
      changed.wait(lock, [&] { return round != mine; });
    }
    return collected;
  }

  /// Returns the same hub to all processes that ask for their n-th.
  std::shared_ptr<inprocess::Hub> hub(size_t n) {
    std::lock_guard<std::mutex> lock(mutex);
    while (hubs.size() <= n)
      hubs.push_back(std::make_shared<inprocess::Hub>());
    return hubs[n];
  }

  uint32_t size() const { return uint32_t(left.size()); }

private:
  std::mutex mutex;
  std::condition_variable changed;
  std::vector<Bytes> left, collected;
  size_t count = 0;
  uint64_t round = 0;
  std::vector<std::shared_ptr<inprocess::Hub>> hubs;
};

class ThreadWorld final : public World {
public:
  ThreadWorld(Square &square, uint32_t index) : square(square), index(index) {}

  uint32_t process() const override { return index; }
  uint32_t processCount() const override { return square.size(); }
  Status broadcast(Bytes &bytes) override {
    bytes = square.exchange(index, bytes)[0];
    return {};
  }
  Expected<std::vector<Bytes>> gather(Bytes mine) override {
    std::vector<Bytes> all = square.exchange(index, mine);
    return index == 0 ? all : std::vector<Bytes>();
  }
  Verdict agree(const Status &mine, uint32_t votes) override {
    Bytes bytes(2 + mine.message().size());
    bytes[0] = std::byte(mine.code());
    bytes[1] = std::byte(votes);
    std::memcpy(bytes.data() + 2, mine.message().data(), bytes.size() - 2);
    Verdict verdict;
    for (const Bytes &its : square.exchange(index, bytes)) {
      verdict.votes |= uint32_t(its[1]);
      if (verdict.first.ok() && its[0] != std::byte(0))
        verdict.first =
            Status(ExitCode(its[0]),
                   std::string(reinterpret_cast<const char *>(its.data()) + 2,
                               its.size() - 2));
    }
    return verdict;
  }
  Expected<std::unique_ptr<PolledTransport>> transport(uint32_t) override {
    return std::unique_ptr<PolledTransport>(
        std::make_unique<inprocess::ThreadTransport>(square.hub(transports++)));
  }
  [[noreturn]] void abort(const Status &) override { std::abort(); }

private:
  Square &square;
  const uint32_t index;
  size_t transports = 0;
};

} // namespace pprt::test

#endif // PP_TEST_RUNTIME_THREADWORLD_H
