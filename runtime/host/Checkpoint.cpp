//===- Checkpoint.cpp - reads a checkpoint --------------------------------===//
//
// SPDX-License-Identifier: Apache-2.0
//
//===----------------------------------------------------------------------===//
#include "pprt/host/Checkpoint.h"
#include "Boxes.h"
#include "CheckpointFiles.h"
#include "Digest.h"
#include "pprt/Program.h"

#include <algorithm>
#include <filesystem>

using namespace pprt;
using namespace pprt::host;

static Status bad(const std::string &message) {
  return Status(ExitCode::badParameters, message);
}

Expected<Checkpoint> Checkpoint::open(const std::string &path) {
  std::string folder = path;
  std::error_code error;
  if (!std::filesystem::exists(path + "/" + kIndexFile, error)) {
    const std::vector<uint64_t> steps = stepsOf(path);
    if (steps.empty())
      return bad(path + ": expects a checkpoint, or a folder of them, got " +
                 (std::filesystem::exists(path, error) ? "no whole one in it"
                                                       : "no such folder"));
    folder = stepFolder(path, steps.back());
  }
  const std::string name = folder + "/" + kIndexFile;
  const Expected<std::string> text = readFile(name, kMostIndexBytes);
  if (!text)
    return text.status();
  Expected<CheckpointIndex> index = parseIndex(name, *text);
  if (!index)
    return index.status();
  Checkpoint result(folder, std::move(*index));
  // A file that lacks is told before the model is compiled.
  for (const auto &[tensor, its] : result.its.tensors)
    for (const ArgumentPart &part : its.parts)
      if (Status status = result.openFile(part.rank); !status.ok())
        return status;
  for (const auto &[tensor, its] : result.its.tensors)
    for (const ArgumentPart &part : its.parts)
      if (Status status =
              result.files.at(part.rank).expect(tensor, its.element, part.size);
          !status.ok())
        return status;
  return Expected<Checkpoint>(std::move(result));
}

Status Checkpoint::openFile(uint32_t rank) {
  if (files.count(rank))
    return {};
  const std::string path = folder + "/" + rankFile(rank);
  Expected<SafeTensors> file = SafeTensors::open(path);
  if (!file)
    return bad(file.status().message() + "; the checkpoint is not whole: go on "
                                         "from an earlier one");
  const auto id = file->metadata().find(kIdKey);
  if (id == file->metadata().end() || id->second != its.id)
    return bad(path + ": expects the file of checkpoint " + its.id + ", got " +
               (id == file->metadata().end() ? "that of none" : id->second));
  files.emplace(rank, std::move(*file));
  return {};
}

Expected<std::string> Checkpoint::metrics() const {
  return readFile(folder + "/" + kMetricsFile, uint64_t(1) << 40);
}

static std::string print(ppx::ElementType element,
                         const std::vector<uint64_t> &shape) {
  return ppx::EnumNameElementType(element) + printShape(shape);
}

Status Checkpoint::expect(const ppx::ArtifactT &artifact,
                          bool ofModelAlone) const {
  std::set<std::string> expected;
  for (const auto &argument : artifact.arguments) {
    if (argument->role == ppx::Role_input || argument->role == ppx::Role_label)
      continue;
    expected.insert(argument->name);
    if (ofModelAlone && !argument->is_models)
      continue;
    const auto found = its.tensors.find(argument->name);
    const std::string wanted = print(argument->element, argument->shape);
    if (found == its.tensors.end() && ofModelAlone &&
        argument->role == ppx::Role_state)
      continue; // keeps its initial value, as with --parameters
    if (found == its.tensors.end())
      return bad(folder + ": expects " + wanted + " '" + argument->name +
                 "', as the program has, got none" +
                 (argument->is_models
                      ? "; it is of another model"
                      : "; it is of another optimizer or precision: "
                        "--resume-parameters-only takes the model alone"));
    if (found->second.shape != argument->shape ||
        found->second.element != argument->element)
      return bad(folder + ": expects " + wanted + " for '" + argument->name +
                 "', as the program has, got " +
                 print(found->second.element, found->second.shape) +
                 "; it is of another model");
  }
  for (const auto &[name, tensor] : its.tensors)
    if (!expected.count(name) && (tensor.isModels || !ofModelAlone))
      return bad(folder + ": expects what the program has, got '" + name +
                 "' besides; it is of another " +
                 (tensor.isModels
                      ? "model"
                      : "optimizer or precision: --resume-parameters-only "
                        "takes the model alone"));
  return {};
}

/// Compares the digest of a tensor with the one that was written.
static Status compare(const SafeTensors &file, const std::string &name,
                      const std::string &digest) {
  const auto written = file.metadata().find(kDigestKey + name);
  if (written != file.metadata().end() && written->second == digest)
    return {};
  return bad(file.path() + ": expects '" + name +
             "' as it was written, got another digest; the file is damaged: go "
             "on from an earlier checkpoint");
}

namespace {

/// The elements of a run of the tensor that lie in a part.
struct Overlap {
  const std::vector<ElementRun> &wanted;
  size_t next = 0;
  std::vector<ElementRun> runs; ///< of the part

  /// Adds what is in [first, first + count), which begins at `place` in the
  /// part. Calls are in ascending order.
  void add(uint64_t first, uint64_t count, uint64_t place, uint64_t width) {
    while (next < wanted.size() &&
           wanted[next].first + wanted[next].count <= first)
      ++next;
    for (size_t i = next; i < wanted.size() && wanted[i].first < first + count;
         ++i) {
      const uint64_t begin = std::max(wanted[i].first, first),
                     end = std::min(wanted[i].first + wanted[i].count,
                                    first + count);
      runs.push_back({place + begin - first, end - begin,
                      wanted[i].values + (begin - wanted[i].first) * width});
    }
  }
};

} // namespace

/// Parts tile the tensor, so that all is found.
Status Checkpoint::read(const std::string &name,
                        const std::vector<ElementRun> &runs) {
  if (runs.empty())
    return {};
  const CheckpointTensor &tensor = its.tensors.at(name);
  const uint64_t width = elementSize(tensor.element);
  const Box wanted = boxOf(tensor.shape, runs);
  for (const ArgumentPart &part : tensor.parts) {
    const Box box = {part.first, part.size};
    if (!overlaps(box, wanted))
      continue;
    Overlap overlap = {runs, 0, {}};
    uint64_t place = 0;
    for (const ElementRun &run : runsOf(tensor.shape, box, 0, nullptr)) {
      overlap.add(run.first, run.count, place, width);
      place += run.count;
    }
    const SafeTensors &file = files.at(part.rank);
    const std::vector<ElementRun> &found = overlap.runs;
    const bool isNew = checked.emplace(&file, name).second,
               isWhole = found.size() == 1 && found[0].count == place;
    // What is taken whole is not read twice.
    if (isNew && !isWhole) {
      const Expected<std::string> digest = file.digest(name);
      const Status status =
          digest ? compare(file, name, *digest) : digest.status();
      if (!status.ok())
        return status;
    }
    if (Status status = file.read(name, tensor.element, part.size, found);
        !status.ok())
      return status;
    if (isNew && isWhole)
      if (Status status =
              compare(file, name, digestOf(found[0].values, place * width));
          !status.ok())
        return status;
  }
  return {};
}

Status Checkpoint::load(Session &session, bool ofModelAlone) {
  for (uint32_t i = 0; i < session.artifact().arguments.size(); ++i) {
    const ppx::ArgumentT &argument = *session.artifact().arguments[i];
    if (!its.tensors.count(argument.name) ||
        (ofModelAlone && !argument.is_models))
      continue;
    if (Status status = session.readArgument(
            i, [&](const auto &runs) { return read(argument.name, runs); });
        !status.ok())
      return status;
  }
  return {};
}
