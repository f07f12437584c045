//===- BytesTest.cpp - what kernels of GPUs read and write ----------------===//
//
// SPDX-License-Identifier: Apache-2.0
//
// Runs some blocks of each compiled kernel of an artifact (test/gpu/ptx) and
// counts the sectors of 32 bytes that each instruction of a warp asks global
// memory for, beside the bytes that have to be moved: every one once. What
// kernels compute does not matter here, so that tensors larger than this
// machine's memory are no matter either.
//
// No cache makes up for a second look, nor for a sector of which a warp uses a
// part, but for a small tensor, which stays in the second level's: of memory it
// counts once, and of the cache as often as it is asked for.
//
//   PPGpuBytesTest --artifact=FILE.ppx
//
//===----------------------------------------------------------------------===//
#include "Ptx.h"
#include "pprt/Artifact.h"
#include "pprt/InstructionList.h"

#include <algorithm>
#include <cstdio>
#include <gtest/gtest.h>
#include <map>
#include <random>
#include <set>

using namespace pprt;

static std::string artifactFile;

namespace {

/// Of a launch, neighbours at its begin, in its middle and at its end.
constexpr uint64_t kBlocks = 4;
/// What a warp moves at least.
constexpr uint64_t kSector = 32;
/// What lies in the second level's cache, of 40 MiB and more, while a kernel
/// runs: weights of a row, a bias, indices.
constexpr uint64_t kCached = 1 << 20;
/// Of a step, and of a kernel: the rows of a vocabulary, which are longer than
/// registers, are read for their largest element and for their sum. Where their
/// number is odd, warps would begin within a sector if rows were not padded.
constexpr double kMostInAll = 1.08, kMostTimes = 2.1;
/// Of a step, by all that is asked of the cache, which gives some times as much
/// in a second as memory.
constexpr double kMostOfCache = 1.5;

/// Buffers of any size, each of which lies in the same few bytes: as integers,
/// rows of a large table.
class Nowhere : public ptx::Memory {
public:
  explicit Nowhere(std::vector<uint64_t> itsSizes)
      : sizes(std::move(itsSizes)), asked(sizes.size()),
        words(sizes.size() * kPeriod / 2) {
    std::mt19937 random;
    for (int32_t &word : words)
      word = int32_t(random() % 50000);
  }

  static uint64_t addressOf(size_t buffer) { return (buffer + 1) << 40; }
  static size_t bufferAt(uint64_t address) { return (address >> 40) - 1; }

  std::byte *find(uint64_t address, uint64_t size,
                  std::string &error) override {
    const size_t buffer = bufferAt(address);
    const uint64_t offset = address & (addressOf(0) - 1);
    if (buffer >= sizes.size() || offset + size > sizes[buffer]) {
      error = "expects an address inside of a buffer, got parameter " +
              std::to_string(buffer) + ", byte " + std::to_string(offset);
      return nullptr;
    }
    return reinterpret_cast<std::byte *>(words.data()) + buffer * 2 * kPeriod +
           offset % kPeriod;
  }
  std::byte *isWritten(uint64_t address) override {
    return written.data() + address % kPeriod;
  }

  void count(const ptx::WarpAccess &access) {
    std::set<uint64_t> sectors;
    for (uint64_t address : access.addresses)
      for (uint64_t at = address / kSector * kSector;
           at < address + access.bytes; at += kSector)
        sectors.insert(at);
    for (uint64_t sector : sectors)
      asked[bufferAt(sector)] += kSector;
  }

  const std::vector<uint64_t> sizes;
  std::vector<uint64_t> asked; ///< of each, by all instructions of warps

private:
  static constexpr uint64_t kPeriod = 1 << 12;
  std::vector<int32_t> words; ///< two periods for each buffer
  std::vector<std::byte> written =
      std::vector<std::byte>(2 * kPeriod, std::byte(1));
};

std::vector<uint32_t> sampleBlocks(uint64_t grid) {
  std::set<uint32_t> blocks;
  for (uint64_t number = 0; number < std::min(grid, kBlocks); ++number)
    for (uint64_t first : {uint64_t(0), (grid - std::min(grid, kBlocks)) / 2,
                           grid - std::min(grid, kBlocks)})
      blocks.insert(uint32_t(first + number));
  return {blocks.begin(), blocks.end()};
}

/// How many times the bytes that a kernel has to read and write it does.
struct Times {
  double ofMemory = 1, ofCache = 1;
};

Times measure(const ptx::Module &module, const ppx::KernelT &kernel) {
  const ppx::CompiledKernelT &body = *kernel.body.AsCompiledKernel();
  std::vector<uint64_t> sizes;
  for (const auto &parameter : kernel.parameters)
    sizes.push_back(parameter->bytes);
  const size_t tensors = sizes.size();
  sizes.push_back(64); // the launch's scalars
  Nowhere memory(sizes);
  ptx::Launch launch;
  launch.entry = body.symbol;
  launch.grid.x = uint32_t(body.grid);
  launch.block.x = body.block;
  launch.blocks = sampleBlocks(body.grid);
  launch.observe = [&](const ptx::WarpAccess &access) { memory.count(access); };
  const auto pass = [&](uint64_t address) {
    const auto *from = reinterpret_cast<const std::byte *>(&address);
    launch.parameters.insert(launch.parameters.end(), from, from + 8);
  };
  for (size_t i = 0; i <= tensors; ++i)
    pass(Nowhere::addressOf(i));
  pass(0); // no gate
  std::string error;
  ptx::Accesses accesses;
  if (!module.run(launch, memory, error, &accesses)) {
    ADD_FAILURE() << kernel.name << ": " << error;
    return {};
  }
  std::vector<uint64_t> once(sizes.size());
  for (const auto *ranges : {&accesses.read, &accesses.written})
    for (const ptx::Accesses::Range &range : *ranges)
      once[Nowhere::bufferAt(range.begin)] += range.end - range.begin;
  uint64_t moved = 0, asked = 0, needed = 0;
  for (size_t i = 0; i < tensors; ++i) {
    moved += sizes[i] <= kCached ? once[i] : memory.asked[i];
    asked += memory.asked[i];
    needed += once[i];
  }
  if (needed == 0)
    return {};
  return {double(moved) / double(needed), double(asked) / double(needed)};
}

TEST(GpuBytes, AreMovedOnce) {
  if (artifactFile.empty())
    GTEST_SKIP() << "no artifact";
  Expected<ppx::ArtifactT> artifact = loadArtifact(artifactFile, {"sm_90"});
  ASSERT_TRUE(artifact.ok()) << artifact.status().message();
  std::string error;
  auto module = ptx::Module::parse(
      std::string(artifact->object.begin(), artifact->object.end()), error);
  ASSERT_TRUE(module) << error;
  std::map<uint32_t, unsigned> launches;
  for (const auto &program : artifact->programs)
    for (const pprt::Instruction instruction :
         pprt::InstructionList(*program, pprt::Section::body))
      if (instruction->opcode == ppx::Opcode_run &&
          artifact->kernels[instruction->kernel]->body.AsCompiledKernel())
        ++launches[instruction->kernel];
  double needed = 0, moved = 0, asked = 0;
  std::printf("launches  MB of one  times  of cache  kernel\n");
  for (const auto &[number, count] : launches) {
    const ppx::KernelT &kernel = *artifact->kernels[number];
    const Times times = measure(*module, kernel);
    std::printf("%8u %10.2f %6.2f %9.2f  %s\n", count, kernel.bytes / 1e6,
                times.ofMemory, times.ofCache, kernel.name.c_str());
    EXPECT_LE(times.ofMemory, kMostTimes) << kernel.name;
    needed += count * kernel.bytes;
    moved += count * kernel.bytes * times.ofMemory;
    asked += count * kernel.bytes * times.ofCache;
  }
  std::printf(
      "in all %.2f times the %.0f MB of a step, and %.2f of the cache\n",
      moved / needed, needed / 1e6, asked / needed);
  EXPECT_LE(moved, kMostInAll * needed);
  EXPECT_LE(asked, kMostOfCache * needed);
}

} // namespace

int main(int argc, char **argv) {
  testing::InitGoogleTest(&argc, argv);
  const std::string option = "--artifact=";
  for (int i = 1; i < argc; ++i)
    if (std::string(argv[i]).rfind(option, 0) == 0)
      artifactFile = argv[i] + option.size();
  return RUN_ALL_TESTS();
}
