//===- KernelObjectTest.cpp - every artifact runs its own kernels ---------===//
//
// SPDX-License-Identifier: Apache-2.0
//
// Two shared objects that differ in what their kernel returns, in one process.
//
//===----------------------------------------------------------------------===//
#include "lib/KernelObject.h"

#include <gtest/gtest.h>

#include <fstream>
#include <iterator>

using namespace pprt;

namespace {

std::vector<uint8_t> readObject(const std::string &path) {
  std::ifstream file(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), {}};
}

const std::vector<uint8_t> one = readObject(PP_KERNEL_ONE),
                           two = readObject(PP_KERNEL_TWO);

/// What the object's kernel writes.
int valueOf(const Expected<KernelResolver> &object) {
  auto *kernel = reinterpret_cast<CompiledFunction>((*object)("kernel"));
  int value = 0;
  void *const arguments[] = {&value};
  kernel(arguments, nullptr, 0, 1);
  return value;
}

TEST(KernelObject, EachIsItself) {
  // The second gets the descriptor that the first one had.
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
