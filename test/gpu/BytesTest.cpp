//===- BytesTest.cpp - what kernels of GPUs read and write ----------------===//
//
// SPDX-License-Identifier: Apache-2.0
//
// Runs some blocks of each compiled kernel of an artifact (test/gpu/ptx) and
// counts the bytes that they ask global memory for, beside those that they have
// to: every byte once. A tensor that the cache keeps between two looks at it
// counts once in any case. What kernels compute does not matter here, so that
// tensors larger than this machine's memory are no matter either.
//
//   PPGpuBytesTest --artifact=FILE.ppx
//
//===----------------------------------------------------------------------===//
#include "Ptx.h"
#include "pprt/Artifact.h"

#include <algorithm>
#include <cstdio>
#include <gtest/gtest.h>
#include <map>

using namespace pprt;

static std::string artifactFile;

namespace {

/// Of a launch; neighbours.
constexpr uint64_t kBlocks = 4;
/// What lies in the second level's cache, of 40 MiB and more, while a kernel
/// runs: weights of a row, a bias.
constexpr uint64_t kCached = 1 << 20;
/// Of a step, and of a kernel: the rows of a vocabulary, which are longer than
/// registers, are read for their largest element and for their sum.
constexpr double kMostInAll = 1.15, kMostTimes = 2.1;

/// Buffers of any size, all of which lie in the same few bytes.
class Nowhere : public ptx::Memory {
public:
  explicit Nowhere(std::vector<uint64_t> itsSizes)
      : sizes(std::move(itsSizes)), asked(sizes.size()) {}

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
    asked[buffer] += size;
    return bytes.data() + offset % kPeriod;
  }
  std::byte *isWritten(uint64_t address) override {
    return written.data() + address % kPeriod;
  }

  const std::vector<uint64_t> sizes;
  std::vector<uint64_t> asked; ///< of each, by all accesses

private:
  static constexpr uint64_t kPeriod = 1 << 12;
  std::vector<std::byte> bytes = std::vector<std::byte>(2 * kPeriod),
                         written =
                             std::vector<std::byte>(2 * kPeriod, std::byte(1));
};

/// How many times the bytes that a kernel has to read and write it does.
double measure(const ptx::Module &module, const ppx::KernelT &kernel) {
  const ppx::CompiledKernelT &body = *kernel.body.AsCompiledKernel();
  std::vector<uint64_t> sizes;
  for (const auto &parameter : kernel.parameters)
    sizes.push_back(parameter->bytes);
  const size_t tensors = sizes.size();
  sizes.push_back(64); // the launch's scalars
  Nowhere memory(sizes);
  ptx::Launch launch;
  launch.entry = body.symbol;
  launch.grid.x = uint32_t(std::min(body.grid, kBlocks));
  launch.block.x = body.block;
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
    return 0;
  }
  std::vector<uint64_t> once(sizes.size());
  for (const auto *ranges : {&accesses.read, &accesses.written})
    for (const ptx::Accesses::Range &range : *ranges)
      once[Nowhere::bufferAt(range.begin)] += range.end - range.begin;
  uint64_t moved = 0, needed = 0;
  for (size_t i = 0; i < tensors; ++i) {
    moved += sizes[i] <= kCached ? once[i] : memory.asked[i];
    needed += once[i];
  }
  return needed == 0 ? 1 : double(moved) / double(needed);
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
    for (const auto &instruction : program->body)
      if (instruction->opcode == ppx::Opcode_run &&
          artifact->kernels[instruction->kernel]->body.AsCompiledKernel())
        ++launches[instruction->kernel];
  double needed = 0, moved = 0;
  std::printf("launches  MB of one  times  kernel\n");
  for (const auto &[number, count] : launches) {
    const ppx::KernelT &kernel = *artifact->kernels[number];
    const double times = measure(*module, kernel);
    std::printf("%8u %10.2f %6.2f  %s\n", count, kernel.bytes / 1e6, times,
                kernel.name.c_str());
    EXPECT_LE(times, kMostTimes) << kernel.name;
    needed += count * kernel.bytes;
    moved += count * kernel.bytes * times;
  }
  std::printf("in all %.2f times the %.0f MB of a step\n", moved / needed,
              needed / 1e6);
  EXPECT_LE(moved, kMostInAll * needed);
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
