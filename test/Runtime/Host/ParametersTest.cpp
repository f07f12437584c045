//===- ParametersTest.cpp - files of parameters and sessions --------------===//
//
// SPDX-License-Identifier: Apache-2.0
//
// Bytes of a file that a process reads, by the system's own count.
//
//===----------------------------------------------------------------------===//
#include "pprt/host/Parameters.h"

#include "../ProgramBuilder.h"
#include "../ThreadWorld.h"
#include "TestFiles.h"

#include <cstring>
#include <numeric>
#include <thread>

using namespace pprt;
using namespace pprt::test;

/// Bytes that this thread has read.
static uint64_t bytesRead() {
  std::ifstream counts("/proc/thread-self/io");
  std::string name;
  uint64_t bytes = 0;
  counts >> name >> bytes;
  return name == "rchar:" ? bytes : 0;
}

namespace {
class ParametersInFiles : public FilesTest,
                          public testing::WithParamInterface<bool> {};
} // namespace

// Four ranks in two processes, each with a quarter of the rows, or of the
// columns if the file has the dimensions in reverse order and merges them.
TEST_P(ParametersInFiles, AreReadWhereTheyAreHeld) {
  const bool isTransposed = GetParam();
  constexpr uint64_t kRows = 400, kColumns = 1000,
                     kBytes = kRows * kColumns * 4;
  ArtifactBuilder builder;
  builder.axis("tp", 4);
  const uint32_t parameter =
      builder.argument("w", ppx::Role_param, kRows * kColumns);
  ProgramBuilder program = builder.program({0, 1, 2, 3});
  const uint32_t queue = program.queue("compute");
  builder.hold(parameter, program.slot("w", kRows * kColumns / 4));
  program.begin(Section::body);
  program.step(queue);
  ppx::ArtifactT made = builder.take();
  ppx::ArgumentT &argument = *made.arguments[parameter];
  argument.is_models = true;
  argument.shape = argument.stored_shape =
      argument.padded_shape = {kRows, kColumns};
  if (isTransposed) {
    argument.stored_order = {1, 0};
    argument.stored_shape = {kRows * kColumns / 8, 8};
  }
  const std::vector<uint64_t> inFile = argument.stored_shape;
  argument.sharding.clear();
  for (const std::vector<uint32_t> &axes :
       {isTransposed ? std::vector<uint32_t>() : std::vector<uint32_t>{0},
        isTransposed ? std::vector<uint32_t>{0} : std::vector<uint32_t>()}) {
    argument.sharding.push_back(std::make_unique<ppx::DimensionAxesT>());
    argument.sharding.back()->axes = axes;
  }
  const auto artifact = std::make_shared<const ppx::ArtifactT>(std::move(made));

  std::vector<float> values(kRows * kColumns);
  std::iota(values.begin(), values.end(), 0.0f);
  std::vector<float> stored = values;
  for (size_t i = 0; isTransposed && i < values.size(); ++i)
    stored[i % kColumns * kRows + i / kColumns] = values[i];
  ASSERT_TRUE(host::writeSafeTensors(path("p"),
                                     {{"w", ppx::ElementType_f32, inFile}},
                                     [&](size_t, void *out) {
                                       std::memcpy(out, stored.data(), kBytes);
                                       return Status();
                                     })
                  .ok());

  Square square(2);
  std::vector<std::thread> threads;
  for (uint32_t process : {0, 1})
    threads.emplace_back([&, process] {
      const auto file = host::SafeTensors::open(path("p"));
      ASSERT_TRUE(file) << file.status().message();
      SessionOptions options;
      options.world = std::make_shared<ThreadWorld>(square, process);
      auto session = Session::create(artifact, options);
      ASSERT_TRUE(session) << session.status().message();
      const uint64_t before = bytesRead();
      const Status status = host::loadParameters(*file, **session);
      const uint64_t read = bytesRead() - before;
      EXPECT_TRUE(status.ok()) << status.message();
      if (before > 0) { // if the system counts
        EXPECT_GE(read, kBytes / 2) << "process " << process;
        EXPECT_LT(read, kBytes / 2 + 10'000) << "process " << process;
      }
      std::vector<float> all(values.size());
      EXPECT_TRUE((*session)->getArgument(parameter, all.data(), kBytes).ok());
      if (process == 0)
        EXPECT_EQ(all, values);
    });
  for (std::thread &thread : threads)
    thread.join();
}

INSTANTIATE_TEST_SUITE_P(InTheirOrderOrNot, ParametersInFiles, testing::Bool());
