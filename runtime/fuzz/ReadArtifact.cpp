//===- ReadArtifact.cpp - fuzz target: reading and checking a .ppx --------===//
//
// SPDX-License-Identifier: Apache-2.0
//
// Built with PP_FUZZ=ON. In: any bytes, to which a checksum that fits is added.
// Reading them gives an artifact or an error; what is read is checked, and
// packed and read again.
//   ReadArtifact -max_total_time=600 -rss_limit_mb=4096 CORPUS
//
//===----------------------------------------------------------------------===//
#include "pprt/Artifact.h"
#include "pprt/Checks.h"

#include <cstdlib>

extern "C" int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size) {
  using namespace pprt;
  std::vector<uint8_t> file(bytes, bytes + size);
  const uint32_t checksum = artifactChecksum(bytes, size);
  for (size_t i = 0; i < kChecksumBytes; ++i)
    file.push_back(uint8_t(checksum >> 8 * i));
  Expected<ppx::ArtifactT> artifact =
      parseArtifact(file.data(), file.size(), "input");
  if (!artifact)
    return 0;
  (void)checkArtifact(*artifact);
  const std::vector<uint8_t> packed = packArtifact(*artifact);
  if (!parseArtifact(packed.data(), packed.size(), "packed"))
    std::abort();
  return 0;
}
