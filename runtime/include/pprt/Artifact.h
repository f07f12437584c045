//===- Artifact.h - reading and writing .ppx files --------------*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0
//
// What is read is verified three times before anybody uses it: by its checksum
// (the bytes are those that were written), as a FlatBuffer (every offset stays
// inside the file) and as an artifact (checkStructure of Checks.h). What is
// written appears under its name complete or not at all.
//
//===----------------------------------------------------------------------===//
#ifndef PPRT_ARTIFACT_H
#define PPRT_ARTIFACT_H

#include "pprt/Status.h"
#include "pprt/ppx_generated.h"

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#pragma GCC visibility push(default)
namespace pprt {

/// The version of the format that this code reads and writes.
constexpr uint32_t kArtifactVersion = 4;

/// A file ends with the checksum of all its bytes before, little endian.
constexpr size_t kChecksumBytes = 4;
/// CRC-32: a single flipped bit, and any damage within 32 bits, changes it.
uint32_t artifactChecksum(const uint8_t *bytes, size_t size);

/// Reads the artifact in `bytes`, which are aligned as allocated memory is.
/// Failures are badArtifact and begin with `name`, the file they are from.
Expected<ppx::ArtifactT> parseArtifact(const uint8_t *bytes, size_t size,
                                       const std::string &name);

/// Reads the file `path`. Fails (io) also if it cannot be read.
Expected<ppx::ArtifactT> loadArtifact(const std::string &path);

/// The bytes of the file.
std::vector<uint8_t> packArtifact(const ppx::ArtifactT &artifact);

/// Writes the file `path`, as OutputFile does. Failures are io.
Status saveArtifact(const ppx::ArtifactT &artifact, const std::string &path);

} // namespace pprt
#pragma GCC visibility pop

#endif // PPRT_ARTIFACT_H
