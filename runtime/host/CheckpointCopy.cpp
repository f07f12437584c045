//===- CheckpointCopy.cpp - what a process gives to a checkpoint ----------===//
//
// SPDX-License-Identifier: Apache-2.0
//
// In: a session with no step in flight. Out: a file for each rank here that
// gives something. Digests are taken of the copy, so damage on the way to the
// disk shows.
//
//===----------------------------------------------------------------------===//
#include "CheckpointFiles.h"
#include "Digest.h"
#include "pprt/Program.h"
#include "pprt/host/Background.h"
#include "pprt/host/Checkpoint.h"

#include <algorithm>

using namespace pprt;
using namespace pprt::host;

/// A part's copy.
struct CheckpointCopy::Part {
  ArgumentPart part;
  TensorToStore tensor;
  bool isParameter;
  std::vector<std::byte> values;
};

/// Whether floats whose exponent has these bits are finite: not all are set.
template <typename Bits>
static bool areFinite(const std::byte *bytes, uint64_t count, Bits exponent) {
  const auto *values = reinterpret_cast<const Bits *>(bytes);
  Bits others = 0; // of infinities and NaNs
  for (size_t i = 0; i < count / sizeof(Bits); ++i)
    others |= Bits((values[i] & exponent) == exponent);
  return others == 0;
}

static bool areFinite(ppx::ElementType element, const std::byte *bytes,
                      uint64_t count) {
  switch (element) {
  case ppx::ElementType_f64:
    return areFinite<uint64_t>(bytes, count, uint64_t(0x7ff) << 52);
  case ppx::ElementType_f32:
    return areFinite<uint32_t>(bytes, count, 0x7f800000);
  case ppx::ElementType_bf16:
    return areFinite<uint16_t>(bytes, count, 0x7f80);
  case ppx::ElementType_f16:
    return areFinite<uint16_t>(bytes, count, 0x7c00);
  default:
    return true; // integers
  }
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

Status CheckpointCopy::writeRank(const std::string &path, const std::string &id,
                                 const std::vector<Part> &its) {
  std::map<std::string, std::string> metadata = {{kIdKey, id}};
  std::vector<TensorToStore> tensors;
  for (const Part &part : its) {
    const std::string &name = part.tensor.name;
    tensors.push_back(part.tensor);
    tensors.back().values = part.values.data();
    std::string &digests = metadata[kDigestKey + name];
    for (uint64_t at = 0; at < part.values.size(); at += kPieceBytes) {
      const std::byte *piece = part.values.data() + at;
      const uint64_t count = std::min(kPieceBytes, part.values.size() - at);
      digests += digestOf(piece, count);
      if (part.isParameter && !areFinite(part.tensor.element, piece, count))
        return Status(ExitCode::nonFinite,
                      "expects finite parameters, got others in '" + name +
                          "'");
    }
  }
  return writeSafeTensors(path, tensors, {}, metadata);
}

Status CheckpointCopy::write(const std::string &folder,
                             const std::string &id) const {
  return forEachAtOnce(parts.size(), kAtOnce, [&](size_t i, size_t) {
    const auto &[rank, its] = *std::next(parts.begin(), i);
    return writeRank(folder + "/" + rankFile(rank), id, its);
  });
}
