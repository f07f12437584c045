//===- ThisProcess.cpp - a world of one process ---------------------------===//
//
// SPDX-License-Identifier: Apache-2.0
//
// The usual world: all ranks are threads here, so no call waits, and every
// answer is the caller's own.
//
//===----------------------------------------------------------------------===//
#include "../collectives/inprocess/ThreadTransport.h"
#include "pprt/World.h"

#include <cstdio>
#include <unistd.h>

using namespace pprt;

namespace {

class ThisProcess final : public World {
public:
  uint32_t process() const override { return 0; }
  uint32_t processCount() const override { return 1; }
  Status broadcast(std::vector<std::byte> &) override { return {}; }
  Expected<std::vector<std::vector<std::byte>>>
  gather(std::vector<std::byte> mine) override {
    return std::vector<std::vector<std::byte>>{mine};
  }
  Verdict agree(const Status &mine, uint32_t votes) override {
    return {mine, votes};
  }
  Expected<std::unique_ptr<PolledTransport>> transport(uint32_t) override {
    return std::unique_ptr<PolledTransport>(
        std::make_unique<inprocess::ThreadTransport>());
  }
  [[noreturn]] void abort(const Status &status) override {
    std::fprintf(stderr, "%s\n", status.message().c_str());
    _exit(int(status.code()));
  }
};

} // namespace

std::unique_ptr<World> pprt::thisProcess() {
  return std::make_unique<ThisProcess>();
}
