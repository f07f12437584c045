//===- HostBuffers.cpp - whole tensors on the host ------------------------===//
//
// SPDX-License-Identifier: Apache-2.0
//
//===----------------------------------------------------------------------===//
#include "HostBuffers.h"

#include <algorithm>
#include <cstring>
#include <set>

using namespace pprt;

HostBuffers::HostBuffers(const ppx::ArtifactT &artifact, const Mesh &mesh)
    : artifact(artifact), mesh(mesh), ranks(artifact, this->mesh),
      inputs(artifact.arguments.size()), inputRows(artifact.arguments.size()) {
  for (const std::unique_ptr<ppx::ArgumentT> &argument : artifact.arguments)
    arguments.emplace_back(*argument, artifact);
  for (const std::unique_ptr<ppx::OutputT> &output : artifact.outputs) {
    outputs.emplace_back(*output, artifact);
    outputValues.emplace_back(outputs.back().globalBytes());
    std::vector<bool> &first = firstHolder.emplace_back(mesh.worldSize());
    std::set<ShardedTensor::Index> covered;
    for (uint32_t rank = 0; rank < mesh.worldSize(); ++rank)
      if (std::find(output->stages.begin(), output->stages.end(),
                    mesh.stage(rank)) != output->stages.end())
        first[rank] =
            covered.insert(outputs.back().origin(mesh, rank, 0)).second;
  }
  for (Section section : kSections) {
    std::set<uint32_t> its;
    for (uint32_t program = 0; program < artifact.programs.size(); ++program)
      for (const Instruction instruction :
           ranks.instructionsOf(program, section))
        if (instruction->opcode == ppx::Opcode_load)
          its.insert(instruction->binding);
    loaded[size_t(section)].assign(its.begin(), its.end());
  }
}

/// Failure for an input without a batch.
static Status lacksBatch(const ppx::ArgumentT &input) {
  return Status(ExitCode::usage,
                "input '" + input.name + "' expects a batch, got none");
}

Status HostBuffers::expectInputs(Section section) const {
  for (uint32_t input : loaded[size_t(section)])
    if (!inputs[input].isGiven())
      return lacksBatch(*artifact.arguments[input]);
  return {};
}

Status HostBuffers::load(uint32_t rank, const Instruction &instruction,
                         std::byte *slot) {
  const ShardedTensor &tensor = arguments[instruction->binding];
  const HostInput &input = inputs[instruction->binding];
  if (!input.isGiven())
    return lacksBatch(*artifact.arguments[instruction->binding]);
  tensor.scatter(tensor.origin(mesh, rank, instruction.microBatch()),
                 artifact.arguments[instruction->binding]->batch,
                 inputRows[instruction->binding], input.data(), slot);
  return {};
}

void HostBuffers::emit(uint32_t rank, const Instruction &instruction,
                       const std::byte *slot) {
  if (!firstHolder[instruction->binding][rank])
    return;
  const ShardedTensor &tensor = outputs[instruction->binding];
  tensor.gather(tensor.origin(mesh, rank, instruction.microBatch()), slot,
                outputValues[instruction->binding].data());
}

bool HostBuffers::emits(Section section) const {
  for (uint32_t program = 0; program < artifact.programs.size(); ++program)
    for (const Instruction instruction : ranks.instructionsOf(program, section))
      if (instruction->opcode == ppx::Opcode_emit)
        return true;
  return false;
}

template <typename Function>
void HostBuffers::forEachEmitted(Section section, RankRange range,
                                 Function &&f) const {
  for (uint32_t rank = range.begin; rank < range.end; ++rank)
    for (const Instruction instruction : ranks.instructions(rank, section)) {
      const uint32_t output = instruction->binding;
      if (instruction->opcode == ppx::Opcode_emit && firstHolder[output][rank])
        f(output, outputs[output].origin(mesh, rank, instruction.microBatch()));
    }
}

std::vector<std::byte> HostBuffers::packOutputs(Section section,
                                                RankRange range) const {
  std::vector<std::byte> bytes;
  forEachEmitted(section, range, [&](uint32_t output, const auto &origin) {
    const size_t at = bytes.size();
    bytes.resize(at + outputs[output].shardBytes());
    outputs[output].scatter(origin, outputValues[output].data(),
                            bytes.data() + at);
  });
  return bytes;
}

void HostBuffers::unpackOutputs(Section section, RankRange range,
                                const std::vector<std::byte> &bytes) {
  const std::byte *from = bytes.data();
  forEachEmitted(section, range, [&](uint32_t output, const auto &origin) {
    outputs[output].gather(origin, from, outputValues[output].data());
    from += outputs[output].shardBytes();
  });
}

std::vector<std::byte> HostBuffers::packScalars() const {
  std::vector<std::byte> bytes;
  for (size_t output = 0; output < outputs.size(); ++output)
    if (outputs[output].elementCount() == 1)
      bytes.insert(bytes.end(), outputValues[output].begin(),
                   outputValues[output].end());
  return bytes;
}

void HostBuffers::unpackScalars(const std::vector<std::byte> &bytes) {
  auto from = bytes.begin();
  for (size_t output = 0; output < outputs.size(); ++output)
    if (outputs[output].elementCount() == 1) {
      std::vector<std::byte> &value = outputValues[output];
      std::copy(from, from + ptrdiff_t(value.size()), value.begin());
      from += ptrdiff_t(value.size());
    }
}

std::vector<Rows> pprt::rowsLoaded(const ppx::ArtifactT &artifact,
                                   const Mesh &mesh, RankRange range) {
  std::vector<Rows> rows(artifact.arguments.size());
  std::vector<ShardedTensor> tensors;
  for (const std::unique_ptr<ppx::ArgumentT> &argument : artifact.arguments)
    tensors.emplace_back(*argument, artifact);
  const Ranks ranks(artifact, mesh);
  const auto add = [&](uint32_t rank, const Instruction &instruction) {
    const uint32_t argument = instruction->binding;
    const ppx::ArgumentT &its = *artifact.arguments[argument];
    const uint64_t all = BatchLayout(its.shape, its.batch).rows;
    if (its.shape.empty() || its.batch < 0)
      return rows[argument].add({0, all});
    const uint64_t begin = tensors[argument].origin(
                       mesh, rank, instruction.microBatch())[its.batch],
                   end = begin + tensors[argument].sizeOf(its.batch);
    // Behind the last row there is padding.
    rows[argument].add({std::min(begin, all), std::min(end, all)});
  };
  for (uint32_t rank = range.begin; rank < range.end; ++rank)
    for (Section section : kSections)
      for (const Instruction instruction : ranks.instructions(rank, section))
        if (instruction->opcode == ppx::Opcode_load)
          add(rank, instruction);
  return rows;
}
