//===- Ranks.cpp - the ranks of an artifact, each with its program --------===//
//
// SPDX-License-Identifier: Apache-2.0
//
//===----------------------------------------------------------------------===//
#include "pprt/Ranks.h"

using namespace pprt;

Ranks::Ranks(const ppx::ArtifactT &artifact, const Mesh &mesh)
    : artifact(artifact), mesh(mesh), programs(mesh.worldSize()) {
  for (uint32_t i = 0; i < artifact.programs.size(); ++i)
    for (uint32_t rank : artifact.programs[i]->ranks)
      programs[rank] = i;
  auto all = std::make_shared<std::vector<InstructionList>>();
  for (const auto &program : artifact.programs)
    for (Section section : kSections)
      all->emplace_back(*program, section);
  lists = std::move(all);
}
