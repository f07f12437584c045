//===- MeasureTest.cpp - what a session measured --------------------------===//
//
// SPDX-License-Identifier: Apache-2.0
//
// A program without predictions has a report, too.
//
//===----------------------------------------------------------------------===//
#include "pprt/host/Measure.h"
#include "ProgramBuilder.h"

#include <gtest/gtest.h>

using namespace pprt;
using namespace pprt::host;
using namespace pprt::test;

TEST(Measure, TellsWhatRanWithoutAPredictor) {
  ArtifactBuilder builder;
  builder.axis("dp", 2);
  const uint32_t parameter = builder.argument("w", ppx::Role_param, 3);
  ProgramBuilder program = builder.program({0, 1});
  const uint32_t queue = program.queue("compute");
  const uint32_t held = program.slot("w", 3);
  builder.hold(parameter, held);
  const uint32_t copied = program.slot("copied", 3);
  program.begin(Section::body);
  program.set({ppx::Phase_forward, 0});
  program.copy(queue, held, copied);
  program.step(queue);
  const auto artifact = std::make_shared<const ppx::ArtifactT>(builder.take());
  SessionOptions options;
  options.threadsPerRank = 1;
  auto session = Session::create(artifact, options);
  ASSERT_TRUE(session) << session.status().message();
  ASSERT_TRUE((*session)->initialize(0).ok());
  ASSERT_TRUE((*session)->begin().ok());
  ASSERT_TRUE((*session)->step().ok());
  Report report;
  report.steps = {{1, 0, 1}};
  measure(**session, report);
  EXPECT_EQ(report.world, 2u);
  EXPECT_EQ(report.threadsPerRank, 1u);
  EXPECT_EQ(report.device, "cpu");
  ASSERT_EQ(report.memory.size(), 2u);
  for (uint32_t rank : {0, 1}) {
    const MemoryReport &memory = report.memory[rank];
    EXPECT_EQ(memory.rank, rank);
    EXPECT_EQ(memory.predicted.peak, artifact->programs[0]->arena_bytes);
    EXPECT_GE(memory.measuredPeak.value_or(0), 12u);
  }
}
