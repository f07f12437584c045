//===- ArtifactTest.cpp - files that are whole, broken or missing ---------===//
//
// SPDX-License-Identifier: Apache-2.0
//
// Reading and writing `.ppx`: any bytes give an artifact or a refusal.
//
//===----------------------------------------------------------------------===//
#include "pprt/Artifact.h"
#include "Pipelines.h"
#include "pprt/Checks.h"

#include <gtest/gtest.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>

using namespace pprt;
using namespace pprt::test;

namespace {

/// A folder of its own for each test.
struct Artifact : testing::Test {
  std::filesystem::path folder;

  void SetUp() override {
    std::string pattern = testing::TempDir() + "/ppxXXXXXX";
    ASSERT_NE(::mkdtemp(pattern.data()), nullptr);
    folder = pattern;
  }
  void TearDown() override { std::filesystem::remove_all(folder); }
  size_t fileCount() const {
    return size_t(std::distance(std::filesystem::directory_iterator(folder),
                                std::filesystem::directory_iterator()));
  }
};

ppx::ArtifactT sample() {
  PipelineShape shape;
  shape.replicas = 2;
  shape.clip = true;
  ppx::ArtifactT artifact = makePipeline(shape);
  artifact.plan = "dp=2 pp=2";
  artifact.object = {1, 2, 3};
  artifact.target = "cpu";
  return artifact;
}

Expected<ppx::ArtifactT> parse(const std::vector<uint8_t> &bytes,
                               const ImageChoice &choice = {}) {
  return parseArtifact(bytes.data(), bytes.size(), "x.ppx", choice);
}

/// Sets the length of image `index` in the head. Leaves the checksum.
void setImageBytes(std::vector<uint8_t> &file, uint32_t index, uint64_t bytes) {
  const auto *entry =
      flatbuffers::GetRoot<ppx::Head>(&file[8])->images()->Get(index);
  const uint8_t *field =
      reinterpret_cast<const flatbuffers::Table *>(entry)->GetAddressOf(
          ppx::ImageEntry::VT_BYTES);
  std::copy_n(reinterpret_cast<const uint8_t *>(&bytes), 8,
              &file[size_t(field - file.data())]);
}

/// Returns a file with the FlatBuffer in `builder` as its image.
std::vector<uint8_t> fileOf(flatbuffers::FlatBufferBuilder &builder) {
  std::vector<uint8_t> bytes = packArtifact(sample());
  const size_t headBytes = bytes[0] + 256u * bytes[1];
  const size_t imageBytes = (builder.GetSize() + 4 + 7) / 8 * 8;
  bytes.resize(headBytes);
  bytes.resize(headBytes + imageBytes);
  std::copy_n(builder.GetBufferPointer(), builder.GetSize(), &bytes[headBytes]);
  setImageBytes(bytes, 0, imageBytes);
  sealArtifact(bytes);
  return bytes;
}

/// Images of one program, distinguished by their kernels' names.
std::vector<ppx::ArtifactT>
samplesFor(const std::vector<std::pair<std::string, std::string>> &targets) {
  std::vector<ppx::ArtifactT> images;
  for (const auto &[target, processor] : targets) {
    images.push_back(sample());
    images.back().target = target;
    images.back().processor = processor;
    images.back().kernels[0]->name = target;
  }
  return images;
}

std::vector<uint8_t> packAll(const std::vector<ppx::ArtifactT> &images) {
  std::vector<const ppx::ArtifactT *> all;
  for (const ppx::ArtifactT &image : images)
    all.push_back(&image);
  return *packArtifacts(all);
}

} // namespace

TEST_F(Artifact, IsReadAsItWasWritten) {
  const std::string path = folder / "a.ppx";
  const ppx::ArtifactT written = sample();
  ASSERT_TRUE(saveArtifact(written, path).ok());
  EXPECT_EQ(fileCount(), 1u);
  Expected<ppx::ArtifactT> read = loadArtifact(path);
  ASSERT_TRUE(read.ok()) << read.status().message();
  EXPECT_EQ(packArtifact(*read), packArtifact(written));
  EXPECT_TRUE(checkArtifact(*read).ok());
}

TEST_F(Artifact, ReplacesAFileAtOnce) {
  const std::string path = folder / "a.ppx";
  ASSERT_TRUE(saveArtifact(sample(), path).ok());
  ppx::ArtifactT second = sample();
  second.plan = "another";
  ASSERT_TRUE(saveArtifact(second, path).ok());
  EXPECT_EQ(fileCount(), 1u);
  EXPECT_EQ(loadArtifact(path)->plan, "another");
}

TEST_F(Artifact, LeavesNothingWhereItCannotWrite) {
  // A folder has that name.
  const std::string path = folder / "a.ppx";
  std::filesystem::create_directory(path);
  const Status taken = saveArtifact(sample(), path);
  EXPECT_EQ(taken.code(), ExitCode::io);
  EXPECT_EQ(taken.message(), path + ": expects a file, got a directory");
  EXPECT_EQ(fileCount(), 1u);
  const std::string lost = folder / "no" / "a.ppx";
  EXPECT_EQ(saveArtifact(sample(), lost).message(),
            lost + ": cannot create: No such file or directory");
}

TEST_F(Artifact, MissingOrNoFile) {
  const std::string path = folder / "a.ppx";
  const Status missing = loadArtifact(path).status();
  EXPECT_EQ(missing.code(), ExitCode::io);
  EXPECT_EQ(missing.message(),
            path + ": cannot open: No such file or directory");
  EXPECT_EQ(loadArtifact(folder).status().message(),
            folder.string() +
                ": expects a regular file or a pipe, got a directory");
}

TEST_F(Artifact, OtherFormatsAndTruncatedFiles) {
  const std::string path = folder / "a.ppx";
  std::ofstream(path) << "PPX";
  EXPECT_EQ(loadArtifact(path).status().message(),
            path + ": expects an artifact, got a file of 3 bytes");
  std::ofstream(path) << "a text of some length";
  EXPECT_EQ(loadArtifact(path).status().message(),
            path + ": expects an artifact of format PPXC, got another kind of "
                   "file");
  // Earlier versions began with the place of FlatBuffers' root.
  std::ofstream(path) << std::string("\x1c\0\0\0PPX2", 8)
                      << std::string(100, 'x');
  EXPECT_EQ(loadArtifact(path).status().message(),
            path + ": expects an artifact of format PPXC, got one of format "
                   "PPX2, by another version of pp; make it again from its "
                   "module, with pp-opt --emit=ppx");
  std::vector<uint8_t> bytes = packArtifact(sample());
  bytes.resize(bytes.size() / 2);
  EXPECT_EQ(parse(bytes).status().message(),
            "x.ppx: expects the bytes that were written, got " +
                std::to_string(bytes.size()) + " that are truncated");
  bytes = packArtifact(sample());
  bytes[bytes.size() / 2] ^= 1;
  EXPECT_EQ(parse(bytes).status().message(),
            "x.ppx: expects the bytes that were written, got an image for cpu "
            "that is damaged: its checksum differs");
}

// Vectors of misaligned 8-byte elements could not be read.
TEST_F(Artifact, MisalignedElementsAreRefused) {
  const std::vector<uint8_t> whole = packArtifact(sample());
  std::vector<uint64_t> room(whole.size() / 8 + 2);
  auto *bytes = reinterpret_cast<uint8_t *>(room.data());
  std::copy(whole.begin(), whole.end(), bytes);
  EXPECT_TRUE(parseArtifact(bytes, whole.size(), "x.ppx").ok());
  std::copy(whole.begin(), whole.end(), bytes + 4);
  EXPECT_EQ(parseArtifact(bytes + 4, whole.size(), "x.ppx").status().code(),
            ExitCode::badArtifact);
}

// Each instruction takes 4 bytes here, and 200 in memory.
TEST_F(Artifact, TablesThatGrowInMemoryAreRefused) {
  const auto parseWith = [](size_t instructions) {
    flatbuffers::FlatBufferBuilder builder;
    const auto empty = ppx::InstructionBuilder(builder).Finish();
    const auto body =
        builder.CreateVector(std::vector<flatbuffers::Offset<ppx::Instruction>>(
            instructions, empty));
    const auto routines =
        builder.CreateVector({ppx::CreateRoutine(builder, body)});
    ppx::ProgramBuilder program(builder);
    program.add_routines(routines);
    const auto programs = builder.CreateVector({program.Finish()});
    // Padding, so that the file is not too small for so many tables.
    const auto object =
        builder.CreateVector(std::vector<uint8_t>(4 * instructions));
    ppx::ImageBuilder image(builder);
    image.add_programs(programs);
    image.add_object(object);
    builder.Finish(image.Finish());
    return parse(fileOf(builder)).status();
  };
  const Status grown = parseWith(600000);
  EXPECT_EQ(grown.code(), ExitCode::badArtifact);
  EXPECT_NE(grown.message().find("expects tables that take "),
            std::string::npos)
      << grown.message();
  // Fewer tables are read, and refused for their contents.
  const Status few = parseWith(1000);
  EXPECT_EQ(few.code(), ExitCode::badArtifact);
  EXPECT_EQ(few.message().find("expects tables that take "), std::string::npos)
      << few.message();
}

// A million tables in 8 KB, which take long even to visit.
TEST_F(Artifact, TheSameTablesOverAndOverAreNotLookedAt) {
  flatbuffers::FlatBufferBuilder builder;
  const auto many = [&](auto table) {
    return builder.CreateVector(std::vector<decltype(table)>(1000, table));
  };
  const auto routines =
      many(ppx::CreateRoutine(builder, many(ppx::CreateInstruction(builder))));
  ppx::ProgramBuilder program(builder);
  program.add_routines(routines);
  const auto programs = many(program.Finish());
  ppx::ImageBuilder image(builder);
  image.add_programs(programs);
  builder.Finish(image.Finish());
  const Status status = parse(fileOf(builder)).status();
  EXPECT_EQ(status.code(), ExitCode::badArtifact);
  EXPECT_NE(status.message().find("offsets out of bounds or repeated tables"),
            std::string::npos)
      << status.message();
}

TEST_F(Artifact, AnUnsoundStructureIsRefusedOnLoading) {
  ppx::ArtifactT broken = sample();
  broken.programs[0]->slots[0]->offset = 32;
  const Status status = parse(packArtifact(broken)).status();
  EXPECT_EQ(status.code(), ExitCode::badArtifact);
  EXPECT_EQ(status.message(),
            "x.ppx: program 'program0', slot 0 'master' expects an offset "
            "aligned to 64, got 32");
}

// Flipped bits that keep the file well formed would give another program.
TEST_F(Artifact, EveryFlippedBitIsRefused) {
  std::vector<uint8_t> bytes = packArtifact(sample());
  ASSERT_TRUE(parse(bytes).ok());
  for (size_t bit = 0; bit < 8 * bytes.size(); ++bit) {
    bytes[bit / 8] ^= uint8_t(1u << bit % 8);
    ASSERT_EQ(parse(bytes).status().code(), ExitCode::badArtifact)
        << "bit " << bit;
    bytes[bit / 8] ^= uint8_t(1u << bit % 8);
  }
  for (size_t size = 0; size < bytes.size(); ++size)
    ASSERT_FALSE(parse({bytes.begin(), bytes.begin() + ptrdiff_t(size)}).ok());
  bytes.push_back(0);
  EXPECT_FALSE(parse(bytes).ok());
}

// The location of 50,000 instructions, a megabyte, once in the file: unpacked
// it would take 50 GB.
TEST_F(Artifact, IsNoLargerInMemoryThanItsFileAllows) {
  flatbuffers::FlatBufferBuilder builder;
  const auto location = builder.CreateString(std::string(1 << 20, 'x'));
  std::vector<flatbuffers::Offset<ppx::Instruction>> body;
  for (int i = 0; i < 50000; ++i) {
    ppx::InstructionBuilder instruction(builder);
    instruction.add_location(location);
    body.push_back(instruction.Finish());
  }
  const auto routine = ppx::CreateRoutine(builder, builder.CreateVector(body));
  const auto routines = builder.CreateVector({routine});
  ppx::ProgramBuilder program(builder);
  program.add_routines(routines);
  const auto programs = builder.CreateVector(std::vector{program.Finish()});
  ppx::ImageBuilder image(builder);
  image.add_programs(programs);
  builder.Finish(image.Finish());
  EXPECT_EQ(parse(fileOf(builder)).status().message(),
            "x.ppx: expects strings and vectors that are referred to once, got "
            "more of them than the " +
                std::to_string((builder.GetSize() + 4 + 7) / 8 * 8 - 4) +
                " bytes they are in");
}

TEST_F(Artifact, NamesAreText) {
  ppx::ArtifactT named = sample();
  named.arguments[0]->name = "na\xc3\xafve";
  EXPECT_TRUE(parse(packArtifact(named)).ok());
  named.arguments[0]->name = "na\xefve";
  EXPECT_EQ(parse(packArtifact(named)).status().message(),
            "x.ppx: expects text in UTF-8, got other bytes");
}

// Damage of every kind under a checksum that fits: reading ends with a value or
// an error, and an artifact that is read can be checked. The sanitize preset
// makes this test strict.
TEST_F(Artifact, DamageNeverCrashes) {
  const std::vector<uint8_t> whole = packArtifact(sample());
  std::mt19937_64 random(7);
  int accepted = 0;
  auto tryBytes = [&](std::vector<uint8_t> bytes) {
    sealArtifact(bytes);
    Expected<ppx::ArtifactT> artifact = parse(bytes);
    if (artifact)
      (void)checkArtifact(*artifact);
    else // or an image for another machine
      EXPECT_TRUE(artifact.status().code() == ExitCode::badArtifact ||
                  artifact.status().code() == ExitCode::device);
    accepted += artifact.ok();
  };
  for (size_t size = 0; size < whole.size(); size += 1 + random() % 16)
    tryBytes({whole.begin(), whole.begin() + ptrdiff_t(size)});
  EXPECT_EQ(accepted, 0);
  for (int i = 0; i < 4000; ++i) {
    std::vector<uint8_t> bytes = whole;
    for (uint64_t flips = 1 + random() % 3; flips > 0; --flips)
      bytes[random() % bytes.size()] ^= uint8_t(1u << random() % 8);
    tryBytes(bytes);
  }
  // Whole words, which damage offsets and lengths more than bits do.
  for (int i = 0; i < 4000; ++i) {
    std::vector<uint8_t> bytes = whole;
    const uint32_t values[] = {0,          1,          0x7fffffff,
                               0x80000000, 0xffffffff, uint32_t(random())};
    const uint32_t value = values[random() % 6];
    const size_t at = 4 * (random() % (bytes.size() / 4));
    std::copy_n(reinterpret_cast<const uint8_t *>(&value), 4, &bytes[at]);
    tryBytes(bytes);
  }
  EXPECT_GT(accepted, 0); // names and plans may hold anything
}

//===----------------------------------------------------------------------===//
// Several images
//===----------------------------------------------------------------------===//

TEST_F(Artifact, TakesTheBestImageThatRuns) {
  const std::vector<uint8_t> file =
      packAll(samplesFor({{"x86-64-v2", "x86-64-v2"},
                          {"x86-64-v4", "x86-64-v4"},
                          {"sm_90", "sm_90"},
                          {"x86-64-v3", "x86-64-v3"}}));
  const auto takenOn = [&](const std::string &level,
                           const std::string &target = "") {
    Expected<ppx::ArtifactT> taken = parse(file, {target, level});
    if (!taken)
      return taken.status().message();
    EXPECT_EQ(taken->kernels[0]->name, taken->target);
    EXPECT_EQ(taken->processor, taken->target);
    EXPECT_TRUE(taken->images.empty());
    EXPECT_TRUE(checkArtifact(*taken).ok());
    return taken->target;
  };
  EXPECT_EQ(takenOn("x86-64-v4"), "x86-64-v4");
  EXPECT_EQ(takenOn("x86-64-v3"), "x86-64-v3");
  EXPECT_EQ(takenOn("x86-64-v2", "cpu"), "x86-64-v2");
  // An image chosen by name need not run here: tools can inspect it.
  EXPECT_EQ(takenOn("x86-64-v2", "sm_90"), "sm_90");
  EXPECT_EQ(takenOn("x86-64"),
            "x.ppx: expects an image that processors of level x86-64 run, got "
            "those for x86-64-v2, x86-64-v4, sm_90, x86-64-v3; make it again "
            "from its module by pp-opt --emit=ppx --targets=x86-64, or give "
            "--device=cuda");
  EXPECT_EQ(takenOn("x86-64-v4", "sm_80"),
            "x.ppx: expects the name of a target that it has an image for "
            "(x86-64-v2, x86-64-v4, sm_90, x86-64-v3), got 'sm_80'");
  EXPECT_EQ(parse(file, {"", "x86-64"}).status().code(), ExitCode::device);
  EXPECT_EQ(parse(file, {"sm_80", ""}).status().code(), ExitCode::usage);
}

// Processes on several hosts take one image: that of the lowest level.
TEST_F(Artifact, WhatAllProcessorsRun) {
  EXPECT_EQ(lowestLevel({"x86-64-v4", "x86-64-v2", "x86-64-v3"}), "x86-64-v2");
  EXPECT_EQ(lowestLevel({"x86-64-v3", "x86-64-v3"}), "x86-64-v3");
  EXPECT_EQ(lowestLevel({"x86-64-v3", ""}), ""); // another architecture
  EXPECT_TRUE(runsOn("", "x86-64-v2"));
  EXPECT_TRUE(runsOn("", ""));
  EXPECT_FALSE(runsOn("x86-64", ""));
  EXPECT_FALSE(runsOn("sm_90", "x86-64-v4"));
}

// Other images are not read: damage there does no harm.
TEST_F(Artifact, OtherImagesDoNotMatter) {
  std::vector<uint8_t> file = packAll(samplesFor({{"a", ""}, {"b", ""}}));
  file[file.size() - 100] ^= 1; // in the second
  EXPECT_TRUE(parse(file, {"a"}).ok());
  EXPECT_EQ(parse(file, {"b"}).status().message(),
            "x.ppx: expects the bytes that were written, got an image for b "
            "that is damaged: its checksum differs");
  // They may be larger than any memory.
  const uint64_t
      vast = uint64_t(1) << 40,
      before =
          file.size() -
          flatbuffers::GetRoot<ppx::Head>(&file[8])->images()->Get(1)->bytes();
  setImageBytes(file, 1, vast);
  sealArtifact(file);
  const std::string path = folder / "a.ppx";
  std::ofstream(path).write(reinterpret_cast<const char *>(file.data()),
                            std::streamsize(before));
  std::filesystem::resize_file(path, before + vast); // takes no disk space
  EXPECT_TRUE(loadArtifact(path, {"a"}).ok());
  EXPECT_EQ(loadArtifact(path, {"b"}).status().message(),
            path + ": expects parts of at most 2147483647 bytes, got an image "
                   "for b of 1099511627776");
}

TEST_F(Artifact, ImagesAreOfTheirHead) {
  std::vector<ppx::ArtifactT> images = samplesFor({{"a", ""}, {"b", ""}});
  const std::vector<uint8_t> first = packArtifact(images[0]);
  images[1].target = images[0].target; // another program of the same length
  const std::vector<uint8_t> second = packArtifact(images[1]);
  ASSERT_EQ(first.size(), second.size());
  const size_t headBytes = first[0] + 256u * first[1];
  std::vector<uint8_t> spliced = first;
  std::copy(second.begin() + ptrdiff_t(headBytes), second.end(),
            spliced.begin() + ptrdiff_t(headBytes));
  EXPECT_EQ(parse(spliced).status().message(),
            "x.ppx: expects the bytes that were written, got an image for a "
            "that was not written with its head");
}

TEST_F(Artifact, ImagesAreOfOneProgram) {
  std::vector<ppx::ArtifactT> images = samplesFor({{"a", ""}, {"b", ""}});
  images[1].arguments[0]->name = "other";
  EXPECT_EQ(packArtifacts({&images[0], &images[1]}).status().message(),
            "expects one program for all targets, got another mesh, plan, "
            "argument or output for b than for a");
  const std::vector<uint8_t> twice =
      packAll(samplesFor({{"a", ""}, {"a", ""}}));
  EXPECT_EQ(parse(twice).status().message(),
            "x.ppx: expects images for different targets, got two for 'a'");
}
