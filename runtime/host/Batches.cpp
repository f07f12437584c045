//===- Batches.cpp - a data set, bound to a session's inputs --------------===//
//
// SPDX-License-Identifier: Apache-2.0
//
//===----------------------------------------------------------------------===//
#include "pprt/host/Batches.h"
#include "../engine/HostBuffers.h"
#include "pprt/Program.h"
#include "pprt/host/Elements.h"

using namespace pprt;
using namespace pprt::host;

static std::vector<uint32_t> inputsOf(const ppx::ArtifactT &artifact) {
  std::vector<uint32_t> inputs;
  for (uint32_t i = 0; i < artifact.arguments.size(); ++i) {
    const ppx::Role role = artifact.arguments[i]->role;
    if (role == ppx::Role_input || role == ppx::Role_label)
      inputs.push_back(i);
  }
  return inputs;
}

/// Returns, for every argument, whether any rank loads it.
static std::vector<bool> findLoaded(const ppx::ArtifactT &artifact) {
  std::vector<bool> loaded(artifact.arguments.size());
  for (const auto &program : artifact.programs)
    for (Section section : kSections)
      for (const pprt::Instruction instruction :
           InstructionList(*program, section))
        if (instruction->opcode == ppx::Opcode_load)
          loaded[instruction->binding] = true;
  return loaded;
}

uint64_t Batches::stepsOfPass() const {
  return samples() == 0 ? 0 : std::max<uint64_t>(1, samples() / batchRows);
}

namespace {

/// The same batch at every step.
class OneBatch final : public Dataset {
public:
  OneBatch(std::vector<DataTensor> tensors, Batch batch)
      : Dataset(std::move(tensors)), batch(std::move(batch)) {}

  Status read(uint64_t, size_t tensor, void *out) const override {
    std::copy(batch[tensor].begin(), batch[tensor].end(),
              static_cast<std::byte *>(out));
    return {};
  }

private:
  const Batch batch;
};

} // namespace

std::vector<DataTensor> Batches::bind(const ppx::ArtifactT &artifact) {
  std::vector<DataTensor> tensors;
  const std::vector<bool> loaded = findLoaded(artifact);
  for (uint32_t i : inputsOf(artifact)) {
    const ppx::ArgumentT &argument = *artifact.arguments[i];
    tensors.push_back({argument.name, argument.role, argument.element,
                       argument.shape, argument.bound, loaded[i],
                       argument.batch});
    inputNames.push_back(argument.name);
    const BatchLayout layout(argument.shape, argument.batch);
    arguments.push_back(i);
    kept.emplace_back(0, layout.rows);
    batchRows = std::max(batchRows, layout.rows);
    // The artifact's structure was checked: the product fits.
    rowBytes.push_back(layout.outer * layout.inner *
                       elementSize(argument.element));
  }
  return tensors;
}

Expected<Batches> Batches::open(const std::string &data,
                                const ppx::ArtifactT &artifact,
                                const DataOptions &options) {
  Batches batches;
  Expected<std::unique_ptr<Dataset>> dataset =
      openDataset(data, batches.bind(artifact), options);
  if (!dataset)
    return dataset.status();
  batches.dataset = std::move(*dataset);
  return batches;
}

Batches Batches::repeat(const ppx::ArtifactT &artifact, Batch batch) {
  Batches batches;
  batches.dataset =
      std::make_unique<OneBatch>(batches.bind(artifact), std::move(batch));
  return batches;
}

void Batches::keepFor(const ppx::ArtifactT &artifact, const Mesh &mesh,
                      RankRange ranks) {
  const std::vector<Rows> loaded = rowsLoaded(artifact, mesh, ranks);
  for (size_t tensor = 0; tensor < kept.size(); ++tensor) {
    kept[tensor] = loaded[arguments[tensor]];
    dataset->keepRows(tensor, kept[tensor]);
  }
}

Status Batches::read(uint64_t step, Batch &batch) const {
  batch.resize(kept.size());
  for (size_t tensor = 0; tensor < kept.size(); ++tensor) {
    batch[tensor].resize(kept[tensor].count() * rowBytes[tensor]);
    if (Status status = dataset->read(step, tensor, batch[tensor].data());
        !status.ok())
      return status;
  }
  return {};
}

Status pprt::host::setBatch(Session &session, const Batch &batch,
                            const std::vector<Rows> &rows) {
  const std::vector<uint32_t> inputs = inputsOf(session.artifact());
  for (size_t i = 0; i < inputs.size(); ++i)
    if (Status status =
            rows.empty()
                ? session.setInput(inputs[i], batch[i].data(), batch[i].size())
                : session.setInputRows(inputs[i], rows[i], batch[i].data(),
                                       batch[i].size());
        !status.ok())
      return status;
  return {};
}
