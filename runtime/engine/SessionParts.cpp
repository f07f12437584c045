//===- SessionParts.cpp - what each rank gives of the arguments -----------===//
//
// SPDX-License-Identifier: Apache-2.0
//
// In: an artifact and its mesh. Out: boxes of global tensors, without padding.
//
//===----------------------------------------------------------------------===//
#include "SessionState.h"
#include "pprt/ArgumentParts.h"

#include <algorithm>
#include <map>

using namespace pprt;

static bool isInput(const ppx::ArgumentT &argument) {
  return argument.role == ppx::Role_input || argument.role == ppx::Role_label;
}

std::vector<ArgumentPart> pprt::argumentParts(const ppx::ArtifactT &artifact,
                                              const Mesh &mesh) {
  const Ranks programs(artifact, mesh);
  std::vector<ArgumentPart> parts;
  std::vector<uint64_t> given(mesh.worldSize());
  for (uint32_t i = 0; i < artifact.arguments.size(); ++i) {
    if (isInput(*artifact.arguments[i]))
      continue;
    const ShardedTensor tensor(*artifact.arguments[i], artifact);
    std::map<ShardedTensor::Index, std::vector<uint32_t>> holders;
    for (uint32_t rank = 0; rank < mesh.worldSize(); ++rank)
      if (programs.program(rank).argument_slots[i] >= 0)
        holders[tensor.origin(mesh, rank, 0)].push_back(rank);
    for (const auto &[origin, ranks] : holders) {
      const uint32_t rank = *std::min_element(
          ranks.begin(), ranks.end(),
          [&](uint32_t a, uint32_t b) { return given[a] < given[b]; });
      ArgumentPart part = {i, rank, {}, tensor.realSize(origin)};
      part.first.assign(origin.begin(), origin.begin() + part.size.size());
      // All of it may be padding.
      if (std::count(part.size.begin(), part.size.end(), 0) > 0)
        continue;
      given[rank] += tensor.shardBytes();
      parts.push_back(std::move(part));
    }
  }
  return parts;
}

std::vector<uint64_t> pprt::givenBytes(const std::vector<ArgumentPart> &parts,
                                       const ppx::ArtifactT &artifact,
                                       const Mesh &mesh) {
  std::vector<uint64_t> bytes(mesh.worldSize());
  for (const ArgumentPart &part : parts)
    bytes[part.rank] += *denseBytes(
        part.size, elementSize(artifact.arguments[part.argument]->element));
  return bytes;
}

Status Session::getPart(const ArgumentPart &part, std::byte *values) const {
  return state->guard([&]() -> Status {
    if (Status status = state->checkArguments(); !status.ok())
      return status;
    if (Status status = state->checkIndex(part.argument); !status.ok())
      return status;
    const int32_t slot = state->range.contains(part.rank)
                             ? state->slotOf(part.argument, part.rank)
                             : -1;
    const ShardedTensor &tensor = state->host->arguments[part.argument];
    const ShardedTensor::Index origin = tensor.origin(mesh(), part.rank, 0);
    if (slot < 0 || tensor.realSize(origin) != part.size)
      return Status(ExitCode::badParameters,
                    "expects a part of '" +
                        state->artifact->arguments[part.argument]->name +
                        "' that rank " + std::to_string(part.rank) +
                        " of this process holds");
    return state->executor->rank(part.rank).readSlot(
        uint32_t(slot),
        [&](const std::byte *shard) { tensor.pack(origin, shard, values); });
  });
}
