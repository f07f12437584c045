//===- Fuzzing.cpp - any bytes as a .ppx file -----------------------------===//
//
// SPDX-License-Identifier: Apache-2.0
//
//===----------------------------------------------------------------------===//
#include "Fuzzing.h"
#include "ContractionCases.h"
#include "ExecutionModel.h"
#include "Pipelines.h"
#include "backends/cpu/Contraction.h"
#include "backends/cpu/Team.h"
#include "pprt/Artifact.h"
#include "pprt/Checks.h"
#include "targets/Targets.h"

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
    for (Section section : kSections)
      instructions += count * (section == Section::body ? 2 : 1) *
                      InstructionList(*program, section).size();
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

/// Computes small contractions on memory of exactly their parameters' bytes: an
/// address sanitizer sees accesses outside.
static void compute(const ppx::KernelT &kernel) {
  const ppx::ContractionT *contraction = kernel.body.AsContraction();
  if (!contraction || !cpu::verifyContraction(*contraction).ok())
    return;
  constexpr uint64_t few = 1 << 16;
  uint64_t work = 1;
  std::vector<uint64_t> extents = contraction->batch;
  extents.insert(extents.end(),
                 {contraction->m, contraction->n, contraction->k});
  for (uint64_t extent : extents)
    if (extent > few || (work *= std::max<uint64_t>(extent, 1)) > few)
      return;
  std::vector<std::vector<std::byte>> memory;
  std::vector<void *> arguments;
  for (const auto &parameter : kernel.parameters) {
    if (parameter->bytes > 16 * few)
      return;
    arguments.push_back(memory.emplace_back(parameter->bytes).data());
  }
  if (const auto made = cpu::Contraction::create(
          *contraction, 1, contraction->workspace_bytes)) {
    cpu::Team team(1);
    made->run(arguments.data(), team);
  }
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
  for (const auto &kernel : artifact->kernels)
    compute(*kernel);
  return {FuzzVerdict::finished, runSmall(*artifact)};
}

static uint64_t otherValue(uint64_t old, std::mt19937_64 &random) {
  const uint64_t values[] = {
      0,        1,       2,        old + 1,      old - 1,
      2 * old,  old / 2, old ^ 4,  old + 4,      old + 8,
      old + 64, old - 4, 1u << 31, ~uint64_t(0), ~uint64_t(0) / 2,
      random()};
  return values[random() % std::size(values)];
}

void test::damage(uint8_t *bytes, size_t size, std::mt19937_64 &random) {
  const size_t width = size_t(1) << random() % 4;
  if (size < width)
    return;
  uint8_t *place = bytes + random() % (size / width) * width;
  uint64_t old = 0;
  std::memcpy(&old, place, width);
  const uint64_t value = otherValue(old, random);
  std::memcpy(place, &value, width);
}

void test::damageTogether(uint8_t *bytes, size_t size,
                          std::mt19937_64 &random) {
  // Numbers of 8 bytes, as most extents and strides are. Larger numbers than 32
  // bits are mostly offsets, without which nothing can be read.
  constexpr size_t width = 8, reach = 40;
  const size_t count = size / width;
  std::vector<uint8_t *> places;
  const auto valueAt = [](const uint8_t *place) {
    uint64_t value = 0;
    std::memcpy(&value, place, width);
    return value;
  };
  const size_t first = count == 0 ? 0 : random() % count;
  for (size_t i = first; i < std::min(count, first + reach); ++i)
    if (valueAt(bytes + i * width) >> 32 == 0)
      places.push_back(bytes + i * width);
  if (places.empty())
    return;
  const bool isOneValue = random() % 2;
  uint64_t value = otherValue(valueAt(places.front()), random);
  for (uint64_t more = 1 + random() % 3; more > 0; --more) {
    uint8_t *place = places[random() % places.size()];
    if (!isOneValue)
      value = otherValue(valueAt(place), random);
    std::memcpy(place, &value, width);
  }
}

/// A kernel with parameters of these bytes, the last of which is written.
static std::unique_ptr<ppx::KernelT> makeKernel(ppx::ContractionT contraction,
                                                std::vector<uint64_t> bytes) {
  findTarget("cpu")->plan(contraction, 1);
  const size_t out = bytes.size() - 1;
  if (contraction.workspace_bytes > 0)
    bytes.push_back(contraction.workspace_bytes);
  auto kernel = std::make_unique<ppx::KernelT>();
  for (size_t i = 0; i < bytes.size(); ++i) {
    auto parameter = std::make_unique<ppx::KernelParameterT>();
    parameter->bytes = bytes[i];
    parameter->access = i < out ? ppx::Access_read : ppx::Access_write;
    kernel->parameters.push_back(std::move(parameter));
  }
  kernel->body.Set(std::move(contraction));
  return kernel;
}

static std::unique_ptr<ppx::KernelT> makeKernel(const Case &c) {
  Sample sample(c);
  std::vector<uint64_t> bytes;
  for (const std::vector<std::byte> &parameter : sample.parameters)
    bytes.push_back(parameter.size());
  return makeKernel(std::move(sample.contraction), std::move(bytes));
}

/// A kernel that reads patches of two images of 4 x 5 pixels and 16 channels,
/// and the weights tap by tap.
static std::unique_ptr<ppx::KernelT> makePatchKernel() {
  Sample sample(Case{{}, 40, 8, 144});
  auto add = [](auto &list, auto entry) {
    using Entry =
        typename std::decay_t<decltype(list)>::value_type::element_type;
    list.push_back(std::make_unique<Entry>(std::move(entry)));
  };
  auto loop = [](uint64_t extent, uint64_t stride, int window, int64_t step) {
    ppx::ViewLoopT result;
    result.extent = extent;
    result.stride = stride;
    result.window = window;
    result.step = step;
    return result;
  };
  auto window = [](uint64_t size, uint64_t stride) {
    ppx::WindowT result;
    result.size = size;
    result.stride = stride;
    result.offset = -1;
    return result;
  };
  ppx::MatrixViewT &lhs = *sample.contraction.lhs;
  lhs = {};
  add(lhs.rows, loop(2, 320, -1, 0));
  add(lhs.rows, loop(4, 0, 0, 1));
  add(lhs.rows, loop(5, 0, 1, 1));
  add(lhs.columns, loop(3, 0, 0, 1));
  add(lhs.columns, loop(3, 0, 1, 1));
  add(lhs.columns, loop(16, 1, -1, 0));
  add(lhs.windows, window(4, 80));
  add(lhs.windows, window(5, 16));
  ppx::MatrixViewT &rhs = *sample.contraction.rhs;
  add(rhs.rows, loop(9, 16 * rhs.row_stride, -1, 0));
  add(rhs.rows, loop(16, rhs.row_stride, -1, 0));
  return makeKernel(std::move(sample.contraction),
                    {640 * sizeof(float), sample.parameters[1].size(),
                     sample.parameters[2].size()});
}

std::vector<uint8_t> test::smallContent(uint64_t seed) {
  std::mt19937_64 random(seed);
  ppx::ArtifactT artifact = makePipeline(randomShape(random));
  const Case cases[] = {
      {{}, 5, 4, 3},
      {{2, 3}, 4, 2, 3, Layout::heads, Layout::columns, Layout::interleaved},
      {{},
       4,
       6,
       2,
       Layout::gaps,
       Layout::steps,
       Layout::rows,
       ppx::ElementType_f64,
       ppx::ElementType_f64,
       0.5,
       false,
       {{ppx::EpilogueKind_add, Layout::broadcastRow},
        {ppx::EpilogueKind_gelu_tanh, Layout::rows}}}};
  artifact.kernels.push_back(makeKernel(cases[random() % std::size(cases)]));
  artifact.kernels.push_back(makePatchKernel());
  return packArtifact(artifact);
}
