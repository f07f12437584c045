//===- Artifact.h - reading and writing .ppx files --------------*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0
//
// A file has a head and one image for each target it was compiled for
// (runtime/schema/ppx.fbs). Of it are read the head and the image that is
// taken, and nothing else: neither a large file nor damage elsewhere matters.
//
// What is read is verified three times before anybody uses it: by its checksum
// (the bytes are those that were written), as a FlatBuffer (every offset stays
// inside) and as an artifact (checkStructure of Checks.h). What is written
// appears under its name complete or not at all.
//
//===----------------------------------------------------------------------===//
#ifndef PPRT_ARTIFACT_H
#define PPRT_ARTIFACT_H

#include "pprt/Files.h"
#include "pprt/Ppx.h"
#include "pprt/Processor.h"
#include "pprt/Status.h"

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#pragma GCC visibility push(default)
namespace pprt {

/// Bytes 4 to 7 of a file. Other ones are read by other builds.
constexpr char kArtifactIdentifier[] = "PPXA";

/// Which image of a file to take.
struct ImageChoice {
  /// That of this target; empty, or "cpu": the best one for `level`.
  std::string target;
  /// Of the processors that are to run it.
  std::string level = processorLevel();
};

/// The index of an image. Fails (device) if no processor of that level runs
/// any, and (usage) if there is none of that target.
Expected<size_t>
chooseImage(const std::vector<std::unique_ptr<ppx::ImageEntryT>> &images,
            const ImageChoice &choice);

/// Reads the artifact in `bytes`, which are aligned as allocated memory is.
/// Failures begin with `name`, the file they are from; all but those of
/// chooseImage() are badArtifact, or outOfMemory where that lacks.
Expected<ppx::ArtifactT> parseArtifact(const uint8_t *bytes, size_t size,
                                       const std::string &name,
                                       const ImageChoice &choice = {});

/// Reads a file. Fails (io) also if it cannot be read.
Expected<ppx::ArtifactT> loadArtifact(const InputFile &file,
                                      const ImageChoice &choice = {});
Expected<ppx::ArtifactT> loadArtifact(const std::string &path,
                                      const ImageChoice &choice = {});
/// The head of a file alone, with the list of its images.
Expected<ppx::HeadT> loadHead(const InputFile &file);

/// The bytes of a file of one image.
std::vector<uint8_t> packArtifact(const ppx::ArtifactT &artifact);
/// Of several. Fails (badArtifact) unless they are one program for different
/// targets: what the head says is the same.
Expected<std::vector<uint8_t>>
packArtifacts(const std::vector<const ppx::ArtifactT *> &images);

/// These write the file `path`, as OutputFile does. Failures to are io.
Status saveArtifact(const ppx::ArtifactT &artifact, const std::string &path);
Status saveArtifacts(const std::vector<const ppx::ArtifactT *> &images,
                     const std::string &path);

/// CRC-32: a single flipped bit, and any damage within 32 bits, changes it.
uint32_t artifactChecksum(const uint8_t *bytes, size_t size);

/// The checksum of the head, which has those of the images. Of the file as a
/// whole it would tell nothing: its parts end with their own.
uint32_t artifactIdentity(const ppx::ArtifactT &artifact);

/// Writes all checksums anew that can be found, into bytes that were edited.
void sealArtifact(std::vector<uint8_t> &file);

} // namespace pprt
#pragma GCC visibility pop

#endif // PPRT_ARTIFACT_H
