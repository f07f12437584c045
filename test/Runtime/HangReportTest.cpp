//===- HangReportTest.cpp - reports on waiting ranks ----------------------===//
//
// SPDX-License-Identifier: Apache-2.0
//
// Without threads: the states of ranks are made up here, and packed as between
// processes.
//
//===----------------------------------------------------------------------===//
#include "engine/polled/HangReport.h"
#include "ProgramBuilder.h"

#include <gtest/gtest.h>

using namespace pprt;
using namespace pprt::polled;
using namespace pprt::test;

namespace {

/// A ring of stages, each of which receives from the next one and then sends
/// on.
struct Ring {
  explicit Ring(uint32_t stages) {
    ArtifactBuilder builder;
    builder.axis("pp", stages, ppx::AxisKind_stage);
    for (uint32_t stage = 0; stage < stages; ++stage) {
      ProgramBuilder program = builder.program({stage}, stage);
      const uint32_t queue = program.queue("all");
      const uint32_t in = program.slot("in", 4), out = program.slot("out", 4);
      const uint32_t next = (stage + 1) % stages,
                     last = (stage + stages - 1) % stages;
      program.begin(Section::body);
      program.recv(queue, next, in);
      program.send(queue, last, out);
      program.step(queue);
      RankState &state = states.emplace_back();
      state.index = stage;
      state.section = int(Section::body);
      // Its receive, and the neighbour's send.
      state.queues.push_back({0, true, {stage, next}, {0, 1}});
    }
    artifact = builder.take();
  }
  std::string report(const std::vector<RankState> &of) const {
    const Mesh mesh = *Mesh::create(artifact.axes);
    return hangReport(Ranks(artifact, mesh), of, 0, 2);
  }

  ppx::ArtifactT artifact;
  std::vector<RankState> states;
};

} // namespace

// Process 0 reports on all six ranks, three of which are another process's.
TEST(HangReport, ProcessesTellOfAllTheirRanks) {
  const Ring ring(6);
  std::vector<RankState> known;
  for (uint32_t begin : {0, 3})
    unpackStates(packStates({ring.states.begin() + begin,
                             ring.states.begin() + begin + 3}),
                 known);
  const std::string text = ring.report(ring.states);
  EXPECT_EQ(ring.report(known), text);
  EXPECT_NE(text.find("wait-for: 0 -> 1 -> 2 -> 3 -> 4 -> 5 -> 0"),
            std::string::npos)
      << text;
}

// The chain of waiting ranks leads past ranks without a known state.
TEST(HangReport, RanksBetweenMayBeElsewhere) {
  Ring ring(4);
  // 0 and 3 wait for each other; 1 and 2 have left.
  ring.states[0].queues[0].members = {0, 3};
  const std::string text = ring.report({ring.states[0], ring.states[3]});
  EXPECT_NE(text.find("not here: ranks 1,2"), std::string::npos) << text;
  EXPECT_NE(text.find("wait-for: 0 -> 3 -> 0"), std::string::npos) << text;
}

// The same wait of three ranks is reported once, without its consequences.
TEST(HangReport, RanksThatWaitForTheSameShareALine) {
  ArtifactBuilder builder;
  const uint32_t group = builder.group({builder.axis("dp", 4)});
  ProgramBuilder program = builder.program({0, 1, 2, 3});
  const uint32_t compute = program.queue("compute");
  const uint32_t reduces = program.queue("dp", ppx::QueueKind_collective);
  const uint32_t value = program.slot("value", 4);
  program.begin(Section::body);
  program.collective(reduces, ppx::CollectiveKind_all_reduce, group, {value},
                     {value});
  program.run(compute, {value}, {value});
  program.step(compute);
  const ppx::ArtifactT artifact = builder.take();
  std::vector<RankState> states;
  for (uint32_t rank = 0; rank < 4; ++rank) {
    const bool isThere = rank < 3;
    states.push_back({rank,
                      int(Section::body),
                      {{}, {0, isThere, {0, 1, 2, 3}, {0, 0, 0, 0}}}});
  }
  const Mesh mesh = *Mesh::create(artifact.axes);
  const std::string text = hangReport(Ranks(artifact, mesh), states, 0, 2);
  EXPECT_NE(text.find("\n  each of ranks 0-2: waits in "), std::string::npos)
      << text;
  EXPECT_NE(text.find("(members 0-3; missing 3)\n  rank 3: "),
            std::string::npos)
      << text;
  EXPECT_NE(text.find("wait-for: 0 -> 3"), std::string::npos) << text;
}
