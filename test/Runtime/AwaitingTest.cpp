//===- AwaitingTest.cpp - how long the host waits for sections ------------===//
//
// SPDX-License-Identifier: Apache-2.0
//
// Devices that are clocks: a stream's commands end at a set time, as if
// computed until then, and a message without a sender never ends. The host
// waits for computations of any length, but reports ranks that only wait.
//
//===----------------------------------------------------------------------===//
#include "ProgramBuilder.h"

#include "engine/Devices.h"
#include "pprt/World.h"

#include <gtest/gtest.h>

#include <chrono>

using namespace pprt;
using namespace pprt::test;
using Clock = std::chrono::steady_clock;
using std::chrono::milliseconds;

namespace {

struct ClockEvent final : enqueued::Event {
  Clock::time_point at;
};

class ClockStream final : public enqueued::Stream {
public:
  explicit ClockStream(milliseconds kernel) : kernel(kernel) {}
  Status launch(const Launch &) override {
    end = std::max(end, Clock::now()) + kernel;
    return {};
  }
  Status copy(std::byte *, const std::byte *, uint64_t) override { return {}; }
  Status flag(const std::vector<Values> &, std::byte *) override { return {}; }
  Status write(std::byte *, const void *, uint64_t) override { return {}; }
  Status read(void *, const std::byte *, uint64_t) override { return {}; }
  Status record(enqueued::Event &event) override {
    static_cast<ClockEvent &>(event).at = end;
    return {};
  }
  Status wait(const enqueued::Event &event) override {
    end = std::max(end, static_cast<const ClockEvent &>(event).at);
    return {};
  }
  Status launchGraph(const enqueued::Graph &) override { return {}; }

  Clock::time_point end; ///< of its commands
  const milliseconds kernel;
};

class HostMemory final : public Memory {
public:
  explicit HostMemory(uint64_t bytes) : bytes(bytes) {}
  std::byte *address() const override { return bytes.data(); }
  uint64_t size() const override { return bytes.size(); }
  std::byte *host() const override { return bytes.data(); }
  bool keepsValues() const override { return true; }
  Status read(std::byte *, uint64_t, uint64_t) const override { return {}; }
  Status write(uint64_t, const std::byte *, uint64_t) override { return {}; }
  uint64_t writtenBytes() const override { return 0; }

private:
  mutable std::vector<std::byte> bytes;
};

class ClockDevice final : public enqueued::StreamDevice {
public:
  /// `commOp`: duration of a comm op, if there are any.
  ClockDevice(milliseconds kernel, std::optional<milliseconds> commOp)
      : kernel(kernel), commOp(commOp) {}
  std::string name() const override { return "clock"; }
  Expected<MemoryPool> pool() const override { return MemoryPool(); }
  Status load(const ppx::ArtifactT &) override { return {}; }
  Expected<std::unique_ptr<const Kernel>>
  prepare(const ppx::KernelT &) override {
    return std::unique_ptr<const Kernel>(std::make_unique<Kernel>());
  }
  Expected<std::unique_ptr<Memory>> allocate(uint64_t bytes) override {
    return std::unique_ptr<Memory>(std::make_unique<HostMemory>(bytes));
  }
  std::unique_ptr<const Launch> bind(Binding) override {
    return std::make_unique<Launch>();
  }
  Expected<std::unique_ptr<enqueued::StreamTransport>>
  transport(World &, uint32_t) override;

  Status makeCurrent() override { return {}; }
  Expected<std::unique_ptr<enqueued::Stream>> makeStream(bool) override {
    return std::unique_ptr<enqueued::Stream>(
        std::make_unique<ClockStream>(kernel));
  }
  Expected<std::unique_ptr<enqueued::Event>> makeEvent(bool) override {
    return std::unique_ptr<enqueued::Event>(std::make_unique<ClockEvent>());
  }
  Expected<std::unique_ptr<Memory>> hostMemory(uint64_t bytes) override {
    return allocate(bytes);
  }
  Expected<bool> query(const enqueued::Event &event) override {
    return Clock::now() >= static_cast<const ClockEvent &>(event).at;
  }
  void drain() override {}
  Expected<int64_t> elapsed(const enqueued::Event &,
                            const enqueued::Event &) override {
    return 0;
  }
  Expected<std::unique_ptr<const Launch>>
  bindMove(const enqueued::BoundMove &) override {
    return std::unique_ptr<const Launch>(std::make_unique<Launch>());
  }
  bool isCapturable(const ppx::KernelT &, bool) const override { return false; }
  Status beginCapture(enqueued::Stream &) override { return {}; }
  Expected<std::unique_ptr<const enqueued::Graph>>
  endCapture(enqueued::Stream &) override {
    return Status(ExitCode::device, "expects no recording");
  }

private:
  const milliseconds kernel;
  const std::optional<milliseconds> commOp;
};

/// A transport whose comm ops end some time after they were enqueued.
class ClockTransport final : public enqueued::StreamTransport {
public:
  explicit ClockTransport(milliseconds time) : time(time) {}
  void limit(double, std::function<bool()>) override {}
  void begin(uint32_t) override {}
  Status enqueue(Ticket, enqueued::Stream &stream) override {
    auto &its = static_cast<ClockStream &>(stream);
    its.end = std::max(its.end, Clock::now() + time);
    return {};
  }
  void leave(uint32_t) override {}
  Expected<Ticket> prepare(Participant) override { return Ticket(0); }
  Status connect() override { return {}; }
  Status poll() override { return {}; }
  void abort(const Status &) override {}

private:
  const milliseconds time;
};

Expected<std::unique_ptr<enqueued::StreamTransport>>
ClockDevice::transport(World &, uint32_t) {
  std::unique_ptr<enqueued::StreamTransport> made;
  if (commOp)
    made = std::make_unique<ClockTransport>(*commOp);
  return made;
}

class NoHost final : public HostData {
public:
  Status load(uint32_t, const Instruction &, std::byte *) override {
    return {};
  }
  void emit(uint32_t, const Instruction &, const std::byte *) override {}
};

/// Each of two ranks launches a kernel and meets the other one; or one launches
/// a kernel alone.
std::shared_ptr<const ppx::ArtifactT> makeArtifact(bool meet) {
  ArtifactBuilder builder;
  const uint32_t group = meet ? builder.group({builder.axis("dp", 2)}) : 0;
  ProgramBuilder program = builder.program(meet ? std::vector<uint32_t>{0, 1}
                                                : std::vector<uint32_t>{0});
  const uint32_t compute = program.queue("compute");
  const uint32_t value = program.slot("value", 4);
  program.begin(Section::body);
  program.run(compute, {}, {value});
  if (meet)
    program.collective(compute, ppx::CollectiveKind_all_reduce, group, {value},
                       {value});
  program.step(compute);
  return std::make_shared<const ppx::ArtifactT>(builder.take());
}

/// Runs a step on as many devices, with these durations of kernels.
Status run(bool meet, std::vector<milliseconds> kernels, milliseconds commOp,
           double timeout, bool isInterrupted) {
  const auto artifact = makeArtifact(meet);
  const Mesh mesh = *Mesh::create(artifact->axes);
  std::vector<std::unique_ptr<enqueued::StreamDevice>> all;
  for (const milliseconds kernel : kernels)
    all.push_back(std::make_unique<ClockDevice>(
        kernel, meet ? std::optional(commOp) : std::nullopt));
  const std::shared_ptr<Devices> devices = makeDevices(std::move(all));
  const uint32_t ranks = uint32_t(kernels.size());
  EXPECT_TRUE(devices->meet(*thisProcess(), ranks).ok());
  auto executor = devices->makeExecutor(
      artifact, mesh, {{0, ranks}, {timeout, [=] { return isInterrupted; }}},
      std::make_shared<NoHost>());
  return executor ? (*executor)->run(Section::body, 0) : executor.status();
}

constexpr milliseconds kShort(1), kLong(2600), kNever = std::chrono::hours(24);

TEST(Awaiting, WhatComputesIsNoHang) {
  const Status status = run(false, {kLong}, kShort, 0.2, true);
  EXPECT_TRUE(status.ok()) << status.message();
}

// The first of two devices waits for the second one's computation.
TEST(Awaiting, NorIsWhoWaitsForIt) {
  const Status status = run(true, {kShort, kLong}, kLong, 0.2, true);
  EXPECT_TRUE(status.ok()) << status.message();
}

TEST(Awaiting, WhatOnlyWaitsIs) {
  const auto begin = Clock::now();
  const Status hang = run(true, {kShort}, kNever, 0.2, false);
  EXPECT_EQ(hang.code(), ExitCode::hang);
  EXPECT_EQ(hang.message(),
            "no progress for 0 s in step 1; collective has not");
  const Status ended = run(true, {kShort, kShort}, kNever, 20, true);
  EXPECT_EQ(ended.code(), ExitCode::interrupted);
  EXPECT_EQ(ended.message(), "interrupted in step 1, which made no progress");
  EXPECT_LT(Clock::now() - begin, std::chrono::seconds(8));
}

} // namespace
