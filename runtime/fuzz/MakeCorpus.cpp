//===- MakeCorpus.cpp - the artifacts that the fuzz target begins with ----===//
//
// SPDX-License-Identifier: Apache-2.0
//
// Writes small pipelines, and the artifacts in FILES without their machine
// code.
//   MakeCorpus FOLDER [FILES]
//
//===----------------------------------------------------------------------===//
#include "Fuzzing.h"
#include "pprt/Artifact.h"
#include "pprt/Files.h"

#include <cstdio>

using namespace pprt;

static bool report(const Status &status) {
  if (!status.ok())
    std::fprintf(stderr, "MakeCorpus: %s\n", status.message().c_str());
  return status.ok();
}

int main(int argc, char **argv) {
  if (argc < 2) {
    std::fprintf(stderr, "MakeCorpus: expects FOLDER [FILES]\n");
    return 2;
  }
  const std::string folder = argv[1];
  for (int seed = 0; seed < 100; ++seed) {
    const std::vector<uint8_t> content = test::smallContent(uint64_t(seed));
    if (!report(writeFile(folder + "/pipeline" + std::to_string(seed),
                          content.data(), content.size())))
      return 1;
  }
  for (int i = 2; i < argc; ++i) {
    Expected<ppx::ArtifactT> artifact = loadArtifact(argv[i]);
    if (!report(artifact.status()))
      return 1;
    artifact->object.clear();
    const std::vector<uint8_t> content = packArtifact(*artifact);
    if (!report(writeFile(folder + "/model" + std::to_string(i), content.data(),
                          content.size())))
      return 1;
  }
  return 0;
}
