//===- OneRank.h - a fixture for checks of one program ----------*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0
//
// A test adds instructions, then check() adds the step and returns what the
// checks find. The structure must be sound.
//
//===----------------------------------------------------------------------===//
#ifndef PP_TEST_RUNTIME_ONERANK_H
#define PP_TEST_RUNTIME_ONERANK_H

#include "ProgramBuilder.h"
#include "pprt/Checks.h"

#include <gtest/gtest.h>

namespace pprt::test {

/// One rank with two queues and only the waits that a test adds.
struct OneRank : testing::Test {
  ArtifactBuilder artifact;
  ProgramBuilder program = artifact.program({0});
  uint32_t main = program.queue("main"), side = program.queue("side");

  void SetUp() override {
    program.automaticWaits = false;
    program.begin(Section::body);
  }
  std::string check() {
    program.step(main);
    ppx::ArtifactT made = artifact.take();
    EXPECT_TRUE(checkStructure(made).ok())
        << checkStructure(made).status().message();
    return checkArtifact(made).status().message();
  }
};

} // namespace pprt::test

#endif // PP_TEST_RUNTIME_ONERANK_H
