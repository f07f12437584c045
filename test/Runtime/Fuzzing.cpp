//===- Fuzzing.cpp - what any bytes may do to a reader of .ppx ------------===//
//
// SPDX-License-Identifier: Apache-2.0
//
//===----------------------------------------------------------------------===//
#include "Fuzzing.h"
#include "ExecutionModel.h"
#include "Pipelines.h"
#include "pprt/Artifact.h"
#include "pprt/Checks.h"

#include <algorithm>
#include <cstring>
#include <iterator>

using namespace pprt;
using namespace pprt::test;

/// Whether a run takes no more than some thousands of instructions.
static bool isSmall(const ppx::ArtifactT &artifact) {
  uint64_t instructions = 0, bytes = 0, ranks = 0;
  for (const auto &program : artifact.programs) {
    const uint64_t count = program->ranks.size();
    ranks += count;
    instructions += count * (program->setup.size() + 2 * program->body.size() +
                             program->teardown.size());
    if (program->arena_bytes > 1 << 20)
      return false;
    bytes += count * program->arena_bytes;
  }
  return ranks <= 64 && instructions <= 4000 && bytes <= 1 << 20;
}

static std::string runSmall(const ppx::ArtifactT &artifact) {
  const reference::Result run =
      reference::execute(artifact, hashingOptions(/*seed=*/1));
  if (run.end != reference::End::finished)
    return "accepted, but does not end: " + run.reason;
  if (!run.races.empty())
    return "accepted, but has a race: " + run.races.front();
  if (!run.clobbers.empty())
    return "accepted, but clobbers: " + run.clobbers.front();
  return "";
}

FuzzVerdict test::tryContent(const uint8_t *bytes, size_t size) {
  std::vector<uint8_t> file(bytes, bytes + size);
  sealArtifact(file);
  Expected<ppx::ArtifactT> artifact =
      parseArtifact(file.data(), file.size(), "input");
  if (!artifact)
    return {FuzzVerdict::unreadable, artifact.status().message().empty()
                                         ? "refused without a word"
                                         : ""};
  const std::vector<uint8_t> packed = packArtifact(*artifact);
  if (!parseArtifact(packed.data(), packed.size(), "packed"))
    return {FuzzVerdict::unreadable, "cannot be read back"};
  if (!checkArtifact(*artifact).ok())
    return {FuzzVerdict::refused, ""};
  if (!isSmall(*artifact))
    return {FuzzVerdict::large, ""};
  return {FuzzVerdict::finished, runSmall(*artifact)};
}

void test::damage(uint8_t *bytes, size_t size, std::mt19937_64 &random) {
  const size_t width = size_t(1) << random() % 4;
  if (size < width)
    return;
  uint8_t *place = bytes + random() % (size / width) * width;
  uint64_t old = 0;
  std::memcpy(&old, place, width);
  const uint64_t values[] = {
      0,        1,       2,        old + 1,      old - 1,
      2 * old,  old / 2, old ^ 4,  old + 4,      old + 8,
      old + 64, old - 4, 1u << 31, ~uint64_t(0), ~uint64_t(0) / 2,
      random()};
  const uint64_t value = values[random() % std::size(values)];
  std::memcpy(place, &value, width);
}

std::vector<uint8_t> test::smallContent(uint64_t seed) {
  std::mt19937_64 random(seed);
  return packArtifact(makePipeline(randomShape(random)));
}
