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
            "rank 1, body #9 '0F1 recv': expects to complete, got a cycle\n"
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
