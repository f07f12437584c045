//===- SessionTest.cpp - whole tensors in, whole tensors out --------------===//
//
// SPDX-License-Identifier: Apache-2.0
//
// The runtime as its users call it, on small artifacts made by hand.
//
//===----------------------------------------------------------------------===//
#include "ProgramBuilder.h"

#include "backends/cpu/Team.h"
#include "pprt/AllocationCounter.h"
#include "pprt/Backend.h"
#include "pprt/Bytes.h"
#include "pprt/ControlGroup.h"
#include "pprt/Initialize.h"
#include "pprt/Processor.h"
#include "pprt/Session.h"
#include "pprt/StreamDevice.h"

#include <gtest/gtest.h>

#include <cmath>
#include <fstream>
#include <limits>
#include <numeric>
#include <stdexcept>
#include <sys/resource.h>
#include <unistd.h>

using namespace pprt;
using namespace pprt::test;

namespace {

using Axes = std::vector<std::vector<uint32_t>>;

void setSharding(std::vector<std::unique_ptr<ppx::DimensionAxesT>> &sharding,
                 const Axes &axes) {
  sharding.clear();
  for (const std::vector<uint32_t> &dimension : axes) {
    sharding.push_back(std::make_unique<ppx::DimensionAxesT>());
    sharding.back()->axes = dimension;
  }
}

/// Loads an input per micro-batch, emits it, and holds a parameter; both are
/// rows x columns tensors, split as given over a mesh dp x tp.
struct Echo {
  uint64_t rows = 10, columns = 7;
  uint32_t dp = 1, tp = 1, microBatches = 1;
  bool splitColumns = true;

  std::shared_ptr<const ppx::ArtifactT> make() const {
    ArtifactBuilder builder;
    builder.axis("mb", microBatches, ppx::AxisKind_time);
    builder.axis("dp", dp);
    builder.axis("tp", tp);
    const uint64_t split = microBatches * dp;
    const uint64_t paddedRows = (rows + split - 1) / split * split;
    const uint64_t paddedColumns =
        splitColumns ? (columns + tp - 1) / tp * tp : columns;
    const uint64_t shardColumns = paddedColumns / (splitColumns ? tp : 1);
    const uint32_t input = builder.argument("x", ppx::Role_input, 1);
    const uint32_t parameter = builder.argument("w", ppx::Role_param, 1);
    const uint32_t output = builder.output("y", 1);
    std::vector<uint32_t> ranks(dp * tp);
    std::iota(ranks.begin(), ranks.end(), 0);
    ProgramBuilder program = builder.program(ranks);
    const uint32_t queue = program.queue("compute");
    const uint32_t x = program.slot("x", paddedRows / split * shardColumns);
    const uint32_t w = program.slot("w", paddedRows / dp * shardColumns);
    builder.hold(parameter, w);
    program.begin(Section::body);
    for (uint32_t m = 0; m < microBatches; ++m) {
      program.set({ppx::Phase_forward, int32_t(m)});
      program.load(queue, input, x);
      program.emit(queue, output, x);
    }
    program.step(queue);

    ppx::ArtifactT artifact = builder.take();
    const std::vector<uint32_t> last =
        splitColumns ? std::vector<uint32_t>{2} : std::vector<uint32_t>{};
    for (auto &argument : artifact.arguments) {
      argument->shape = argument->stored_shape = {rows, columns};
      argument->padded_shape = {paddedRows, paddedColumns};
    }
    setSharding(artifact.arguments[input]->sharding, {{0, 1}, last});
    setSharding(artifact.arguments[parameter]->sharding, {{1}, last});
    auto initializer = std::make_unique<ppx::InitializerT>();
    initializer->kind = ppx::InitializerKind_normal;
    initializer->b = 0.02;
    initializer->stream = 3;
    artifact.arguments[parameter]->initializer = std::move(initializer);
    ppx::OutputT &y = *artifact.outputs[output];
    y.shape = {rows, columns};
    y.padded_shape = {paddedRows, paddedColumns};
    y.stages = {0};
    setSharding(y.sharding, {{0, 1}, last});
    return std::make_shared<const ppx::ArtifactT>(std::move(artifact));
  }
};

std::unique_ptr<Session> open(const Echo &echo) {
  Expected<std::unique_ptr<Session>> session = Session::create(echo.make());
  EXPECT_TRUE(session.ok()) << session.status().message();
  return std::move(*session);
}

/// Partitions that divide the tensor, and partitions that need padding.
std::vector<Echo> partitions() {
  return {{10, 7, 1, 1, 1}, {10, 7, 2, 1, 1},        {10, 7, 1, 2, 5},
          {10, 7, 3, 2, 2}, {10, 7, 2, 3, 1, false}, {10, 7, 4, 2, 1}};
}

TEST(Session, RefusesKernelsForAnotherProcessor) {
  ppx::ArtifactT artifact(*Echo{10, 7, 1, 1, 1}.make());
  artifact.object = {1};
  artifact.processor = "x86-64-v99";
  Expected<std::unique_ptr<Session>> session =
      Session::create(std::make_shared<const ppx::ArtifactT>(artifact));
  ASSERT_FALSE(session.ok());
  EXPECT_EQ(session.status().code(), ExitCode::device);
  EXPECT_NE(
      session.status().message().find(
          "expect a processor of level x86-64-v99, got " + processorLevel()),
      std::string::npos)
      << session.status().message();
}

/// Programs may bring backends of their own.
TEST(Session, RefusesABackendWithoutDevices) {
  const auto openWith = [](const char *name, std::shared_ptr<Devices> devices) {
    Backend backend;
    backend.name = name;
    backend.open = [devices](const DeviceOptions &, World &, uint32_t) {
      return Expected(devices);
    };
    backend.processor = [] { return Expected<std::string>(std::string()); };
    EXPECT_TRUE(addBackend(backend).ok());
    EXPECT_EQ(addBackend(backend).code(), ExitCode::usage);
    SessionOptions options;
    options.device = name;
    return Session::create(Echo{10, 7, 1, 1, 1}.make(), options).status();
  };
  for (const Status &status :
       {openWith("nothing", nullptr),
        openWith(
            "none",
            makeDevices(
                std::vector<std::unique_ptr<enqueued::StreamDevice>>()))}) {
    EXPECT_EQ(status.code(), ExitCode::device);
    EXPECT_NE(status.message().find("one device for all ranks"),
              std::string::npos)
        << status.message();
  }
}

TEST(Session, InitialValuesDoNotDependOnThePartition) {
  std::vector<float> expected;
  for (const Echo &echo : partitions()) {
    std::unique_ptr<Session> session = open(echo);
    ASSERT_TRUE(session->initialize(42).ok());
    std::vector<float> values(70);
    ASSERT_TRUE(session->getArgument(1, values.data(), 280).ok());
    if (expected.empty())
      expected = values;
    EXPECT_EQ(values, expected);
  }
  ppx::InitializerT initializer;
  initializer.kind = ppx::InitializerKind_normal;
  initializer.b = 0.02;
  initializer.stream = 3;
  for (uint64_t i = 0; i < expected.size(); ++i)
    EXPECT_EQ(expected[i], float(initialValue(initializer, 42, i)));
}

TEST(Session, ArgumentsComeBackAsTheyWereSet) {
  for (const Echo &echo : partitions()) {
    std::unique_ptr<Session> session = open(echo);
    std::vector<float> values(70), got(70);
    std::iota(values.begin(), values.end(), 1.0f);
    ASSERT_TRUE(session->setArgument(1, values.data(), 280).ok());
    ASSERT_TRUE(session->getArgument(1, got.data(), 280).ok());
    EXPECT_EQ(values, got);
  }
}

TEST(Session, InputsReachTheOutputThroughTheShards) {
  for (const Echo &echo : partitions()) {
    std::unique_ptr<Session> session = open(echo);
    std::vector<float> values(70);
    std::iota(values.begin(), values.end(), 1.0f);
    ASSERT_TRUE(session->setInput(0, values.data(), 280).ok());
    ASSERT_TRUE(session->initialize(1).ok());
    ASSERT_TRUE(session->begin().ok());
    ASSERT_TRUE(session->step().ok());
    ASSERT_TRUE(session->end().ok());
    const float *got = static_cast<const float *>(session->output(0));
    EXPECT_EQ(values, std::vector<float>(got, got + 70));
  }
}

TEST(Session, StepsDoNotAllocate) {
  if (!allocationsAreCounted())
    GTEST_SKIP() << "sanitizers bring their own malloc";
  std::unique_ptr<Session> session = open({10, 7, 2, 2, 2});
  std::vector<float> values(70);
  ASSERT_TRUE(session->setInput(0, values.data(), 280).ok());
  ASSERT_TRUE(session->initialize(1).ok());
  ASSERT_TRUE(session->begin().ok());
  for (int step = 0; step < 3; ++step)
    ASSERT_TRUE(session->step().ok());
  for (uint32_t rank = 0; rank < 4; ++rank)
    EXPECT_EQ(session->allocationCount(rank), 0u);
}

// Only allocation failures of the library itself become a Status.
TEST(Session, WhatAReaderThrowsIsLeftToWhoCalls) {
  std::unique_ptr<Session> session = open({});
  ASSERT_TRUE(session->initialize(1).ok());
  EXPECT_THROW((void)session->readArgument(
                   1,
                   [](const std::vector<ElementRun> &) -> Status {
                     throw std::runtime_error("a torn file");
                   }),
               std::runtime_error);
  EXPECT_EQ(session->begin().message(),
            "begin expects a value of 'w', got none; initialize() sets "
            "all arguments");
  EXPECT_TRUE(session->initialize(1).ok());
}

TEST(Session, RefusesWhatDoesNotFit) {
  std::unique_ptr<Session> session = open({});
  std::vector<float> values(70);
  EXPECT_EQ(session->setArgument(1, values.data(), 12).message(),
            "parameter 'w' expects 280 bytes, got 12");
  EXPECT_EQ(session->begin().code(), ExitCode::usage);
  EXPECT_EQ(session->begin().message(),
            "begin expects a value of 'w', got none; initialize() sets "
            "all arguments");
  // Nor does it have values after a reader that fails; its message is returned.
  EXPECT_EQ(session
                ->readArgument(1,
                               [](const std::vector<ElementRun> &) {
                                 return Status(ExitCode::io, "a torn file");
                               })
                .message(),
            "a torn file");
  EXPECT_EQ(session->begin().code(), ExitCode::usage);
  ASSERT_TRUE(session->setArgument(1, values.data(), 280).ok());
  ASSERT_TRUE(session->begin().ok());
  EXPECT_EQ(session->step().message(), "input 'x' expects a batch, got none");
  EXPECT_FALSE(session->findArgument("z"));
  EXPECT_EQ(*session->findArgument("w"), 1u);
  const auto unread = [](const std::vector<ElementRun> &) { return Status(); };
  for (const Status &status :
       {session->setArgument(2, values.data(), 280),
        session->getArgument(2, values.data(), 280),
        session->readArgument(2, unread),
        session->setInput(2, values.data(), 280),
        session->setInputRows(2, {0, 1}, values.data(), 28)}) {
    EXPECT_EQ(status.code(), ExitCode::badParameters);
    EXPECT_EQ(status.message(),
              "expects the number of an argument below 2, got 2");
  }
  EXPECT_EQ(session->argumentBytes(2), 0u);
  EXPECT_EQ(session->outputBytes(1), 0u);
  EXPECT_EQ(session->inputRows(2).count(), 0u);
  EXPECT_EQ(session->output(1), nullptr);
  EXPECT_TRUE(std::isnan(session->scalar(1)));
  EXPECT_TRUE(session->times(1, Section::body).empty());
  EXPECT_EQ(session->measuredPeakBytes(1) + session->allocationCount(1), 0u);
}

/// One rank loads four tokens, below 10, or ignores them.
template <typename Integer>
static std::unique_ptr<Session> openTokens(ppx::ElementType element,
                                           const std::string &device,
                                           bool loads = true) {
  ArtifactBuilder builder;
  const uint32_t tokens = builder.argument("tokens", ppx::Role_input, 4);
  ProgramBuilder program = builder.program({0});
  const uint32_t queue = program.queue("compute");
  const uint32_t slot = program.slot("tokens", sizeof(Integer)); // 4 of them
  program.begin(Section::body);
  if (loads)
    program.load(queue, tokens, slot);
  program.step(queue);
  ppx::ArtifactT artifact = builder.take();
  artifact.arguments[tokens]->element = element;
  artifact.arguments[tokens]->bound = 10;
  artifact.programs[0]->slots[slot]->element = element;
  SessionOptions options;
  options.device = device;
  auto session = Session::create(
      std::make_shared<const ppx::ArtifactT>(std::move(artifact)), options);
  EXPECT_TRUE(session.ok()) << session.status().message();
  return std::move(*session);
}

template <typename Integer> static void expectBound(ppx::ElementType element) {
  for (const std::string &device : deviceNames()) {
    if (device != "cpu" && device != "null")
      continue;
    auto session = openTokens<Integer>(element, device);
    Integer good[] = {0, 9, 3, 4}, beyond[] = {0, 9, 10, 4},
            below[] = {0, 9, 3, -1};
    const auto set = [&](const Integer *values) {
      // At an odd address.
      std::vector<std::byte> bytes(1 + 4 * sizeof(Integer));
      std::memcpy(bytes.data() + 1, values, 4 * sizeof(Integer));
      return session->setInput(0, bytes.data() + 1, 4 * sizeof(Integer));
    };
    EXPECT_EQ(set(beyond).code(), ExitCode::badParameters);
    EXPECT_EQ(
        set(beyond).message(),
        "input 'tokens' expects integers from 0 to 9, got 10 as element 2");
    EXPECT_EQ(
        set(below).message(),
        "input 'tokens' expects integers from 0 to 9, got -1 as element 3");
    // Nothing was set.
    ASSERT_TRUE(session->begin().ok());
    EXPECT_TRUE(set(good).ok());
    EXPECT_FALSE(set(beyond).ok());
    EXPECT_TRUE(session->step().ok());
  }
}

// They would index the last row, and be trained on.
TEST(Session, RefusesIntegersBeyondTheirBound) {
  expectBound<int32_t>(ppx::ElementType_i32);
  expectBound<int64_t>(ppx::ElementType_i64);
  // If no rank loads a row, any values are valid.
  auto session = openTokens<int32_t>(ppx::ElementType_i32, "cpu", false);
  const int32_t rows[] = {9, 10};
  EXPECT_EQ(session->setInputRows(0, {1, 3}, rows, sizeof(rows)).message(),
            "input 'tokens' expects integers from 0 to 9, got 10 as element 2");
  EXPECT_TRUE(session->setInputRows(0, {1, 2}, rows, sizeof(rows[0])).ok());
}

TEST(Session, RefusesSectionsOutOfOrder) {
  const auto expectOrder = [](const Status &status, const char *text) {
    EXPECT_EQ(status.code(), ExitCode::usage);
    EXPECT_EQ(status.message(), text);
  };
  std::unique_ptr<Session> session = open({});
  const std::vector<float> values(70);
  ASSERT_TRUE(session->setInput(0, values.data(), 280).ok());
  expectOrder(session->step(),
              "a step expects a session that is begun, got one that is opened");
  expectOrder(session->end(),
              "end expects a session that is begun, got one that is opened");
  // Nothing has changed.
  EXPECT_TRUE(session->failure().ok());
  ASSERT_TRUE(session->initialize(1).ok());
  ASSERT_TRUE(session->begin().ok());
  expectOrder(session->begin(),
              "begin expects a session that is opened, got one that is begun");
  ASSERT_TRUE(session->step().ok());
  ASSERT_TRUE(session->end().ok());
  expectOrder(session->step(),
              "a step expects a session that is begun, got one that is ended");
}

/// Run in a process of its own, which may then have only a little more memory.
static void setInputWithoutMemory() {
  constexpr uint64_t count = uint64_t(1) << 26;
  ArtifactBuilder builder;
  const uint32_t input = builder.argument("x", ppx::Role_input, count);
  ProgramBuilder program = builder.program({0});
  program.begin(Section::body);
  program.step(program.queue("compute"));
  auto session =
      Session::create(std::make_shared<const ppx::ArtifactT>(builder.take()));
  const std::vector<float> values(count);
  uint64_t pages = 0;
  std::ifstream("/proc/self/statm") >> pages;
  const rlim_t bytes = pages * uint64_t(sysconf(_SC_PAGE_SIZE)) + count;
  const rlimit limit = {bytes, bytes};
  setrlimit(RLIMIT_AS, &limit);
  const Status first = (*session)->setInput(input, values.data(), 4 * count),
               then = (*session)->begin();
  std::exit(int(first.code()) * 16 + int(then.code()));
}

// It does not end the program either.
TEST(Session, MemoryThatLacksIsAStatus) {
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
  GTEST_SKIP() << "sanitizers bring their own malloc";
#endif
  ArtifactBuilder builder;
  builder.output("y", uint64_t(1) << 50);
  ProgramBuilder program = builder.program({0});
  program.begin(Section::body);
  program.step(program.queue("compute"));
  EXPECT_EQ(
      Session::create(std::make_shared<const ppx::ArtifactT>(builder.take()))
          .status()
          .code(),
      ExitCode::outOfMemory);
  EXPECT_EXIT(setInputWithoutMemory(), testing::ExitedWithCode(4 * 16 + 4), "");
}

TEST(Session, RefusesMoreMemoryThanThereIs) {
  if (!groupLimits().memory.empty())
    GTEST_SKIP() << "this process may not have all of the machine's";
  const uint64_t most = std::numeric_limits<uint64_t>::max();
  ppx::ArtifactT artifact(*Echo{}.make());
  artifact.programs[0]->arena_bytes = most;
  const Status arena =
      Session::create(std::make_shared<const ppx::ArtifactT>(artifact))
          .status();
  EXPECT_EQ(arena.code(), ExitCode::outOfMemory);
  const uint64_t machine =
      uint64_t(sysconf(_SC_PHYS_PAGES)) * uint64_t(sysconf(_SC_PAGE_SIZE));
  EXPECT_EQ(arena.message(),
            "expects " + printBytes(double(most)) + " (" +
                std::to_string(most) + " bytes) for 1 rank, got " +
                printBytes(double(machine)) + " (" + std::to_string(machine) +
                " bytes), the memory of this machine; use a smaller model or "
                "batch");

  // The system would grant each alone, and kill the process for all together.
  Echo two;
  two.dp = 2;
  ppx::ArtifactT pair(*two.make());
  pair.programs[0]->arena_bytes = machine / 4 * 3;
  const Status all =
      Session::create(std::make_shared<const ppx::ArtifactT>(pair)).status();
  EXPECT_EQ(all.code(), ExitCode::outOfMemory);
}

TEST(Session, RefusesMoreThreadsThanThereAre) {
  pthread_attr_t usual, vast;
  ASSERT_EQ(pthread_getattr_default_np(&usual), 0);
  ASSERT_EQ(pthread_getattr_default_np(&vast), 0);
  ASSERT_EQ(pthread_attr_setstacksize(&vast, size_t(1) << 46), 0);
  // No system has room for the stack of such a thread.
  ASSERT_EQ(pthread_setattr_default_np(&vast), 0);
  const Status status = Session::create(Echo{}.make()).status();
  const cpu::Team team(3);
  ASSERT_EQ(pthread_setattr_default_np(&usual), 0);
  EXPECT_EQ(status.code(), ExitCode::device);
  EXPECT_NE(status.message().find("use fewer ranks or threads"),
            std::string::npos)
      << status.message();
  EXPECT_EQ(team.size(), 1u);
}

TEST(Session, MeasuresThePeakOfWrittenMemory) {
  std::unique_ptr<Session> session = open({});
  ASSERT_TRUE(session->initialize(1).ok());
  // x at 0, 280 bytes; w at 320, 280 bytes: nothing above is touched.
  EXPECT_EQ(session->measuredPeakBytes(0), 640u);
}

TEST(Session, ThePeakCountsWhatKernelsAllocate) {
  if (!allocationsAreCounted())
    GTEST_SKIP() << "sanitizers bring their own malloc";
  ArtifactBuilder builder;
  ProgramBuilder program = builder.program({0});
  const uint32_t queue = program.queue("compute");
  const uint32_t x = program.slot("x", 4);
  program.begin(Section::body);
  program.run(queue, {}, {x});
  program.step(queue);
  SessionOptions options;
  options.resolver = [](const std::string &) {
    return reinterpret_cast<void *>(
        +[](void *const *arguments, const int64_t *, int64_t, int64_t) {
          void *volatile memory = std::calloc(250, sizeof(float));
          std::memcpy(arguments[0], memory, 4 * sizeof(float));
          std::free(memory);
        });
  };
  auto session = Session::create(
      std::make_shared<const ppx::ArtifactT>(builder.take()), options);
  ASSERT_TRUE(session.ok()) << session.status().message();
  ASSERT_TRUE((*session)->begin().ok());
  ASSERT_TRUE((*session)->step().ok());
  EXPECT_GE((*session)->measuredPeakBytes(0), 64u + 1000u);
  EXPECT_LT((*session)->measuredPeakBytes(0), 64u + 1100u);
}

TEST(Initialize, PhiloxAgreesWithItsAuthorsVectors) {
  // Random123's kat_vectors for philox4x32-10.
  EXPECT_EQ(philox({0, 0, 0, 0}, {0, 0}),
            (std::array<uint32_t, 4>{0x6627e8d5, 0xe169c58d, 0xbc57ac4c,
                                     0x9b00dbd8}));
  EXPECT_EQ(philox({0xffffffff, 0xffffffff, 0xffffffff, 0xffffffff},
                   {0xffffffff, 0xffffffff}),
            (std::array<uint32_t, 4>{0x408f276d, 0x41c83b0e, 0xa20bc7c6,
                                     0x6d5451fd}));
  EXPECT_EQ(philox({0x243f6a88, 0x85a308d3, 0x13198a2e, 0x03707344},
                   {0xa4093822, 0x299f31d0}),
            (std::array<uint32_t, 4>{0xd16cfe09, 0x94fdcceb, 0x5001e420,
                                     0x24126ea1}));
}

TEST(Initialize, NormalValuesHaveTheirMoments) {
  ppx::InitializerT initializer;
  initializer.kind = ppx::InitializerKind_normal;
  initializer.a = 2;
  initializer.b = 0.5;
  std::vector<float> values(400'001);
  // Values come in pairs, and runs begin anywhere.
  const auto runOf = [&](uint64_t begin, uint64_t end) {
    return ElementRun{begin, end - begin,
                      reinterpret_cast<std::byte *>(&values[begin])};
  };
  initialize(
      initializer, 7, ppx::ElementType_f32,
      {runOf(0, 101), runOf(300'000, values.size()), runOf(101, 300'000)});
  double sum = 0, squares = 0;
  for (size_t i = 0; i < values.size(); ++i) {
    ASSERT_EQ(values[i], float(initialValue(initializer, 7, i)));
    sum += values[i];
    squares += (values[i] - 2.0) * (values[i] - 2.0);
  }
  EXPECT_NEAR(sum / double(values.size()), 2, 0.005);
  EXPECT_NEAR(std::sqrt(squares / double(values.size())), 0.5, 0.005);
}

} // namespace
