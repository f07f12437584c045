//===- Artifact.h - reading and writing .ppx files --------------*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0
//
// A file has a head and one image for each target it was compiled for
// (runtime/schema/ppx.fbs). A reader reads the head and the chosen image only:
// neither a large file nor damage elsewhere matters.
//
// A file is verified three times before it is used: by its checksum (the bytes
// are those that were written), as a FlatBuffer (every offset stays inside) and
// as an artifact (checkStructure of Checks.h). A written file appears under its
// name complete or not at all.
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

/// Bytes 4 to 7 of a file. Files with other bytes are for other builds.
constexpr char kArtifactIdentifier[] = "PPXC";

/// Which image of a file to take.
struct ImageChoice {
  /// Target of the image; empty, or "cpu": the best one for `level`.
  std::string target;
  /// Level of the processors that are to run it.
  std::string level = processorLevel();
};

/// Returns the index of an image. Fails (device) if processors of that level
/// run none, and (usage) if there is none for that target.
Expected<size_t>
chooseImage(const std::vector<std::unique_ptr<ppx::ImageEntryT>> &images,
            const ImageChoice &choice);

/// Reads the artifact in `bytes`, which are aligned as allocated memory is.
/// Failures begin with `name`, the file's name; all but those of chooseImage()
/// are badArtifact, or outOfMemory if memory runs out.
Expected<ppx::ArtifactT> parseArtifact(const uint8_t *bytes, size_t size,
                                       const std::string &name,
                                       const ImageChoice &choice = {});

/// Reads a file. Also fails (io) if it cannot be read.
Expected<ppx::ArtifactT> loadArtifact(const InputFile &file,
                                      const ImageChoice &choice = {});
Expected<ppx::ArtifactT> loadArtifact(const std::string &path,
                                      const ImageChoice &choice = {});
/// Reads only the head of a file, with the list of its images.
Expected<ppx::HeadT> loadHead(const InputFile &file);

/// Returns the bytes of a file with one image.
std::vector<uint8_t> packArtifact(const ppx::ArtifactT &artifact);
/// Returns the bytes of a file with several images. Fails (badArtifact) unless
/// their heads are the same: one program for different targets.
Expected<std::vector<uint8_t>>
packArtifacts(const std::vector<const ppx::ArtifactT *> &images);

/// Write the file `path`, as OutputFile does. Failures to write it are io.
Status saveArtifact(const ppx::ArtifactT &artifact, const std::string &path);
Status saveArtifacts(const std::vector<const ppx::ArtifactT *> &images,
                     const std::string &path);

/// Computes CRC-32: a flipped bit, or any damage within 32 bits, changes it.
uint32_t artifactChecksum(const uint8_t *bytes, size_t size);

/// Returns the checksum of the head, which holds those of the images. One of
/// the whole file would be constant: its parts end with their own.
uint32_t artifactIdentity(const ppx::ArtifactT &artifact);

/// Recomputes all checksums that can be found in the edited bytes of a file.
void sealArtifact(std::vector<uint8_t> &file);

} // namespace pprt
#pragma GCC visibility pop

#endif // PPRT_ARTIFACT_H
