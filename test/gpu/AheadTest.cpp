//===- AheadTest.cpp - steps that are begun before others are over --------===//
//
// SPDX-License-Identifier: Apache-2.0
//
// A session on a emulated GPU, whose step adds what it loads, times the
// number of the step, to a state, and emits it. Whether the host waits for each
// step or begins the next one first, all steps emit the same, in any order that
// CUDA allows; the emulated library sees a host that is too early in memory
// that a step under way still uses.
//
//===----------------------------------------------------------------------===//
#include "../Runtime/ProgramBuilder.h"
#include "Emulated.h"
#include "pprt/Session.h"

using namespace pprt;
using namespace pprt::test;

namespace {

/// s = s + x * (scalars[1] + 1): of a mesh without axes that is the step.
constexpr char kAccumulate[] = R"(.version 7.0
.target sm_80
.address_size 64
.visible .entry accumulate(
  .param .u64 accumulate_x, .param .u64 accumulate_s,
  .param .u64 accumulate_scalars, .param .u64 accumulate_gate)
{
  .reg .b64 %rd<5>;
  .reg .f32 %f<6>;
  ld.param.u64 %rd1, [accumulate_x];
  ld.param.u64 %rd2, [accumulate_s];
  ld.param.u64 %rd3, [accumulate_scalars];
  ld.global.u64 %rd4, [%rd3+8];
  cvt.rn.f32.s64 %f1, %rd4;
  add.f32 %f2, %f1, 0f3F800000;
  ld.global.f32 %f3, [%rd1];
  ld.global.f32 %f4, [%rd2];
  fma.rn.f32 %f5, %f2, %f3, %f4;
  st.global.f32 [%rd2], %f5;
  ret;
}
)";
constexpr int kSteps = 5;

std::shared_ptr<const ppx::ArtifactT> makeArtifact() {
  ArtifactBuilder builder;
  const uint32_t x = builder.argument("x", ppx::Role_input, 1);
  const uint32_t s = builder.argument("s", ppx::Role_state, 1);
  const uint32_t y = builder.output("y", 1);
  ProgramBuilder program = builder.program({0});
  const uint32_t queue = program.queue("compute");
  const uint32_t in = program.slot("x", 1), sum = program.slot("s", 1);
  builder.hold(s, sum);
  program.begin(Section::body);
  program.load(queue, x, in);
  program.run(queue, {in}, {}, {sum});
  program.emit(queue, y, sum);
  program.step(queue);
  ppx::ArtifactT artifact = builder.take();
  artifact.processor = "sm_80";
  artifact.object.assign(std::begin(kAccumulate), std::end(kAccumulate) - 1);
  ppx::CompiledKernelT &body =
      *artifact.kernels.front()->body.AsCompiledKernel();
  body.symbol = "accumulate";
  body.grid = body.block = 1;
  return std::make_shared<const ppx::ArtifactT>(std::move(artifact));
}

class Ahead : public emulated::Emulated {
protected:
  void TearDown() override {
    session.reset();
    if (!hasFailed)
      EXPECT_STREQ(control->leaks(), "");
    EXPECT_EQ(allFaults(), "");
    Emulated::TearDown();
  }
  void open(const std::string &settings, bool graph = true) {
    session.reset();
    reset(settings);
    SessionOptions options;
    options.device = "cuda";
    options.graph = graph;
    Expected<std::unique_ptr<Session>> made =
        Session::create(makeArtifact(), options);
    ASSERT_TRUE(made.ok()) << made.status().message();
    session = std::move(*made);
    const float zero = 0;
    ASSERT_TRUE(session->setArgument(1, &zero, sizeof(zero)).ok());
    ASSERT_TRUE(session->begin().ok());
  }
  void submit(int step) {
    const float x = 1.5f + float(step);
    ASSERT_TRUE(session->setInput(0, &x, sizeof(x)).ok());
    const Status status = session->submit();
    ASSERT_TRUE(status.ok()) << status.message();
  }
  float wait() {
    const Status status = session->wait();
    EXPECT_TRUE(status.ok()) << status.message();
    return float(session->scalar(0));
  }
  static void expectUsage(const Status &status, const char *message) {
    EXPECT_EQ(status.code(), ExitCode::usage);
    EXPECT_EQ(status.message(), message);
  }

  std::unique_ptr<Session> session;
  bool hasFailed = false; ///< the device, which frees nothing any more
};

TEST_F(Ahead, EmitsWhatStepsOneByOneEmit) {
  std::vector<float> expected;
  float sum = 0;
  for (int step = 0; step < kSteps; ++step)
    expected.push_back(sum += (1.5f + float(step)) * float(step + 1));
  for (int seed = 0; seed < 12; ++seed)
    for (const unsigned ahead : {1u, 2u}) {
      ASSERT_NO_FATAL_FAILURE(open("seed " + std::to_string(seed)));
      ASSERT_EQ(session->stepsAhead(), 2u);
      std::vector<float> got;
      unsigned underWay = 0;
      for (int step = 0; step < kSteps; ++step) {
        ASSERT_NO_FATAL_FAILURE(submit(step));
        if (++underWay == ahead) {
          got.push_back(wait());
          --underWay;
        }
      }
      for (; underWay > 0; --underWay)
        got.push_back(wait());
      EXPECT_EQ(got, expected) << "seed " << seed << ", " << ahead << " ahead";
      float last = 0;
      EXPECT_TRUE(session->getArgument(1, &last, sizeof(last)).ok());
      EXPECT_EQ(last, sum);
      EXPECT_TRUE(session->end().ok());
    }
}

/// So that the GPU never waits for the host.
TEST_F(Ahead, IsGivenTheNextStepBeforeTheHostAsks) {
  ASSERT_NO_FATAL_FAILURE(open("seed 0"));
  // The second recording is made when nothing else is under way.
  uint64_t asked = control->count("cuEventQuery");
  ASSERT_NO_FATAL_FAILURE(submit(0));
  EXPECT_EQ(control->count("cuEventQuery"), asked);
  ASSERT_NO_FATAL_FAILURE(submit(1));
  EXPECT_GT(control->count("cuEventQuery"), asked);
  EXPECT_EQ(wait(), 1.5f);
  EXPECT_EQ(wait(), 6.5f);
  asked = control->count("cuEventQuery");
  ASSERT_NO_FATAL_FAILURE(submit(2));
  ASSERT_NO_FATAL_FAILURE(submit(3));
  EXPECT_EQ(control->count("cuGraphLaunch"), 4u);
  EXPECT_EQ(control->count("cuEventQuery"), asked);
  wait();
  wait();
}

/// Nobody has to wait to know that a step is over.
TEST_F(Ahead, SeesThatTheOldestStepHasEnded) {
  int tooEarly = 0;
  for (int seed = 0; seed < 12; ++seed) {
    ASSERT_NO_FATAL_FAILURE(open("seed " + std::to_string(seed)));
    EXPECT_TRUE(session->hasEnded());
    for (int step = 0; step < kSteps; ++step) {
      ASSERT_NO_FATAL_FAILURE(submit(step));
      // What is played goes on where it is asked.
      int looks = 0;
      while (!session->hasEnded() && looks < 1000)
        ++looks;
      EXPECT_LT(looks, 1000);
      tooEarly += looks;
      const uint64_t asked = control->count("cuEventQuery");
      wait();
      EXPECT_EQ(control->count("cuEventQuery"), asked + 1);
    }
  }
  EXPECT_GT(tooEarly, 0);
}

/// A query that fails once has failed for good.
TEST_F(Ahead, TellsOfAFailureThatWasSeenEarly) {
  ASSERT_NO_FATAL_FAILURE(open("seed 0\nfail cuEventQuery 2 719"));
  ASSERT_NO_FATAL_FAILURE(submit(0));
  EXPECT_TRUE(session->hasEnded());
  EXPECT_EQ(session->wait().code(), ExitCode::device);
  hasFailed = true;
}

TEST_F(Ahead, RefusesCallsOutOfTurn) {
  ASSERT_NO_FATAL_FAILURE(open("seed 2"));
  expectUsage(session->wait(), "wait() called with no step in flight");
  ASSERT_NO_FATAL_FAILURE(submit(0));
  float value = 0;
  const char *const kIdle = "an argument expects no steps in flight, got "
                            "1; wait() for them first";
  expectUsage(session->getArgument(1, &value, sizeof(value)), kIdle);
  expectUsage(session->setArgument(1, &value, sizeof(value)), kIdle);
  expectUsage(session->initialize(1), kIdle);
  expectUsage(session->step(), "a step expects no steps in flight, got 1; "
                               "wait() for them first");
  expectUsage(session->end(), "end expects no steps in flight, got 1; wait() "
                              "for them first");
  expectUsage(session->collect(), "to collect expects no steps in flight, got "
                                  "1; wait() for them first");
  ASSERT_NO_FATAL_FAILURE(submit(1));
  expectUsage(session->submit(), "submit() called with 2 steps in flight; "
                                 "wait() for the oldest first");
  EXPECT_EQ(wait(), 1.5f);
  EXPECT_EQ(wait(), 6.5f);
  EXPECT_TRUE(session->end().ok());
}

/// Of what is not recorded each instruction has times, of one step.
TEST_F(Ahead, WaitsForEachStepThatIsNotRecorded) {
  ASSERT_NO_FATAL_FAILURE(open("seed 3", /*graph=*/false));
  EXPECT_EQ(session->stepsAhead(), 1u);
  ASSERT_NO_FATAL_FAILURE(submit(0));
  expectUsage(session->submit(), "submit() called with 1 step in flight; "
                                 "wait() for the oldest first");
  EXPECT_EQ(wait(), 1.5f);
}

/// A step has ended when it has, whatever becomes of the one behind it.
TEST_F(Ahead, TellsOfAStepBeforeTheNextOneFails) {
  ASSERT_NO_FATAL_FAILURE(open("seed 0\nfault cuGraphLaunch 2 719"));
  ASSERT_NO_FATAL_FAILURE(submit(0));
  ASSERT_NO_FATAL_FAILURE(submit(1));
  EXPECT_EQ(wait(), 1.5f);
  EXPECT_EQ(session->wait().code(), ExitCode::device);
  EXPECT_TRUE(session->hasEnded());
  hasFailed = true;
}

/// A step under way that fails is the first cause, of every call.
TEST_F(Ahead, SaysWhyTheStepBeforeFailed) {
  ASSERT_NO_FATAL_FAILURE(open("seed 0\nfail cuGraphLaunch 2 719"));
  ASSERT_NO_FATAL_FAILURE(submit(0));
  const Status failed = session->submit();
  EXPECT_EQ(failed.code(), ExitCode::device);
  EXPECT_EQ(session->wait().message(), failed.message());
  EXPECT_EQ(session->submit().message(), failed.message());
}

} // namespace
