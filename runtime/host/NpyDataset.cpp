//===- NpyDataset.cpp - --data=npy:DIR ------------------------------------===//
//
// SPDX-License-Identifier: Apache-2.0
//
// Files stay open and rows are read when a step needs them, so a data set may
// be larger than memory.
//
//===----------------------------------------------------------------------===//
#include "Datasets.h"
#include "pprt/Program.h"
#include "pprt/host/Elements.h"
#include "pprt/host/Npy.h"

#include <optional>

using namespace pprt::host;
using pprt::BatchLayout;
using pprt::ExitCode;
using pprt::Expected;
using pprt::Status;

namespace {
class NpyDataset : public Dataset {
public:
  using Dataset::Dataset;
  static OpenedDataset open(const std::string &directory,
                            std::vector<DataTensor> tensors,
                            const DataOptions &options);

  Status read(uint64_t step, size_t index, void *out) const override;
  std::string describe(uint64_t steps) const override;
  Expected<uint32_t> fingerprint() const override;
  uint64_t samples() const override {
    if (first.empty())
      return 0;
    if (!isByRow)
      return part->size() * batch;
    return part->isShuffled() ? part->size() : partSteps() * batch;
  }

private:
  /// Opens the file of a tensor and compares it with earlier ones.
  Status add(const std::string &directory, const DataTensor &tensor);
  /// Chooses the part of the rows that is read.
  Status choose(const DataOptions &options);
  /// Batches of the part, if they are not shuffled.
  uint64_t partSteps() const {
    return isByRow ? part->size() / batch : part->size();
  }
  /// Reads some rows of a tensor in one piece, from row `first` of the step.
  Status readRows(size_t index, uint64_t outer, uint64_t row, uint64_t count,
                  void *out) const;

  /// By tensor; nothing for an unused one.
  std::vector<std::optional<NpyFile>> files;
  /// The first file: its name, and its contents.
  std::string first;
  uint64_t firstRows = 0, batch = 0, stepsPerEpoch = 0;
  /// Whether every file has as many rows for each sample.
  bool isByRow = true;
  /// Of the rows or else of the steps; nothing if no file has any.
  std::optional<DataPart> part;
};
} // namespace

Expected<uint32_t> NpyDataset::fingerprint() const {
  uint32_t sum = 0;
  for (const std::optional<NpyFile> &file : files) {
    const Expected<uint32_t> its = file ? file->fingerprint() : 0;
    if (!its)
      return its.status();
    sum = sum * 31 + *its;
  }
  return part ? part->fingerprint(sum) : sum;
}

Status NpyDataset::add(const std::string &directory, const DataTensor &tensor) {
  Expected<NpyFile> file =
      NpyFile::open(directory + "/" + tensor.name + ".npy");
  if (!file)
    return file.status();
  const std::vector<uint64_t> found = file->shape();
  const bool isBatch = hasBatch(tensor),
             isConstant = !isBatch && found == tensor.shape;
  // Without a batch, a row of the file is a step.
  const size_t counting = isBatch ? size_t(tensor.batch) : 0;
  std::vector<uint64_t> wanted = tensor.shape;
  if (!isBatch)
    wanted.insert(wanted.begin(), 1);
  const uint64_t its = wanted[counting];
  std::vector<uint64_t> longer = wanted;
  if (longer.size() == found.size())
    longer[counting] = found[counting];
  const uint64_t held = isConstant ? 0 : longer[counting];
  if (!isConstant && (found != longer || held < its || its == 0))
    return Status(
        ExitCode::io,
        file->path() + ": expects shape " +
            printShape(isBatch ? wanted : tensor.shape) +
            (isBatch ? " or more rows" +
                           (counting > 0
                                ? " in dimension " + std::to_string(counting)
                                : std::string()) +
                           ", at least one batch,"
                     : ", or one more dimension in front, a step each,") +
            " for '" + tensor.name + "', got " + printShape(file->shape()));
  // Reading nothing checks whether the element types are compatible.
  if (Status status = file->read(0, 0, tensor.element, nullptr); !status.ok())
    return status;
  if (isConstant) {
    files.push_back(std::move(*file));
    return Status();
  }
  if (first.empty()) {
    first = file->path();
    firstRows = held;
    batch = its;
    stepsPerEpoch = held / its;
  }
  isByRow &= its == batch;
  const bool isAsLong =
      its == batch ? held == firstRows : held / its == stepsPerEpoch;
  if (!isAsLong && its == batch)
    return Status(ExitCode::io, file->path() + ": expects as many rows as " +
                                    first + ", " + std::to_string(firstRows) +
                                    ", got " + std::to_string(held));
  if (!isAsLong)
    return Status(ExitCode::io, file->path() + ": expects as many steps as " +
                                    first + " holds, which are " +
                                    std::to_string(stepsPerEpoch) + " (" +
                                    std::to_string(firstRows) + " rows, " +
                                    std::to_string(batch) + " a step), got " +
                                    std::to_string(held) + " rows, " +
                                    std::to_string(its) + " a step");
  files.push_back(std::move(*file));
  return Status();
}

Status NpyDataset::choose(const DataOptions &options) {
  if (first.empty())
    return {};
  part.emplace(isByRow ? firstRows : stepsPerEpoch, options);
  if (partSteps() > 0)
    return {};
  return Status(ExitCode::io,
                first + ": expects a batch, of " + std::to_string(batch) +
                    (batch == 1 ? " row, " : " rows, ") +
                    (options.readsHeldOut
                         ? "in the part that --hold-out keeps"
                         : "in the part that --hold-out leaves") +
                    ", got " + std::to_string(part->size()) + " of " +
                    std::to_string(isByRow ? firstRows : stepsPerEpoch) +
                    (isByRow ? " rows" : " steps"));
}

OpenedDataset NpyDataset::open(const std::string &directory,
                               std::vector<DataTensor> tensors,
                               const DataOptions &options) {
  auto dataset = std::make_unique<NpyDataset>(std::move(tensors));
  for (const DataTensor &tensor : dataset->tensors) {
    if (!tensor.isUsed) {
      dataset->files.emplace_back();
      continue;
    }
    if (Status status = dataset->add(directory, tensor); !status.ok())
      return status;
  }
  if (Status status = dataset->choose(options); !status.ok())
    return status;
  return std::unique_ptr<Dataset>(std::move(dataset));
}

OpenedDataset pprt::host::openNpy(const std::string &directory,
                                  std::vector<DataTensor> tensors,
                                  const DataOptions &options) {
  return NpyDataset::open(directory, std::move(tensors), options);
}

Status NpyDataset::readRows(size_t index, uint64_t outer, uint64_t row,
                            uint64_t count, void *out) const {
  const DataTensor &tensor = tensors[index];
  const NpyFile &file = *files[index];
  const uint64_t held = hasBatch(tensor) ? file.shape()[tensor.batch] : 1,
                 inner = layoutOf(index).inner;
  return file.read((outer * held + row) * inner, count * inner, tensor.element,
                   out);
}

Status NpyDataset::read(uint64_t step, size_t index, void *out) const {
  const DataTensor &tensor = tensors[index];
  const std::optional<NpyFile> &file = files[index];
  if (!file)
    return zero(index, out);
  const BatchLayout layout = layoutOf(index);
  const bool isConstant = file->shape() == tensor.shape && !hasBatch(tensor),
             picksRows = !isConstant && isByRow && part->isShuffled();
  // Else a step's rows lie together.
  uint64_t start = 0;
  if (!isConstant && !picksRows)
    start = isByRow ? part->begin() + step % partSteps() * batch
                    : part->itemAt(step) * layout.rows;
  const uint64_t width = layout.inner * pprt::elementSize(tensor.element);
  auto *place = static_cast<std::byte *>(out);
  const Status status = forEachKept(index, [&](uint64_t outer, uint64_t first,
                                               uint64_t count) {
    const uint64_t piece = picksRows ? 1 : count;
    for (uint64_t row = first; row < first + count; row += piece) {
      const uint64_t found =
          picksRows
              ? part->itemAt(static_cast<unsigned __int128>(step) * batch + row)
              : start + row;
      if (Status its = readRows(index, outer, found, piece, place); !its.ok())
        return its;
      place += piece * width;
    }
    return Status();
  });
  return status.ok() ? checkBound(file->path(), index, out) : status;
}

std::string NpyDataset::describe(uint64_t steps) const {
  if (first.empty())
    return "";
  std::string text = first + " holds " + std::to_string(firstRows) + " rows" +
                     (isByRow || part->isWhole()
                          ? ""
                          : ", " + std::to_string(stepsPerEpoch) + " steps") +
                     part->describe() + ": ";
  if (part->isShuffled())
    return text + describeEpochs(part->size(), isByRow ? "row" : "step", "",
                                 /*isShuffled=*/true, steps,
                                 isByRow ? batch : 1);
  const uint64_t count = partSteps();
  text += std::to_string(count) + (count == 1 ? " step" : " steps") + " of " +
          std::to_string(batch);
  if (const uint64_t rest =
          isByRow ? part->size() % batch : firstRows - stepsPerEpoch * batch)
    text += ", " + std::to_string(rest) + " left over";
  if (steps > count)
    text += "; an epoch ends every " + std::to_string(count) +
            (count == 1 ? " step, " : " steps, ") +
            std::to_string(steps / count) + " in all";
  return text;
}
