//===- LoadedRows.cpp - which part of a batch ranks load ------------------===//
//
// SPDX-License-Identifier: Apache-2.0
//
//===----------------------------------------------------------------------===//
#include "LoadedRows.h"
#include "Shards.h"

#include <algorithm>

using namespace pprt;

std::vector<Rows> pprt::rowsLoaded(const ppx::ArtifactT &artifact,
                                   const Mesh &mesh, RankRange range) {
  std::vector<Rows> rows(artifact.arguments.size());
  std::vector<ShardedTensor> tensors;
  for (const std::unique_ptr<ppx::ArgumentT> &argument : artifact.arguments)
    tensors.emplace_back(*argument, artifact);
  const Ranks ranks(artifact, mesh);
  const auto add = [&](uint32_t rank, const ppx::InstructionT &instruction) {
    const uint32_t argument = instruction.binding;
    const ppx::ArgumentT &its = *artifact.arguments[argument];
    const uint64_t all = BatchLayout(its.shape, its.batch).rows;
    if (its.shape.empty() || its.batch < 0)
      return rows[argument].add({0, all});
    const uint64_t begin = tensors[argument].origin(
                       mesh, rank, instruction.micro_batch)[its.batch],
                   end = begin + tensors[argument].sizeOf(its.batch);
    // Behind the last row there is padding.
    rows[argument].add({std::min(begin, all), std::min(end, all)});
  };
  for (uint32_t rank = range.begin; rank < range.end; ++rank)
    for (Section section : kSections)
      for (const auto &instruction :
           instructionsOf(ranks.program(rank), section))
        if (instruction->opcode == ppx::Opcode_load)
          add(rank, *instruction);
  return rows;
}
