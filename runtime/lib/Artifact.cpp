//===- Artifact.cpp - reading and writing .ppx files ----------------------===//
//
// SPDX-License-Identifier: Apache-2.0
//
//===----------------------------------------------------------------------===//
#include "pprt/Artifact.h"
#include "Encoding.h"
#include "pprt/Checks.h"
#include "pprt/Files.h"

#include <zlib.h>

using namespace pprt;

static Status bad(const std::string &name, const std::string &message) {
  return Status(ExitCode::badArtifact, name + ": " + message);
}

uint32_t pprt::artifactChecksum(const uint8_t *bytes, size_t size) {
  return uint32_t(crc32_z(0, bytes, size));
}

/// Whether the last bytes are the checksum of the others.
static bool isIntact(const uint8_t *bytes, size_t size) {
  uint32_t stored = 0;
  for (size_t i = 0; i < kChecksumBytes; ++i)
    stored |= uint32_t(bytes[size - kChecksumBytes + i]) << 8 * i;
  return stored == artifactChecksum(bytes, size - kChecksumBytes);
}

Expected<ppx::ArtifactT> pprt::parseArtifact(const uint8_t *bytes, size_t size,
                                             const std::string &name) {
  // Root offset, file identifier and checksum.
  constexpr size_t headerSize = 8;
  if (size < headerSize + kChecksumBytes)
    return bad(name, "expects an artifact, got a file of " +
                         std::to_string(size) + " bytes");
  if (!ppx::ArtifactBufferHasIdentifier(bytes))
    return bad(name, std::string("expects the file identifier ") +
                         ppx::ArtifactIdentifier() +
                         ", got another format or version");
  if (size > FLATBUFFERS_MAX_BUFFER_SIZE || !isIntact(bytes, size))
    return bad(name, "expects the bytes that were written, got " +
                         std::to_string(size) +
                         " that are truncated or damaged: their checksum is "
                         "another");
  const size_t contentSize = size - kChecksumBytes;
  // Each table takes an entry in a vector and its own head: a file in which
  // the verifier meets more refers to the same tables over and over.
  constexpr size_t smallestTable = 8;
  constexpr unsigned maximumDepth = 16;
  flatbuffers::Verifier verifier(
      bytes, contentSize, maximumDepth,
      flatbuffers::uoffset_t(contentSize / smallestTable + 16));
  if (!ppx::VerifyArtifactBuffer(verifier))
    return bad(name, "expects a FlatBuffer, got offsets that lead outside of "
                     "it or to the same tables over and over");
  if (Status status = checkEncoding(*ppx::GetArtifact(bytes), contentSize);
      !status.ok())
    return bad(name, status.message());
  ppx::ArtifactT artifact;
  ppx::GetArtifact(bytes)->UnPackTo(&artifact);
  CheckResult structure = checkStructure(artifact);
  if (!structure.ok())
    return bad(name, structure.status().message());
  return artifact;
}

Expected<ppx::ArtifactT> pprt::loadArtifact(const std::string &path) {
  Expected<std::string> content = readFile(path, FLATBUFFERS_MAX_BUFFER_SIZE);
  if (!content)
    return content.status();
  return parseArtifact(reinterpret_cast<const uint8_t *>(content->data()),
                       content->size(), path);
}

std::vector<uint8_t> pprt::packArtifact(const ppx::ArtifactT &artifact) {
  flatbuffers::FlatBufferBuilder builder;
  ppx::FinishArtifactBuffer(builder, ppx::Artifact::Pack(builder, &artifact));
  std::vector<uint8_t> bytes(builder.GetBufferPointer(),
                             builder.GetBufferPointer() + builder.GetSize());
  const uint32_t checksum = artifactChecksum(bytes.data(), bytes.size());
  for (size_t i = 0; i < kChecksumBytes; ++i)
    bytes.push_back(uint8_t(checksum >> 8 * i));
  return bytes;
}

Status pprt::saveArtifact(const ppx::ArtifactT &artifact,
                          const std::string &path) {
  const std::vector<uint8_t> bytes = packArtifact(artifact);
  return writeFile(path, bytes.data(), bytes.size());
}
