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
#include "pprt/host/Background.h"
#include "pprt/host/Elements.h"

#include <algorithm>
#include <cstring>
#include <filesystem>

using namespace pprt;
using namespace pprt::host;

static Status bad(const std::string &message) {
  return Status(ExitCode::badParameters, message);
}

Expected<Checkpoint> Checkpoint::open(const std::string &path) {
  std::string folder = path;
  std::error_code error;
  if (!isCheckpoint(path)) {
    const Expected<std::vector<uint64_t>> steps = stepsOf(path);
    if (!steps)
      return steps.status();
    if (steps->empty())
      return bad(path + ": expects a checkpoint, or a folder of them, got " +
                 (std::filesystem::exists(path, error) ? "no whole one in it"
                                                       : "no such folder"));
    folder = stepFolder(path, steps->back());
  }
  const std::string name = folder + "/" + kIndexFile;
  const Expected<std::string> text = readFile(name, kMostIndexBytes);
  if (!text)
    return text.status();
  Expected<CheckpointIndex> index = parseIndex(name, *text);
  if (!index)
    return index.status();
  return Checkpoint(folder, std::move(*index));
}

Expected<Checkpoint> Checkpoint::openWhole(const std::string &path,
                                           std::string &warning) {
  const auto openAt = [](const std::string &place) {
    Expected<Checkpoint> found = open(place);
    if (found)
      if (Status status = found->checkFiles(); !status.ok())
        return Expected<Checkpoint>(status);
    return found;
  };
  warning.clear();
  Expected<Checkpoint> newest = openAt(path);
  if (newest || newest.status().code() != ExitCode::badParameters)
    return newest;
  const Expected<std::vector<uint64_t>> steps = stepsOf(path);
  for (size_t left = steps ? steps->size() : 0; left > 1; --left)
    if (Expected<Checkpoint> earlier =
            openAt(stepFolder(path, (*steps)[left - 2]))) {
      warning = newest.status().message() + "; goes on from " + earlier->path();
      return earlier;
    }
  return newest;
}

Expected<SafeTensors> Checkpoint::openFile(uint32_t rank) const {
  const std::string path = folder + "/" + rankFile(rank);
  Expected<SafeTensors> file = SafeTensors::open(path);
  std::error_code error;
  const bool lacks = !file && !std::filesystem::exists(path, error) && !error;
  if (!file && !lacks && file.status().code() != ExitCode::badParameters)
    return file; // the system's fault
  if (!file)
    return bad(file.status().message() + "; the checkpoint is not whole: go on "
                                         "from an earlier one");
  const auto id = file->metadata().find(kIdKey);
  if (id == file->metadata().end() || id->second != its.id)
    return bad(path + ": expects the file of checkpoint " + its.id + ", got " +
               (id == file->metadata().end() ? "that of none" : id->second));
  return file;
}

Expected<const SafeTensors *> Checkpoint::fileOf(uint32_t rank) {
  constexpr size_t mostOpen = 64;
  auto found = files.find(rank);
  if (found == files.end()) {
    Expected<SafeTensors> file = openFile(rank);
    if (!file)
      return file.status();
    if (files.size() == mostOpen)
      files.clear();
    found = files.emplace(rank, std::move(*file)).first;
  }
  return &found->second;
}

Status Checkpoint::checkFiles() const {
  std::map<uint32_t, std::vector<std::string>> tensors; // by rank
  for (const auto &[name, tensor] : its.tensors)
    for (const ArgumentPart &part : tensor.parts)
      tensors[part.rank].push_back(name);
  for (const auto &[rank, names] : tensors) {
    const Expected<SafeTensors> file = openFile(rank);
    if (!file)
      return file.status();
    for (const std::string &name : names)
      for (const ArgumentPart &part : its.tensors.at(name).parts)
        if (part.rank == rank)
          if (Status status =
                  file->expect(name, its.tensors.at(name).element, part.size);
              !status.ok())
            return status;
  }
  return metrics().status();
}

Expected<std::string> Checkpoint::metrics() const {
  const std::string path = folder + "/" + kMetricsFile;
  Expected<std::string> lines = readFile(path, uint64_t(1) << 40);
  std::error_code error;
  if (!lines && std::filesystem::exists(path, error))
    return lines;
  if (!lines || digestOf(lines->data(), lines->size()) != its.metricsDigest)
    return bad(path + ": expects the lines that were written, got " +
               (lines ? "others" : "no file") +
               "; the checkpoint is damaged: go on from an earlier one");
  return lines;
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

/// Divides runs at multiples of `most` elements.
static std::vector<ElementRun> divide(const std::vector<ElementRun> &runs,
                                      uint64_t most, uint64_t width) {
  std::vector<ElementRun> result;
  for (ElementRun run : runs)
    while (run.count > 0) {
      const uint64_t count = std::min(run.count, most - run.first % most);
      result.push_back({run.first, count, run.values});
      run = {run.first + count, run.count - count, run.values + count * width};
    }
  return result;
}

/// Reads a piece of a part, compares it with its digest, and copies the runs
/// that lie in it.
Status Checkpoint::readPiece(const SafeTensors &file, const std::string &name,
                             uint64_t piece,
                             const std::vector<ElementRun> &runs,
                             uint64_t width, size_t thread) {
  const uint64_t begin = piece * kPieceBytes,
                 count = std::min(kPieceBytes, file.find(name)->bytes - begin);
  std::vector<std::byte> &buffer = buffers[thread];
  buffer.resize(kPieceBytes);
  if (Status status = file.readBytes(name, begin, count, buffer.data());
      !status.ok())
    return status;
  const auto written = file.metadata().find(kDigestKey + name);
  const std::string digests =
      written == file.metadata().end() ? "" : written->second;
  if (piece * kDigits + kDigits > digests.size() ||
      digests.compare(piece * kDigits, kDigits,
                      digestOf(buffer.data(), count)) != 0)
    return bad(file.path() + ": expects '" + name +
               "' as it was written, got another digest; the file is "
               "damaged: go on from an earlier checkpoint");
  for (const ElementRun &run : runs)
    std::memcpy(run.values, buffer.data() + run.first * width - begin,
                run.count * width);
  return {};
}

Status Checkpoint::readPart(const SafeTensors &file, const ArgumentPart &part,
                            const std::string &name, ppx::ElementType element,
                            const std::vector<ElementRun> &runs) {
  const uint64_t width = elementSize(element), most = kPieceBytes / width;
  if (Status status = file.expect(name, element, part.size); !status.ok())
    return status;
  if (file.find(name)->bytes != *denseBytes(part.size, width))
    return bad(file.path() + ": expects '" + name + "' of type " +
               ppx::EnumNameElementType(element) + ", got another");
  const std::vector<ElementRun> all = divide(runs, most, width);
  std::vector<ElementRun> known; // were compared before
  std::vector<std::vector<ElementRun>> pieces;
  for (auto run = all.begin(); run != all.end();) {
    const uint64_t piece = run->first / most;
    const auto end = std::find_if(run, all.end(), [&](const ElementRun &its) {
      return its.first / most != piece;
    });
    if (checked.emplace(part.rank, name, piece).second)
      pieces.emplace_back(run, end);
    else
      known.insert(known.end(), run, end);
    run = end;
  }
  buffers.resize(kAtOnce);
  if (Status status = forEachAtOnce(
          pieces.size(), kAtOnce,
          [&](size_t i, size_t thread) {
            return readPiece(file, name, pieces[i].front().first / most,
                             pieces[i], width, thread);
          });
      !status.ok())
    return status;
  return file.read(name, element, part.size, known);
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
    const Expected<const SafeTensors *> file = fileOf(part.rank);
    if (!file)
      return file.status();
    if (Status status =
            readPart(**file, part, name, tensor.element, overlap.runs);
        !status.ok())
      return status;
  }
  return {};
}

Status Checkpoint::load(Session &session, bool ofModelAlone) {
  Status status;
  for (uint32_t i = 0; i < session.artifact().arguments.size(); ++i) {
    const ppx::ArgumentT &argument = *session.artifact().arguments[i];
    if (!its.tensors.count(argument.name) ||
        (ofModelAlone && !argument.is_models))
      continue;
    status = session.readArgument(
        i, [&](const auto &runs) { return read(argument.name, runs); });
    if (!status.ok())
      break;
  }
  // An open file keeps its place on the disk when it is removed.
  files.clear();
  checked.clear();
  buffers = {};
  return status;
}
