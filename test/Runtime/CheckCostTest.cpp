//===- CheckCostTest.cpp - checks take time linear in the program ---------===//
//
// SPDX-License-Identifier: Apache-2.0
//
// Programs of twice the size take about twice the steps, counted and not timed.
//
//===----------------------------------------------------------------------===//
#include "Pipelines.h"
#include "pprt/Checks.h"

#include <gtest/gtest.h>

using namespace pprt;
using namespace pprt::test;

static uint64_t operationsOf(const ppx::ArtifactT &artifact) {
  const CheckResult result = checkArtifact(artifact);
  EXPECT_TRUE(result.ok()) << result.status().message();
  return result.operations;
}

// Twice the program, at most twice the work and a little for the logarithm.
TEST(Cost, GrowsWithTheProgram) {
  auto operations = [](uint32_t microBatches, uint32_t replicas) {
    PipelineShape shape;
    shape.microBatches = microBatches;
    shape.replicas = replicas;
    shape.oneForwardOneBackward = false; // a residual for each micro-batch
    return operationsOf(makePipeline(shape));
  };
  for (uint32_t size : {64, 128, 256})
    EXPECT_LT(operations(2 * size, 1), 2.2 * operations(size, 1));
  for (uint32_t size : {1, 2, 4, 8})
    EXPECT_LE(operations(16, 2 * size), 2.0 * operations(16, size));
}

// Many small slots below a large one, which is written and read as often: bytes
// would take the product of the two.
TEST(Cost, DoesNotGrowWithTheOverlapOfSlots) {
  auto operations = [](uint32_t count) {
    ArtifactBuilder artifact;
    ProgramBuilder program = artifact.program({0});
    program.automaticWaits = false;
    const uint32_t main = program.queue("main");
    const uint32_t whole = program.slot("whole", 16 * count);
    const uint32_t result = program.slot("result", 4);
    program.begin(Section::body);
    for (uint32_t i = 0; i < count; ++i)
      program.run(main, {}, {program.slotAt(64 * i, "small", 16)});
    for (uint32_t i = 0; i < count; ++i)
      program.run(main, {}, {whole});
    for (uint32_t i = 0; i < count; ++i)
      program.run(main, {whole}, {result});
    program.step(main);
    return operationsOf(artifact.take());
  };
  for (uint32_t size : {256, 512, 1024})
    EXPECT_LT(operations(2 * size), 2.2 * operations(size));
}

// Every stage emits an output of its own: asking each program for each output
// would take the product of the two.
TEST(Cost, DoesNotGrowWithOutputsTimesPrograms) {
  auto operations = [](uint32_t count) {
    ArtifactBuilder artifact;
    artifact.axis("pp", count, ppx::AxisKind_stage);
    for (uint32_t stage = 0; stage < count; ++stage) {
      ProgramBuilder program = artifact.program({stage}, stage);
      const uint32_t main = program.queue("main");
      const uint32_t value = program.slot("value", 4);
      const uint32_t output =
          artifact.output("value" + std::to_string(stage), 4);
      artifact.emits(output, stage);
      program.begin(Section::body);
      program.run(main, {}, {value});
      program.emit(main, output, value);
      program.step(main);
    }
    return operationsOf(artifact.take());
  };
  for (uint32_t size : {64, 128, 256})
    EXPECT_LT(operations(2 * size), 2.2 * operations(size));
}
