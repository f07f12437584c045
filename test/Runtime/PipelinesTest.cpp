//===- PipelinesTest.cpp - sound programs pass and run the same way -------===//
//
// SPDX-License-Identifier: Apache-2.0
//
// Programs that are right under many schedules, queues and interleavings:
// checks accept them, and the reference executor ends with the same bytes.
//
//===----------------------------------------------------------------------===//
#include "Pipelines.h"
#include "ExecutionModel.h"
#include "pprt/Checks.h"

#include <gtest/gtest.h>

using namespace pprt;
using namespace pprt::test;

/// Runs once per interleaving and compares everything that can be observed.
static void expectSameBits(const ppx::ArtifactT &artifact, int interleavings) {
  reference::Result first;
  for (int seed = 0; seed < interleavings; ++seed) {
    reference::Result result =
        reference::execute(artifact, hashingOptions(seed));
    ASSERT_EQ(result.end, reference::End::finished) << result.reason;
    EXPECT_TRUE(result.races.empty()) << result.races.front();
    if (seed == 0)
      first = std::move(result);
    else
      EXPECT_TRUE(result.arenas == first.arenas &&
                  result.emitted == first.emitted);
  }
}

TEST(Pipelines, EveryShapeIsAcceptedAndDeterministic) {
  int count = 0;
  for (uint32_t stages = 2; stages <= 4; ++stages)
    for (uint32_t microBatches = 1; microBatches <= 4; ++microBatches)
      for (uint32_t replicas = 1; replicas <= 3; ++replicas)
        for (uint32_t bits = 0; bits < 16; ++bits) {
          PipelineShape shape;
          shape.stages = stages;
          shape.microBatches = microBatches;
          shape.replicas = replicas;
          shape.oneForwardOneBackward = bits & 1;
          shape.reuseMemory = bits & 2;
          shape.clip = bits & 4;
          shape.shardedUpdate = bits & 8;
          const ppx::ArtifactT artifact = makePipeline(shape);
          const CheckResult result = checkArtifact(artifact);
          ASSERT_TRUE(result.ok()) << result.status().message();
          expectSameBits(artifact, 2);
          ++count;
        }
  EXPECT_EQ(count, 3 * 4 * 3 * 16);
}

TEST(Pipelines, GPipeNeedsNoQueueButOne) {
  for (QueueStyle style : {QueueStyle::single, QueueStyle::perKind}) {
    PipelineShape shape;
    shape.stages = 3;
    shape.microBatches = 4;
    shape.replicas = 2;
    shape.queues = style;
    shape.oneForwardOneBackward = false;
    const ppx::ArtifactT artifact = makePipeline(shape);
    const CheckResult result = checkArtifact(artifact);
    ASSERT_TRUE(result.ok()) << result.status().message();
    expectSameBits(artifact, 20);
  }
}

// A known trap of pipeline runtimes: 1F1B over one in-order queue ends when
// sends are buffered, and deadlocks when they are not.
TEST(Pipelines, OneForwardOneBackwardOverOneQueueDeadlocks) {
  PipelineShape shape;
  shape.microBatches = 3;
  shape.queues = QueueStyle::single;
  const ppx::ArtifactT artifact = makePipeline(shape);
  const CheckResult result = checkArtifact(artifact);
  ASSERT_EQ(result.findings.size(), 1u);
  EXPECT_EQ(result.findings.front().kind, FindingKind::deadlock);
  EXPECT_EQ(result.status().code(), ExitCode::checkFailed);
  EXPECT_EQ(result.status().message(),
            "rank 1, body #9 '0F1 recv': never completes: a cycle of waits\n"
            "    it comes after rank 1, body #8 '1B0 send'\n"
            "    which meets rank 0, body #8 '1B0 recv'\n"
            "    which comes after rank 0, body #7 '0F1 send'\n"
            "    which meets rank 1, body #9 '0F1 recv'");
  const reference::Result run = reference::execute(artifact, hashingOptions(0));
  EXPECT_EQ(run.end, reference::End::stalled);
  EXPECT_EQ(run.reason, "rank 0, body, queue 'compute' #7 '0F1 send' waits "
                        "for rank 1\n"
                        "rank 1, body, queue 'compute' #8 '1B0 send' waits "
                        "for rank 0\n");
}

/// The loads of all programs.
static std::vector<ppx::InstructionT *> loadsOf(ppx::ArtifactT &artifact) {
  std::vector<ppx::InstructionT *> loads;
  for (const auto &program : artifact.programs)
    for (const auto &instruction : writtenOf(*program, Section::body))
      if (instruction->opcode == ppx::Opcode_load)
        loads.push_back(instruction.get());
  return loads;
}

// Any other micro-batch of one load, or an exchange of two, changes the values
// that the executor computes; so it is refused.
TEST(Pipelines, LoadsAreOfTheMicroBatchThatReadsThem) {
  PipelineShape shape;
  shape.microBatches = 3;
  shape.replicas = 2;
  ppx::ArtifactT artifact = makePipeline(shape);
  const auto right = reference::execute(artifact, hashingOptions(0)).emitted;
  int edits = 0;
  const auto expectRefused = [&](FindingKind kind) {
    const CheckResult result = checkArtifact(artifact);
    ASSERT_FALSE(result.ok());
    EXPECT_EQ(result.findings.front().kind, kind);
    EXPECT_NE(reference::execute(artifact, hashingOptions(0)).emitted, right);
    ++edits;
  };
  const std::vector<ppx::InstructionT *> loads = loadsOf(artifact);
  for (ppx::InstructionT *load : loads) {
    const int32_t microBatch = load->micro_batch;
    for (int32_t other = -1; other < 3; ++other) {
      load->micro_batch = other;
      if (other == microBatch)
        EXPECT_TRUE(checkArtifact(artifact).ok());
      else if (other >= 0 || microBatch > 0) // none is the first
        expectRefused(FindingKind::structure);
    }
    load->micro_batch = microBatch;
    for (ppx::InstructionT *other : loads)
      if (other->micro_batch > microBatch) {
        std::swap(load->micro_batch, other->micro_batch);
        expectRefused(FindingKind::clobber);
        std::swap(load->micro_batch, other->micro_batch);
      }
  }
  EXPECT_EQ(edits, 3 * 3 - 1 + 3);
  loads[1]->micro_batch = 2;
  EXPECT_EQ(checkArtifact(artifact).status().message(),
            "argument 'input' expects program 'program0' to load each of its 3 "
            "parts over time, got 2");
  loads[2]->micro_batch = 1;
  EXPECT_EQ(checkArtifact(artifact).findings.front().message,
            "rank 0, body #6 '0F1 run': reads 'residual1'; expects what is "
            "written for its own micro-batch, got what rank 0, body #5 '0F2 "
            "load' wrote");
}
