//===- GraphTest.cpp - which steps are recorded ---------------------------===//
//
// SPDX-License-Identifier: Apache-2.0
//
// Two ranks on a GPU each, both played, that add up a value by NCCL. The second
// also has a product behind a gate, which the host starts, so that its steps
// cannot be recorded. NCCL wants what it carries out recorded by all ranks or
// by none, so the first must not record its own either.
//
//===----------------------------------------------------------------------===//
#include "../Runtime/ProgramBuilder.h"
#include "Emulated.h"
#include "pprt/Session.h"

using namespace pprt;
using namespace pprt::test;

namespace {

/// Of one f32 each.
ppx::ContractionT product() {
  ppx::ContractionT body;
  body.m = body.n = body.k = 1;
  for (auto view : {&body.lhs, &body.rhs, &body.out}) {
    *view = std::make_unique<ppx::MatrixViewT>();
    (*view)->row_stride = (*view)->column_stride = 1;
  }
  body.out_parameter = 2;
  return body;
}

std::shared_ptr<const ppx::ArtifactT> makeArtifact(bool isGated) {
  ArtifactBuilder builder;
  const uint32_t group = builder.group({builder.axis("dp", 2)});
  const uint32_t states[] = {builder.argument("x", ppx::Role_state, 1),
                             builder.argument("sum", ppx::Role_state, 1)};
  for (const uint32_t rank : {0, 1}) {
    ProgramBuilder program = builder.program({rank});
    const uint32_t queue = program.queue("compute");
    const uint32_t x = program.slot("x", 1), sum = program.slot("sum", 1),
                   shut = program.slot("shut", 1), y = program.slot("y", 1);
    builder.hold(states[0], x);
    builder.hold(states[1], sum);
    program.begin(Section::setup);
    program.flag(queue, {}, shut);
    program.begin(Section::body);
    if (rank == 1 && isGated)
      program.gate(queue, {x, sum}, {y}, shut);
    program.collective(queue, ppx::CollectiveKind_all_reduce, group, {x},
                       {sum});
    program.step(queue);
  }
  ppx::ArtifactT artifact = builder.take();
  for (const auto &kernel : artifact.kernels)
    kernel->body.Set(product());
  for (const auto &program : artifact.programs)
    program->slots[2]->element = ppx::ElementType_i32;
  artifact.processor = "sm_80";
  return std::make_shared<const ppx::ArtifactT>(std::move(artifact));
}

class Recorded : public emulated::Emulated {
protected:
  /// Runs two steps, and says how often a recording was played.
  uint64_t play(bool isGated) {
    reset("devices 2\nseed 1\n");
    SessionOptions options;
    options.device = "cuda";
    {
      Expected<std::unique_ptr<Session>> session =
          Session::create(makeArtifact(isGated), options);
      EXPECT_TRUE(session.ok()) << session.status().message();
      if (!session.ok())
        return 0;
      const float one = 1;
      for (uint32_t state : {0, 1})
        EXPECT_TRUE((*session)->setArgument(state, &one, sizeof(one)).ok());
      EXPECT_TRUE((*session)->begin().ok());
      for (int step = 0; step < 2; ++step) {
        const Status status = (*session)->step();
        EXPECT_TRUE(status.ok()) << status.message();
      }
      EXPECT_TRUE((*session)->end().ok());
    }
    EXPECT_EQ(allFaults(), "");
    return control->count("cuGraphLaunch");
  }
};

} // namespace

TEST_F(Recorded, ByAllRanks) { EXPECT_EQ(play(/*isGated=*/false), 4u); }

TEST_F(Recorded, ByNoneIfOneCannot) { EXPECT_EQ(play(/*isGated=*/true), 0u); }
