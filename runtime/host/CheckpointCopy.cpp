//===- CheckpointCopy.cpp - what a process gives to a checkpoint ----------===//
//
// SPDX-License-Identifier: Apache-2.0
//
//===----------------------------------------------------------------------===//
#include "CheckpointFiles.h"
#include "pprt/Artifact.h"
#include "pprt/ElementFormats.h"
#include "pprt/Program.h"
#include "pprt/host/Checkpoint.h"

#include <cmath>
#include <cstring>

using namespace pprt;
using namespace pprt::host;

/// A part's copy.
struct CheckpointCopy::Part {
  ArgumentPart part;
  TensorToStore tensor;
  bool isParameter;
  std::vector<std::byte> values;
};

static bool areFinite(ppx::ElementType element,
                      const std::vector<std::byte> &bytes) {
  bool all = true;
  if (isFloat(element))
    withFormat(element, [&](auto format) {
      using Stored = typename decltype(format)::Stored;
      const auto *values = reinterpret_cast<const Stored *>(bytes.data());
      for (size_t i = 0; i < bytes.size() / sizeof(Stored); ++i)
        all &= std::isfinite(double(format.load(values[i])));
    });
  return all;
}

static std::string checksumOf(const std::vector<std::byte> &bytes) {
  return printChecksum(artifactChecksum(
      reinterpret_cast<const uint8_t *>(bytes.data()), bytes.size()));
}

CheckpointCopy::CheckpointCopy(const Session &session, RankRange ranks) {
  for (ArgumentPart &part : argumentParts(session.artifact(), session.mesh())) {
    if (!ranks.contains(part.rank))
      continue;
    const ppx::ArgumentT &argument =
        *session.artifact().arguments[part.argument];
    const TensorToStore tensor = {argument.name, argument.element, part.size};
    std::vector<std::byte> values(
        *denseBytes(part.size, elementSize(argument.element)));
    parts[part.rank].push_back({std::move(part), tensor,
                                argument.role == ppx::Role_param,
                                std::move(values)});
  }
}

CheckpointCopy::~CheckpointCopy() = default;

uint64_t CheckpointCopy::bytes() const {
  uint64_t bytes = 0;
  for (const auto &[rank, its] : parts)
    for (const Part &part : its)
      bytes += part.values.size();
  return bytes;
}

Status CheckpointCopy::take(const Session &session) {
  for (auto &[rank, its] : parts)
    for (Part &part : its)
      if (Status status = session.getPart(part.part, part.values.data());
          !status.ok())
        return status;
  return {};
}

Status CheckpointCopy::write(const std::string &folder,
                             const std::string &id) const {
  for (const auto &[rank, its] : parts) {
    std::map<std::string, std::string> metadata = {{kIdKey, id}};
    std::vector<TensorToStore> tensors;
    for (const Part &part : its) {
      const std::string &name = part.tensor.name;
      if (part.isParameter && !areFinite(part.tensor.element, part.values))
        return Status(ExitCode::nonFinite,
                      "expects finite parameters, got others in '" + name +
                          "'");
      tensors.push_back(part.tensor);
      metadata[kChecksumKey + name] = checksumOf(part.values);
    }
    const auto read = [&its = its](size_t i, void *out) {
      std::memcpy(out, its[i].values.data(), its[i].values.size());
      return Status();
    };
    if (Status status = writeSafeTensors(folder + "/" + rankFile(rank), tensors,
                                         read, metadata);
        !status.ok())
      return status;
  }
  return {};
}
