//===- Pipelines.h - small training programs of many shapes -----*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0
//
// Programs as a compiler would make them, with all opcodes, for tests that need
// many: pipeline stages x data-parallel replicas, both classic schedules,
// residuals in rings, slots that share memory, three ways to use queues.
//
//===----------------------------------------------------------------------===//
#ifndef PP_TEST_RUNTIME_PIPELINES_H
#define PP_TEST_RUNTIME_PIPELINES_H

#include "ProgramBuilder.h"

#include <random>

namespace pprt::test {

enum class QueueStyle {
  single,  ///< everything in one queue
  perKind, ///< compute, sends, receives, collectives, copies
  perEdge  ///< as perKind, with a queue for each directed edge
};

struct PipelineShape {
  uint32_t stages = 2, microBatches = 2, replicas = 1;
  bool oneForwardOneBackward = true; ///< else all forwards first (GPipe)
  QueueStyle queues = QueueStyle::perEdge;
  bool reuseMemory = true;
  bool clip = false;          ///< norm over stages, finite flag, gated update
  bool shardedUpdate = false; ///< reduce-scatter, update, all-gather
};

ppx::ArtifactT makePipeline(const PipelineShape &shape);

PipelineShape randomShape(std::mt19937_64 &random);

/// Gives `rank` a copy of its program that no other rank runs, and returns its
/// index.
uint32_t makePrivateProgram(ppx::ArtifactT &artifact, uint32_t rank);

} // namespace pprt::test

#endif // PP_TEST_RUNTIME_PIPELINES_H
