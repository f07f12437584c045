//===- CapiTest.cpp - the runtime as C sees it ----------------------------===//
//
// SPDX-License-Identifier: Apache-2.0
//
// Values in and out, and every call at a wrong time or with a wrong size: it
// reports what it expects, and the session goes on.
//
//===----------------------------------------------------------------------===//
#include "ProgramBuilder.h"

#include "pprt/Artifact.h"
#include "pprt/host/SafeTensors.h"
#include "pprt/pprt.h"

#include <cmath>
#include <filesystem>
#include <gtest/gtest.h>

#include <unistd.h>

using namespace pprt;
using namespace pprt::test;

namespace {

/// One rank loads x, emits it, and holds w, of three elements each.
std::vector<uint8_t> makeEcho() {
  ArtifactBuilder builder;
  builder.axis("dp", 1);
  const uint32_t input = builder.argument("x", ppx::Role_input, 3);
  const uint32_t parameter = builder.argument("w", ppx::Role_param, 3);
  const uint32_t output = builder.output("y", 3);
  ProgramBuilder program = builder.program({0});
  const uint32_t queue = program.queue("compute");
  const uint32_t x = program.slot("x", 3);
  builder.hold(parameter, program.slot("w", 3));
  program.begin(Section::body);
  program.set({ppx::Phase_forward, 0});
  program.load(queue, input, x);
  program.emit(queue, output, x);
  program.step(queue);
  return packArtifact(builder.take());
}

class Capi : public testing::Test {
protected:
  void SetUp() override {
    // At an odd address.
    std::vector<uint8_t> bytes = makeEcho();
    bytes.insert(bytes.begin(), 0);
    ASSERT_EQ(
        pprt_open_bytes(bytes.data() + 1, bytes.size() - 1, nullptr, &session),
        PPRT_OK)
        << pprt_error();
  }
  void TearDown() override { pprt_close(session); }

  void expectUsage(int code, const char *text) {
    EXPECT_EQ(code, PPRT_USAGE);
    EXPECT_NE(std::string(pprt_error()).find(text), std::string::npos)
        << pprt_error();
  }

  pprt_session *session = nullptr;
  const float x[3] = {1, 2, 3}, w[3] = {4, 5, 6};
  float found[3] = {};
};

TEST_F(Capi, DescribesArgumentsAndOutputs) {
  EXPECT_EQ(pprt_rank_count(session), 1u);
  EXPECT_EQ(pprt_argument_count(session), 2u);
  EXPECT_EQ(pprt_output_count(session), 1u);
  pprt_tensor tensor;
  ASSERT_EQ(pprt_argument(session, 1, &tensor), PPRT_OK);
  EXPECT_STREQ(tensor.name, "w");
  EXPECT_EQ(tensor.role, PPRT_PARAMETER);
  EXPECT_EQ(tensor.element, PPRT_F32);
  ASSERT_EQ(tensor.dimensions, 1u);
  EXPECT_EQ(tensor.shape[0], 3u);
  EXPECT_EQ(tensor.bytes, 12u);
  EXPECT_EQ(tensor.bound, 0u);
  ASSERT_EQ(pprt_output(session, 0, &tensor), PPRT_OK);
  EXPECT_STREQ(tensor.name, "y");
  EXPECT_GE(tensor.role, PPRT_LOSS);
  expectUsage(pprt_argument(session, 2, &tensor), "below 2, got 2");
  expectUsage(pprt_output(session, 1, &tensor), "below 1, got 1");
  uint32_t index = 9;
  EXPECT_EQ(pprt_find_argument(session, "x", &index), PPRT_OK);
  EXPECT_EQ(index, 0u);
  expectUsage(pprt_find_argument(session, "z", &index), "got 'z'");
}

TEST_F(Capi, RunsSteps) {
  ASSERT_EQ(pprt_set(session, 0, x, 12), PPRT_OK);
  ASSERT_EQ(pprt_set(session, 1, w, 12), PPRT_OK);
  ASSERT_EQ(pprt_begin(session), PPRT_OK) << pprt_error();
  ASSERT_EQ(pprt_step(session), PPRT_OK) << pprt_error();
  ASSERT_EQ(pprt_get_output(session, 0, found, 12), PPRT_OK);
  EXPECT_TRUE(std::equal(x, x + 3, found));
  ASSERT_EQ(pprt_get(session, 1, found, 12), PPRT_OK);
  EXPECT_TRUE(std::equal(w, w + 3, found));
  EXPECT_EQ(pprt_end(session), PPRT_OK);
}

TEST_F(Capi, RefusesCallsOutOfOrder) {
  expectUsage(pprt_step(session), "is begun, got one that is opened");
  expectUsage(pprt_end(session), "is begun, got one that is opened");
  ASSERT_EQ(pprt_set(session, 0, x, 12), PPRT_OK);
  expectUsage(pprt_begin(session), "without a value of 'w'");
  ASSERT_EQ(pprt_initialize(session, 7), PPRT_OK);
  ASSERT_EQ(pprt_begin(session), PPRT_OK) << pprt_error();
  expectUsage(pprt_begin(session), "is opened, got one that is begun");
  ASSERT_EQ(pprt_end(session), PPRT_OK);
  expectUsage(pprt_step(session), "is begun, got one that is ended");
}

TEST_F(Capi, GoesOnWhenItHasABatch) {
  ASSERT_EQ(pprt_initialize(session, 7), PPRT_OK);
  ASSERT_EQ(pprt_begin(session), PPRT_OK) << pprt_error();
  expectUsage(pprt_step(session), "input 'x' expects a batch");
  expectUsage(pprt_step(session), "input 'x' expects a batch");
  ASSERT_EQ(pprt_set(session, 0, x, 12), PPRT_OK);
  EXPECT_EQ(pprt_step(session), PPRT_OK) << pprt_error();
  EXPECT_EQ(pprt_get_output(session, 0, found, 12), PPRT_OK);
}

TEST_F(Capi, RefusesOtherSizes) {
  EXPECT_EQ(pprt_set(session, 0, x, 8), PPRT_BAD_PARAMETERS);
  EXPECT_EQ(pprt_set(session, 1, w, 16), PPRT_BAD_PARAMETERS);
  EXPECT_EQ(pprt_get(session, 1, found, 8), PPRT_BAD_PARAMETERS);
  EXPECT_EQ(pprt_get_output(session, 0, found, 8), PPRT_BAD_PARAMETERS);
  EXPECT_STREQ(pprt_error(), "output 'y' expects 12 bytes, got 8");
  expectUsage(pprt_set(session, 2, x, 12), "below 2, got 2");
}

TEST_F(Capi, RefusesNullPointers) {
  pprt_session *none = nullptr;
  uint32_t index = 0;
  expectUsage(pprt_open(nullptr, nullptr, &none), "got a null pointer");
  expectUsage(pprt_open_bytes(nullptr, 8, nullptr, &none), "null pointer");
  expectUsage(pprt_find_argument(session, nullptr, &index), "null pointer");
  expectUsage(pprt_set(session, 0, nullptr, 12), "null pointer");
  expectUsage(pprt_get(session, 1, nullptr, 12), "null pointer");
  expectUsage(pprt_load(session, nullptr), "null pointer");
  expectUsage(pprt_step(nullptr), "null pointer");
  EXPECT_EQ(pprt_process(nullptr), 0u);
  EXPECT_EQ(pprt_process_count(nullptr), 1u);
  EXPECT_EQ(pprt_is_stuck(nullptr), 0);
  EXPECT_EQ(pprt_rank_count(nullptr) + pprt_argument_count(nullptr) +
                pprt_output_count(nullptr),
            0u);
}

// Zeros would pass for results.
TEST_F(Capi, HasNoValuesOfADeviceThatKeepsNone) {
  pprt_close(session);
  const std::vector<uint8_t> bytes = makeEcho();
  pprt_options options = {};
  options.size = sizeof(options);
  options.device = "null";
  ASSERT_EQ(pprt_open_bytes(bytes.data(), bytes.size(), &options, &session),
            PPRT_OK)
      << pprt_error();
  ASSERT_EQ(pprt_initialize(session, 7), PPRT_OK);
  ASSERT_EQ(pprt_set(session, 0, x, 12), PPRT_OK);
  ASSERT_EQ(pprt_begin(session), PPRT_OK) << pprt_error();
  ASSERT_EQ(pprt_step(session), PPRT_OK) << pprt_error();
  expectUsage(pprt_get_output(session, 0, found, 12), "keeps values");
  expectUsage(pprt_get(session, 1, found, 12), "keeps values");
  const std::string path = testing::TempDir() + "none.safetensors";
  expectUsage(pprt_save(session, path.c_str()), "keeps values");
  EXPECT_NE(access(path.c_str(), F_OK), 0);
}

TEST_F(Capi, HasOutputsOnceAStepWasMade) {
  ASSERT_EQ(pprt_initialize(session, 7), PPRT_OK);
  ASSERT_EQ(pprt_set(session, 0, x, 12), PPRT_OK);
  ASSERT_EQ(pprt_begin(session), PPRT_OK) << pprt_error();
  expectUsage(pprt_get_output(session, 0, found, 12), "before the first step");
  ASSERT_EQ(pprt_step(session), PPRT_OK) << pprt_error();
  EXPECT_EQ(pprt_get_output(session, 0, found, 12), PPRT_OK);
}

TEST_F(Capi, ReadsWhatIsLentInEachStep) {
  float lent[3] = {1, 2, 3};
  ASSERT_EQ(pprt_set(session, 1, w, sizeof(w)), PPRT_OK) << pprt_error();
  ASSERT_EQ(pprt_lend(session, 0, lent, sizeof(lent)), PPRT_OK) << pprt_error();
  ASSERT_EQ(pprt_begin(session), PPRT_OK) << pprt_error();
  for (float first : {1.f, 7.f}) {
    lent[0] = first;
    ASSERT_EQ(pprt_step(session), PPRT_OK) << pprt_error();
    ASSERT_EQ(pprt_get_output(session, 0, found, sizeof(found)), PPRT_OK);
    EXPECT_EQ(found[0], first);
  }
  // A copy takes its place.
  ASSERT_EQ(pprt_set(session, 0, x, sizeof(x)), PPRT_OK);
  lent[0] = 9;
  ASSERT_EQ(pprt_step(session), PPRT_OK) << pprt_error();
  ASSERT_EQ(pprt_get_output(session, 0, found, sizeof(found)), PPRT_OK);
  EXPECT_EQ(found[0], x[0]);
  EXPECT_EQ(pprt_steps(session), 3u);
  expectUsage(pprt_lend(session, 1, w, sizeof(w)), "pprt_set sets parameters");
  EXPECT_EQ(pprt_lend(session, 0, lent, 8), PPRT_BAD_PARAMETERS);
}

TEST_F(Capi, SaysHowFilesHaveAnArgument) {
  uint32_t dimensions = 0;
  const uint64_t *shape = nullptr;
  const uint32_t *order = nullptr;
  ASSERT_EQ(pprt_stored(session, 1, &dimensions, &shape, &order), PPRT_OK);
  ASSERT_EQ(dimensions, 1u);
  EXPECT_EQ(shape[0], 3u);
  EXPECT_EQ(order, nullptr);
  expectUsage(pprt_stored(session, 2, &dimensions, &shape, &order),
              "expects an argument below 2");
}

TEST_F(Capi, GoesOnFromACheckpoint) {
  std::string folder =
      testing::TempDir() + "/capi-checkpoint-" + std::to_string(getpid());
  expectUsage(pprt_resume(session, nullptr), "null pointer");
  EXPECT_EQ(pprt_resume(session, folder.c_str()), PPRT_BAD_PARAMETERS);
  ASSERT_EQ(pprt_set(session, 1, w, sizeof(w)), PPRT_OK);
  ASSERT_EQ(pprt_set(session, 0, x, sizeof(x)), PPRT_OK);
  ASSERT_EQ(pprt_begin(session), PPRT_OK) << pprt_error();
  ASSERT_EQ(pprt_step(session), PPRT_OK) << pprt_error();
  ASSERT_EQ(pprt_save_checkpoint(session, folder.c_str()), PPRT_OK)
      << pprt_error();
  expectUsage(pprt_resume(session, folder.c_str()), "after pprt_begin");
  pprt_close(session);
  SetUp();
  ASSERT_EQ(pprt_resume(session, folder.c_str()), PPRT_OK) << pprt_error();
  EXPECT_EQ(pprt_steps(session), 1u);
  ASSERT_EQ(pprt_get(session, 1, found, sizeof(found)), PPRT_OK);
  EXPECT_EQ(found[2], w[2]);
  std::filesystem::remove_all(folder);
}

TEST(CapiSet, RefusesIntegersBeyondTheirBound) {
  ArtifactBuilder builder;
  builder.axis("dp", 1);
  const uint32_t input = builder.argument("tokens", ppx::Role_input, 3);
  ProgramBuilder program = builder.program({0});
  const uint32_t queue = program.queue("compute");
  const uint32_t slot = program.slot("tokens", 3);
  program.begin(Section::body);
  program.set({ppx::Phase_forward, 0});
  program.load(queue, input, slot);
  program.step(queue);
  ppx::ArtifactT artifact = builder.take();
  artifact.arguments[input]->element = ppx::ElementType_i32;
  artifact.arguments[input]->bound = 10;
  artifact.programs[0]->slots[slot]->element = ppx::ElementType_i32;
  const std::vector<uint8_t> bytes = packArtifact(artifact);
  pprt_session *session = nullptr;
  ASSERT_EQ(pprt_open_bytes(bytes.data(), bytes.size(), nullptr, &session),
            PPRT_OK)
      << pprt_error();
  pprt_tensor tensor;
  ASSERT_EQ(pprt_argument(session, 0, &tensor), PPRT_OK);
  EXPECT_EQ(tensor.bound, 10u);
  const int32_t beyond[] = {0, 10, 1}, good[] = {0, 9, 1};
  EXPECT_EQ(pprt_set(session, 0, beyond, sizeof(beyond)), PPRT_BAD_PARAMETERS);
  EXPECT_STREQ(
      pprt_error(),
      "input 'tokens' expects integers from 0 to 9, got 10 as element 1");
  EXPECT_EQ(pprt_set(session, 0, good, sizeof(good)), PPRT_OK);
  pprt_close(session);
}

/// A session with two parameters, v and w, of three elements each.
static pprt_session *openTwo() {
  ArtifactBuilder builder;
  builder.axis("dp", 1);
  ProgramBuilder program = builder.program({0});
  for (const char *name : {"v", "w"})
    builder.hold(builder.argument(name, ppx::Role_param, 3),
                 program.slot(name, 3));
  const uint32_t queue = program.queue("compute");
  program.begin(Section::body);
  program.set({ppx::Phase_forward, 0});
  program.step(queue);
  ppx::ArtifactT artifact = builder.take();
  for (const auto &argument : artifact.arguments)
    argument->is_models = true; // files contain these
  const std::vector<uint8_t> bytes = packArtifact(artifact);
  pprt_session *session = nullptr;
  EXPECT_EQ(pprt_open_bytes(bytes.data(), bytes.size(), nullptr, &session),
            PPRT_OK)
      << pprt_error();
  return session;
}

/// A file of tensors in which all elements are 5.
static std::string writeFives(const std::vector<std::string> &names) {
  std::vector<host::TensorToStore> tensors;
  for (const std::string &name : names)
    tensors.push_back({name, ppx::ElementType_f32, {3}});
  const std::string path = testing::TempDir() + "fives.safetensors";
  const Status status =
      host::writeSafeTensors(path, tensors, [](size_t, void *out) {
        std::fill_n(static_cast<float *>(out), 3, 5.f);
        return Status();
      });
  EXPECT_TRUE(status.ok()) << status.message();
  return path;
}

TEST(CapiLoad, LeavesEverythingWhereAFileDoesNotFit) {
  pprt_session *session = openTwo();
  ASSERT_EQ(pprt_initialize(session, 7), PPRT_OK);
  float before[3], after[3];
  ASSERT_EQ(pprt_get(session, 0, before, 12), PPRT_OK);
  EXPECT_EQ(pprt_load(session, writeFives({"v"}).c_str()), PPRT_BAD_PARAMETERS);
  EXPECT_NE(std::string(pprt_error()).find("for 'w', got none"),
            std::string::npos)
      << pprt_error();
  ASSERT_EQ(pprt_get(session, 0, after, 12), PPRT_OK);
  EXPECT_TRUE(std::equal(before, before + 3, after));
  pprt_close(session);
}

TEST(CapiLoad, InitializingLeavesWhatWasLoaded) {
  pprt_session *session = openTwo();
  ASSERT_EQ(pprt_load(session, writeFives({"v", "w"}).c_str()), PPRT_OK)
      << pprt_error();
  ASSERT_EQ(pprt_initialize(session, 7), PPRT_OK);
  float values[3] = {};
  ASSERT_EQ(pprt_get(session, 1, values, 12), PPRT_OK);
  EXPECT_EQ(values[2], 5.f);
  pprt_close(session);
}

TEST(CapiOpen, RefusesWhatIsNoArtifact) {
  pprt_session *session = nullptr;
  std::vector<uint8_t> bytes = makeEcho();
  EXPECT_EQ(pprt_open_bytes(bytes.data(), bytes.size() - 1, nullptr, &session),
            PPRT_BAD_ARTIFACT);
  EXPECT_EQ(session, nullptr);
  EXPECT_EQ(pprt_open_bytes(nullptr, 0, nullptr, &session), PPRT_BAD_ARTIFACT);
  EXPECT_EQ(pprt_open("/nowhere/model.ppx", nullptr, &session), PPRT_IO);
  EXPECT_NE(std::string(pprt_error()).find("/nowhere/model.ppx"),
            std::string::npos);
  pprt_close(nullptr);
}

TEST(CapiOpen, ReadsTheOptionsThatTheCallerKnows) {
  pprt_session *session = nullptr;
  const std::vector<uint8_t> bytes = makeEcho();
  const auto open = [&](size_t size, uint32_t threads, double timeout,
                        const char *device = nullptr) {
    pprt_options options = {};
    options.size = size;
    options.threads_per_rank = threads;
    options.hang_timeout_seconds = timeout;
    options.device = device;
    const int code =
        pprt_open_bytes(bytes.data(), bytes.size(), &options, &session);
    pprt_close(session);
    return code;
  };
  const auto says = [](const char *text) {
    return std::string(pprt_error()).find(text) != std::string::npos;
  };
  EXPECT_EQ(open(sizeof(pprt_options), 2, 5), PPRT_OK) << pprt_error();
  // An older structure ended before the timeout.
  EXPECT_EQ(open(offsetof(pprt_options, hang_timeout_seconds), 2, INFINITY),
            PPRT_OK)
      << pprt_error();
  for (size_t size : {size_t(0), size_t(3), sizeof(size_t) + 1,
                      sizeof(pprt_options) - 1, sizeof(pprt_options) + 1}) {
    EXPECT_EQ(open(size, 0, 0), PPRT_USAGE);
    EXPECT_EQ(pprt_error(), "pprt_options expects in `size` its bytes, "
                            "sizeof(pprt_options), got " +
                                std::to_string(size));
  }
  EXPECT_EQ(open(sizeof(pprt_options) + 8, 0, 0), PPRT_USAGE);
  EXPECT_TRUE(says("the header of a later version")) << pprt_error();
  EXPECT_EQ(open(sizeof(pprt_options), 0, -1), PPRT_OK) << pprt_error();
  EXPECT_EQ(open(sizeof(pprt_options), 0, -INFINITY), PPRT_OK) << pprt_error();
  EXPECT_EQ(open(sizeof(pprt_options), 0, INFINITY), PPRT_USAGE);
  EXPECT_EQ(open(sizeof(pprt_options), 0, NAN), PPRT_USAGE);
  EXPECT_TRUE(says("hang_timeout_seconds expects at most 1e9")) << pprt_error();
  EXPECT_EQ(open(sizeof(pprt_options), 99999, 0), PPRT_DEVICE);
  EXPECT_EQ(open(sizeof(pprt_options), 0, 5, "null"), PPRT_OK) << pprt_error();
  EXPECT_EQ(open(sizeof(pprt_options), 0, 5, "abacus"), PPRT_USAGE);
  EXPECT_TRUE(says("'abacus'")) << pprt_error();
  // One that ended before the device.
  EXPECT_EQ(open(offsetof(pprt_options, device), 0, 5, "abacus"), PPRT_OK);
}

TEST(CapiAgree, TellsOfAFailureBeforeAnInterruption) {
  EXPECT_EQ(pprt_agree(nullptr, PPRT_OK, 0), PPRT_OK);
  EXPECT_EQ(pprt_agree(nullptr, PPRT_OK, 1), PPRT_INTERRUPTED);
  EXPECT_STREQ(pprt_error(), "interrupted");
  EXPECT_EQ(pprt_fail(PPRT_IO, "x.raw: expects 12 bytes, got 8"), PPRT_IO);
  EXPECT_EQ(pprt_agree(nullptr, PPRT_IO, 1), PPRT_IO);
  EXPECT_STREQ(pprt_error(), "x.raw: expects 12 bytes, got 8");
  EXPECT_EQ(pprt_fail(PPRT_IO, pprt_error()), PPRT_IO);
  EXPECT_STREQ(pprt_error(), "x.raw: expects 12 bytes, got 8");
  pprt_watch(nullptr, nullptr, nullptr);
}

// More than any machine can address: the standard library throws.
TEST(CapiMemory, IsRefusedAndNotThrown) {
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
  GTEST_SKIP() << "sanitizers bring their own malloc";
#endif
  ArtifactBuilder builder;
  builder.axis("dp", 1);
  const uint64_t count = uint64_t(1) << 50;
  const uint32_t output = builder.output("y", count);
  ProgramBuilder program = builder.program({0});
  const uint32_t queue = program.queue("compute");
  const uint32_t y = program.slot("y", count);
  program.begin(Section::body);
  program.set({ppx::Phase_forward, 0});
  program.run(queue, {}, {y});
  program.emit(queue, output, y);
  program.step(queue);
  const std::vector<uint8_t> bytes = packArtifact(builder.take());
  pprt_session *session = nullptr;
  EXPECT_EQ(pprt_open_bytes(bytes.data(), bytes.size(), nullptr, &session),
            PPRT_OUT_OF_MEMORY);
  EXPECT_STREQ(pprt_error(), "artifact: out of memory");
  EXPECT_EQ(session, nullptr);
  // The next failure has its own text.
  EXPECT_EQ(pprt_step(nullptr), PPRT_USAGE);
  EXPECT_STREQ(pprt_error(), "expects a session, got a null pointer");
  EXPECT_EQ(pprt_open_bytes(bytes.data(), PTRDIFF_MAX, nullptr, &session),
            PPRT_OUT_OF_MEMORY);
  EXPECT_EQ(session, nullptr);
}

} // namespace
