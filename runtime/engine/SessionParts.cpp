//===- SessionParts.cpp - what each rank gives of the arguments -----------===//
//
// SPDX-License-Identifier: Apache-2.0
//
// Replicas hold the same values, so each part is given once. Ranks share the
// parts by bytes: with data parallelism alone each gives its share of all.
//
//===----------------------------------------------------------------------===//
#include "SessionState.h"

#include <algorithm>
#include <map>

using namespace pprt;

std::vector<Session::Part> Session::parts() const {
  const State &its = *state;
  std::vector<Part> parts;
  std::vector<uint64_t> given(its.host->mesh.worldSize());
  for (uint32_t i = 0; i < its.artifact->arguments.size(); ++i) {
    if (its.isInput(i))
      continue;
    const ShardedTensor &tensor = its.host->arguments[i];
    std::map<ShardedTensor::Index, std::vector<uint32_t>> holders;
    for (uint32_t rank = 0; rank < its.host->mesh.worldSize(); ++rank)
      if (its.slotOf(i, rank) >= 0)
        holders[tensor.origin(its.host->mesh, rank, 0)].push_back(rank);
    for (const auto &[origin, ranks] : holders) {
      const uint32_t rank = *std::min_element(
          ranks.begin(), ranks.end(),
          [&](uint32_t a, uint32_t b) { return given[a] < given[b]; });
      Part part = {i, rank, {}, tensor.realSize(origin)};
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

Status Session::getPart(const Part &part, std::byte *values) const {
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
