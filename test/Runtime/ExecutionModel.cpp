//===- ExecutionModel.cpp - data for the reference executor ---------------===//
//
// SPDX-License-Identifier: Apache-2.0
//
//===----------------------------------------------------------------------===//
#include "ExecutionModel.h"
#include "pprt/IssueOrder.h"

#include <algorithm>
#include <array>
#include <memory>

using namespace pprt;
using namespace pprt::test;

/// One step of FNV-1a over a whole word.
static uint64_t mix(uint64_t hash, uint64_t value) {
  return (hash ^ value) * 0x100000001b3;
}

static void fill(uint8_t *bytes, uint64_t size, uint64_t hash) {
  for (uint64_t i = 0; i < size; ++i) {
    hash = mix(hash, i + 1);
    bytes[i] = uint8_t(hash >> 32);
  }
}

static void hashKernel(const reference::KernelCall &call) {
  const auto &parameters = call.kernel.parameters;
  uint64_t hash = 0xcbf29ce484222325;
  for (int64_t scalar : call.scalars)
    hash = mix(hash, uint64_t(scalar));
  for (size_t i = 0; i < parameters.size(); ++i)
    if (parameters[i]->access != ppx::Access_write)
      for (uint64_t byte = 0; byte < parameters[i]->bytes; ++byte)
        hash = mix(hash, call.arguments[i][byte]);
  for (size_t i = 0; i < parameters.size(); ++i)
    if (parameters[i]->access != ppx::Access_read)
      fill(call.arguments[i], parameters[i]->bytes, mix(hash, i));
}

static void hashLoad(const reference::LoadCall &call) {
  uint64_t hash = mix(mix(call.rank + 1, call.argument + 1),
                      uint64_t(call.step * 64 + call.microBatch));
  fill(call.bytes, call.size, hash);
}

reference::Options test::hashingOptions(uint64_t seed, bool watchMemory) {
  reference::Options options;
  options.seed = seed;
  options.watchMemory = watchMemory;
  options.runKernel = hashKernel;
  options.load = hashLoad;
  return options;
}

namespace {
/// Issue orders of all sections, with the objects that they refer to.
struct IssueOrders {
  explicit IssueOrders(const ppx::ArtifactT &artifact)
      : mesh(Mesh::create(artifact.axes)), ranks(artifact, *mesh) {
    for (Section section : kSections)
      of.emplace_back(ranks, section);
  }
  const Expected<Mesh> mesh;
  const Ranks ranks;
  std::vector<IssueOrder> of;
};
} // namespace

reference::Options test::issuedOptions(const ppx::ArtifactT &artifact,
                                       reference::DeviceModel model,
                                       uint64_t seed, bool watchMemory) {
  reference::Options options = hashingOptions(seed, watchMemory);
  options.model = model;
  const auto orders = std::make_shared<const IssueOrders>(artifact);
  options.place = [orders](uint32_t rank, Section section, uint32_t index) {
    const IssueUnit unit = orders->of[size_t(section)].unit(rank, index);
    return reference::IssuePlace(unit.position, unit.leader);
  };
  return options;
}

static constexpr size_t kMaxKernels = 64;
static const ppx::ArtifactT *current = nullptr;
static const reference::Options *model = nullptr;

template <size_t Index>
static void kernel(void *const *arguments, const int64_t *scalars, int64_t,
                   int64_t) {
  const ppx::KernelT &described = *current->kernels[Index];
  reference::KernelCall call = {described, {}, {}};
  for (size_t i = 0; i < described.parameters.size(); ++i)
    call.arguments.push_back(static_cast<uint8_t *>(arguments[i]));
  call.scalars.assign(scalars, scalars + current->axes.size() + 2);
  model->runKernel(call);
}

template <size_t... Indices>
static constexpr std::array<CompiledFunction, kMaxKernels>
makeTable(std::index_sequence<Indices...>) {
  return {kernel<Indices>...};
}
static constexpr auto kKernels =
    makeTable(std::make_index_sequence<kMaxKernels>());

void test::useModelKernels(const ppx::ArtifactT &artifact,
                           const reference::Options &options) {
  current = &artifact;
  model = &options;
}

void *test::resolveModelKernel(const std::string &symbol) {
  for (size_t i = 0; i < std::min(kMaxKernels, current->kernels.size()); ++i)
    if (current->kernels[i]->body.AsCompiledKernel()->symbol == symbol)
      return reinterpret_cast<void *>(kKernels[i]);
  return nullptr;
}
