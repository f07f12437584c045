//===- KernelObjectTest.cpp - every artifact runs its own kernels ---------===//
//
// SPDX-License-Identifier: Apache-2.0
//
// Two shared objects that differ in their kernel's result, in one process.
//
//===----------------------------------------------------------------------===//
#include "ProgramBuilder.h"

#include "backends/cpu/KernelObject.h"
#include "pprt/Processor.h"
#include "pprt/Session.h"

#include <gtest/gtest.h>

#include <fstream>
#include <iterator>

using namespace pprt;
using namespace pprt::test;

namespace {

std::vector<uint8_t> readObject(const std::string &path) {
  std::ifstream file(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), {}};
}

const std::vector<uint8_t> one = readObject(PP_KERNEL_ONE),
                           two = readObject(PP_KERNEL_TWO);

/// Returns the value that the object's kernel writes.
int valueOf(const Expected<KernelResolver> &object) {
  auto *kernel = reinterpret_cast<CompiledFunction>((*object)("kernel"));
  int value = 0;
  void *const arguments[] = {&value};
  kernel(arguments, nullptr, 0, 1);
  return value;
}

TEST(KernelObject, EachIsItself) {
  // The second gets the first one's descriptor.
  Expected<KernelResolver> first = loadKernelObject(one);
  ASSERT_TRUE(first) << first.status().message();
  Expected<KernelResolver> second = loadKernelObject(two);
  ASSERT_TRUE(second) << second.status().message();
  EXPECT_EQ(valueOf(first), 1);
  EXPECT_EQ(valueOf(second), 2);
  Expected<KernelResolver> third = loadKernelObject(one);
  ASSERT_TRUE(third) << third.status().message();
  EXPECT_EQ(valueOf(third), 1);
  EXPECT_EQ(valueOf(second), 2);
}

/// A session of an artifact that carries `object`, whose kernel updates w.
std::unique_ptr<Session> open(const std::vector<uint8_t> &object) {
  ArtifactBuilder builder;
  const uint32_t parameter = builder.argument("w", ppx::Role_param, 1);
  ProgramBuilder program = builder.program({0});
  const uint32_t queue = program.queue("compute");
  const uint32_t w = program.slot("w", 1);
  builder.hold(parameter, w);
  program.begin(Section::body);
  program.run(queue, {}, {}, {w});
  program.step(queue);
  ppx::ArtifactT artifact = builder.take();
  artifact.kernels[0]->body.AsCompiledKernel()->symbol = "kernel";
  artifact.object = object;
  artifact.processor = processorLevel();
  auto session = Session::create(
      std::make_shared<const ppx::ArtifactT>(std::move(artifact)));
  EXPECT_TRUE(session.ok()) << session.status().message();
  EXPECT_TRUE((*session)->initialize(1).ok() && (*session)->begin().ok());
  return std::move(*session);
}

TEST(KernelObject, BelongsToItsSession) {
  const std::unique_ptr<Session> sessions[] = {open(one), open(two)};
  for (int step = 0; step < 2; ++step)
    for (int expected : {1, 2}) {
      Session &session = *sessions[expected - 1];
      ASSERT_TRUE(session.step().ok());
      int value = 0;
      ASSERT_TRUE(session.getArgument(0, &value, sizeof(value)).ok());
      EXPECT_EQ(value, expected);
    }
}

TEST(KernelObject, ComesAgainAfterItWasUnloaded) {
  for (int i = 0; i < 3; ++i) {
    EXPECT_EQ(valueOf(loadKernelObject(one)), 1);
    EXPECT_EQ(valueOf(loadKernelObject(two)), 2);
  }
}

TEST(KernelObject, RefusesWhatIsNoObject) {
  EXPECT_EQ(loadKernelObject({1, 2, 3}).status().code(), ExitCode::badArtifact);
}

} // namespace
