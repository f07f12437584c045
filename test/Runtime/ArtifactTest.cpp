//===- ArtifactTest.cpp - files that are whole, broken or missing ---------===//
//
// SPDX-License-Identifier: Apache-2.0
//
// Reading and writing `.ppx`: whatever the bytes are, an artifact or a refusal.
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
  return artifact;
}

/// Appends the checksum.
void seal(std::vector<uint8_t> &bytes) {
  const uint32_t checksum = artifactChecksum(bytes.data(), bytes.size());
  for (size_t i = 0; i < kChecksumBytes; ++i)
    bytes.push_back(uint8_t(checksum >> 8 * i));
}

Expected<ppx::ArtifactT> parse(const std::vector<uint8_t> &bytes) {
  return parseArtifact(bytes.data(), bytes.size(), "x.ppx");
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
  // The name is taken by a folder.
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

// Its zeros take no room on the disk, but would in memory.
TEST_F(Artifact, AVastFileIsNotRead) {
  const std::string path = folder / "a.ppx";
  std::ofstream(path) << "PPX";
  std::filesystem::resize_file(path, uint64_t(1) << 40);
  EXPECT_EQ(loadArtifact(path).status().message(),
            path + ": expects at most 2147483647 bytes, got 1099511627776");
}

TEST_F(Artifact, OtherFormatsAndTruncatedFiles) {
  const std::string path = folder / "a.ppx";
  std::ofstream(path) << "PPX";
  EXPECT_EQ(loadArtifact(path).status().message(),
            path + ": expects an artifact, got a file of 3 bytes");
  std::ofstream(path) << "a text of some length";
  EXPECT_EQ(loadArtifact(path).status().message(),
            path + ": expects the file identifier PPX2, got another format or "
                   "version");
  std::vector<uint8_t> bytes = packArtifact(sample());
  bytes.resize(bytes.size() / 2);
  EXPECT_EQ(parse(bytes).status().message(),
            "x.ppx: expects the bytes that were written, got " +
                std::to_string(bytes.size()) +
                " that are truncated or damaged: their checksum is another");
}

// Vectors of 8-byte elements that lie askew could not be read.
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
    ppx::ProgramBuilder program(builder);
    program.add_body(body);
    const auto programs = builder.CreateVector({program.Finish()});
    // Room, so that the file is not too small for so many tables.
    const auto object =
        builder.CreateVector(std::vector<uint8_t>(4 * instructions));
    ppx::ArtifactBuilder artifact(builder);
    artifact.add_programs(programs);
    artifact.add_object(object);
    ppx::FinishArtifactBuffer(builder, artifact.Finish());
    std::vector<uint8_t> bytes(builder.GetBufferPointer(),
                               builder.GetBufferPointer() + builder.GetSize());
    seal(bytes);
    return parse(bytes).status();
  };
  const Status grown = parseWith(600000);
  EXPECT_EQ(grown.code(), ExitCode::badArtifact);
  EXPECT_NE(grown.message().find("expects tables that take "),
            std::string::npos)
      << grown.message();
  // Fewer are read, to be refused for what they say.
  const Status few = parseWith(1000);
  EXPECT_EQ(few.code(), ExitCode::badArtifact);
  EXPECT_EQ(few.message().find("expects tables that take "), std::string::npos)
      << few.message();
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

// Bits that keep the file well formed would give another program.
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
  const auto list = builder.CreateVector(body);
  ppx::ProgramBuilder program(builder);
  program.add_body(list);
  const auto programs = builder.CreateVector(std::vector{program.Finish()});
  ppx::ArtifactBuilder artifact(builder);
  artifact.add_version(kArtifactVersion);
  artifact.add_programs(programs);
  ppx::FinishArtifactBuffer(builder, artifact.Finish());
  std::vector<uint8_t> bytes(builder.GetBufferPointer(),
                             builder.GetBufferPointer() + builder.GetSize());
  seal(bytes);
  EXPECT_EQ(parse(bytes).status().message(),
            "x.ppx: expects strings and vectors that are referred to once, got "
            "more of them than the " +
                std::to_string(bytes.size() - kChecksumBytes) +
                " bytes of the file");
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
// an error, and what is read can be checked. The sanitize preset makes this
// test strict.
TEST_F(Artifact, DamageNeverCrashes) {
  std::vector<uint8_t> whole = packArtifact(sample());
  whole.resize(whole.size() - kChecksumBytes);
  std::mt19937_64 random(7);
  int accepted = 0;
  auto tryBytes = [&](std::vector<uint8_t> bytes) {
    seal(bytes);
    Expected<ppx::ArtifactT> artifact = parse(bytes);
    if (artifact)
      (void)checkArtifact(*artifact);
    else
      EXPECT_EQ(artifact.status().code(), ExitCode::badArtifact);
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
  // Whole words, which hit offsets and lengths harder than bits do.
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
