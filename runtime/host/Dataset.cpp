//===- Dataset.cpp - Where batches come from ------------------------------===//
//
// SPDX-License-Identifier: Apache-2.0
//
// One class per kind. Files stay open and rows are read when a step needs them,
// so a data set may be larger than memory.
//
//===----------------------------------------------------------------------===//
#include "pprt/host/Dataset.h"

#include "../engine/Bounds.h"
#include "pprt/ElementFormats.h"
#include "pprt/Program.h"
#include "pprt/host/Elements.h"
#include "pprt/host/Npy.h"

#include <algorithm>
#include <cstring>
#include <optional>

using namespace pprt::host;
using pprt::BatchLayout;
using pprt::denseBytes;
using pprt::ExitCode;
using pprt::Expected;
using pprt::InputFile;
using pprt::isInteger;
using pprt::RowRange;
using pprt::Status;
using namespace pprt::ppx;

static void setInteger(ElementType element, void *data, uint64_t index,
                       int64_t value) {
  pprt::withFormat(element, [&](auto format) {
    using Stored = typename decltype(format)::Stored;
    static_cast<Stored *>(data)[index] = static_cast<Stored>(value);
  });
}

/// A tensor without dimensions has no batch.
static bool hasBatch(const DataTensor &tensor) {
  return tensor.batch >= 0 && !tensor.shape.empty();
}

Dataset::Dataset(std::vector<DataTensor> given) : tensors(std::move(given)) {
  for (size_t i = 0; i < tensors.size(); ++i)
    rows.emplace_back(0, layoutOf(i).rows);
}

Status Dataset::checkBound(const std::string &source, size_t index,
                           const void *data) const {
  const DataTensor &tensor = tensors[index];
  const std::optional<pprt::IntegerBeyond> beyond =
      pprt::findBeyond(tensor.element, tensor.bound, data, keptElements(index));
  if (!beyond)
    return Status();
  return Status(ExitCode::io, source + ": expects integers from 0 to " +
                                  std::to_string(tensor.bound - 1) + " for '" +
                                  tensor.name + "', got " +
                                  std::to_string(beyond->value));
}

Status Dataset::zero(size_t tensor, void *out) const {
  std::memset(out, 0,
              keptElements(tensor) *
                  pprt::elementSize(tensors[tensor].element));
  return Status();
}

//===----------------------------------------------------------------------===//
// text:FILE
//===----------------------------------------------------------------------===//

namespace {
class TextDataset : public Dataset {
public:
  TextDataset(InputFile file, std::vector<DataTensor> tensors, uint64_t tokens)
      : Dataset(std::move(tensors)), file(std::move(file)), tokens(tokens) {}

  static Expected<std::unique_ptr<Dataset>>
  open(const std::string &path, std::vector<DataTensor> tensors);

  Status read(uint64_t step, size_t index, void *out) const override;
  Expected<uint32_t> fingerprint() const override { return file.fingerprint(); }
  uint64_t stepsOfPass() const override {
    return std::max<uint64_t>(1, (file.size() - 1) / tokens);
  }

private:
  InputFile file;
  uint64_t tokens; ///< of a batch
};
} // namespace

Expected<std::unique_ptr<Dataset>>
TextDataset::open(const std::string &path, std::vector<DataTensor> tensors) {
  std::vector<const DataTensor *> used;
  for (const DataTensor &tensor : tensors)
    if (tensor.isUsed)
      used.push_back(&tensor);
  bool isPair = used.size() == 2 && used[0]->role != used[1]->role &&
                used[0]->shape == used[1]->shape && used[0]->shape.size() == 2;
  for (const DataTensor *tensor : used)
    isPair &= isInteger(tensor->element) && tensor->batch == used[0]->batch &&
              hasBatch(*tensor);
  if (!isPair) {
    std::string found;
    for (const DataTensor *tensor : used)
      found += (found.empty() ? "" : ", ") +
               std::string(EnumNameRole(tensor->role)) + " '" + tensor->name +
               "' " + EnumNameElementType(tensor->element) +
               printShape(tensor->shape);
    return Status(ExitCode::usage,
                  "--data=text:" + path +
                      " expects a model with one input and one label, both "
                      "integers of shape [batch, sequence] or, as their "
                      "pp.dims say, [sequence, batch], got " +
                      found);
  }
  Expected<InputFile> file = InputFile::open(path);
  if (!file)
    return file.status();
  uint64_t sequence = used[0]->shape[1 - used[0]->batch];
  if (file->size() < 2 || file->size() - 2 < sequence)
    return Status(ExitCode::io, path + ": expects a text of at least " +
                                    std::to_string(sequence) +
                                    " + 2 bytes, got " +
                                    std::to_string(file->size()));
  return std::unique_ptr<Dataset>(new TextDataset(
      std::move(*file), tensors, used[0]->shape[0] * used[0]->shape[1]));
}

Status TextDataset::read(uint64_t step, size_t index, void *out) const {
  const DataTensor &tensor = tensors[index];
  if (!tensor.isUsed)
    return zero(index, out);
  const bool isTimeMajor = tensor.batch == 1;
  const uint64_t batch = tensor.shape[isTimeMajor],
                 sequence = tensor.shape[!isTimeMajor];
  uint64_t starts = file.size() - sequence - 1;
  std::vector<uint8_t> text(sequence);
  const uint64_t kept = rows[index].count();
  uint64_t written = 0; // rows
  const auto readRow = [&](uint64_t row) -> Status {
    // 128 bits, so that no number of steps wraps around.
    unsigned __int128 position = step;
    position = (position * batch + row) * sequence;
    uint64_t offset = static_cast<uint64_t>(position % starts) +
                      (tensor.role == Role_label ? 1 : 0);
    if (Status status = file.read(offset, text.data(), sequence); !status.ok())
      return status;
    for (uint64_t i = 0; i < sequence; ++i)
      setInteger(tensor.element, out,
                 isTimeMajor ? i * kept + written : written * sequence + i,
                 text[i]);
    ++written;
    return {};
  };
  for (const RowRange &range : rows[index].ranges())
    for (uint64_t row = range.begin; row < range.end; ++row)
      if (Status status = readRow(row); !status.ok())
        return status;
  return checkBound(file.path(), index, out);
}

//===----------------------------------------------------------------------===//
// npy:DIR
//===----------------------------------------------------------------------===//

namespace {
class NpyDataset : public Dataset {
public:
  using Dataset::Dataset;
  static Expected<std::unique_ptr<Dataset>>
  open(const std::string &directory, std::vector<DataTensor> tensors);

  Status read(uint64_t step, size_t index, void *out) const override;
  std::string describe(uint64_t steps) const override;
  Expected<uint32_t> fingerprint() const override;
  uint64_t stepsOfPass() const override { return stepsPerEpoch; }

private:
  /// Opens the file of a tensor and compares it with earlier ones.
  Status add(const std::string &directory, const DataTensor &tensor);

  /// By tensor; nothing for an unused one.
  std::vector<std::optional<NpyFile>> files;
  /// The first file: its name, and its contents.
  std::string first;
  uint64_t firstRows = 0, batch = 0, stepsPerEpoch = 0;
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
  return sum;
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

Expected<std::unique_ptr<Dataset>>
NpyDataset::open(const std::string &directory,
                 std::vector<DataTensor> tensors) {
  auto dataset = std::make_unique<NpyDataset>(std::move(tensors));
  for (const DataTensor &tensor : dataset->tensors) {
    if (!tensor.isUsed) {
      dataset->files.emplace_back();
      continue;
    }
    if (Status status = dataset->add(directory, tensor); !status.ok())
      return status;
  }
  return std::unique_ptr<Dataset>(std::move(dataset));
}

Status NpyDataset::read(uint64_t step, size_t index, void *out) const {
  const DataTensor &tensor = tensors[index];
  const std::optional<NpyFile> &file = files[index];
  if (!file)
    return zero(index, out);
  const BatchLayout layout = layoutOf(index);
  const uint64_t width = pprt::elementSize(tensor.element);
  const bool isConstant = file->shape() == tensor.shape && !hasBatch(tensor);
  const uint64_t row = isConstant ? 0 : step % stepsPerEpoch * layout.rows,
                 held = hasBatch(tensor) ? file->shape()[tensor.batch] : 1;
  auto *place = static_cast<std::byte *>(out);
  const Status status =
      forEachKept(index, [&](uint64_t outer, uint64_t first, uint64_t count) {
        const uint64_t elements = count * layout.inner;
        const Status its =
            file->read((outer * held + row + first) * layout.inner, elements,
                       tensor.element, place);
        place += elements * width;
        return its;
      });
  return status.ok() ? checkBound(file->path(), index, out) : status;
}

std::string NpyDataset::describe(uint64_t steps) const {
  if (first.empty())
    return "";
  std::string text = first + " holds " + std::to_string(firstRows) +
                     " rows: " + std::to_string(stepsPerEpoch) +
                     (stepsPerEpoch == 1 ? " step" : " steps") + " of " +
                     std::to_string(batch);
  if (const uint64_t rest = firstRows - stepsPerEpoch * batch)
    text += ", " + std::to_string(rest) + " left over";
  if (steps > stepsPerEpoch)
    text += "; an epoch ends every " + std::to_string(stepsPerEpoch) +
            (stepsPerEpoch == 1 ? " step, " : " steps, ") +
            std::to_string(steps / stepsPerEpoch) + " in all";
  return text;
}

//===----------------------------------------------------------------------===//
// random
//===----------------------------------------------------------------------===//

namespace {
class RandomDataset : public Dataset {
public:
  RandomDataset(std::vector<DataTensor> tensors, uint64_t seed)
      : Dataset(std::move(tensors)), seed(seed) {}

  static Expected<std::unique_ptr<Dataset>>
  open(std::vector<DataTensor> tensors, uint64_t seed);

  Status read(uint64_t step, size_t index, void *out) const override;

private:
  uint64_t seed;
};
} // namespace

/// The output function of SplitMix64 (Steele et al., 2014): a bijection in
/// which every input bit changes about half of the output bits.
static uint64_t mix(uint64_t value) {
  value += 0x9e3779b97f4a7c15;
  value = (value ^ value >> 30) * 0xbf58476d1ce4e5b9;
  value = (value ^ value >> 27) * 0x94d049bb133111eb;
  return value ^ value >> 31;
}

Expected<std::unique_ptr<Dataset>>
RandomDataset::open(std::vector<DataTensor> tensors, uint64_t seed) {
  for (const DataTensor &tensor : tensors)
    if (tensor.isUsed && isInteger(tensor.element) && tensor.bound == 0)
      return Status(ExitCode::usage,
                    "--data=random expects a known bound (pp.bound) for the "
                    "integers of '" +
                        tensor.name + "', got none; give it files");
  return std::unique_ptr<Dataset>(new RandomDataset(std::move(tensors), seed));
}

Status RandomDataset::read(uint64_t step, size_t index, void *out) const {
  const DataTensor &tensor = tensors[index];
  const uint64_t stream = mix(mix(mix(seed) + step) + index);
  const auto set = [&](uint64_t element, uint64_t i) {
    const uint64_t bits = mix(stream + element);
    if (isInteger(tensor.element)) {
      // The high half of a product is uniform below the bound.
      auto product = static_cast<unsigned __int128>(bits) * tensor.bound;
      setInteger(tensor.element, out, i, static_cast<int64_t>(product >> 64));
    } else if (tensor.element == ElementType_i1) {
      static_cast<uint8_t *>(out)[i] = bits >> 63;
    } else {
      double value =
          static_cast<double>(static_cast<int64_t>(bits) >> 11) * 0x1p-52;
      convertFloats(
          ElementType_f64, &value, tensor.element,
          static_cast<char *>(out) + i * pprt::elementSize(tensor.element), 1);
    }
  };
  const BatchLayout layout = layoutOf(index);
  uint64_t place = 0;
  return forEachKept(index, [&](uint64_t outer, uint64_t row, uint64_t count) {
    const uint64_t first = (outer * layout.rows + row) * layout.inner;
    for (uint64_t i = 0; i < count * layout.inner; ++i)
      set(first + i, place++);
    return Status();
  });
}

//===----------------------------------------------------------------------===//
// Selection
//===----------------------------------------------------------------------===//

Expected<std::unique_ptr<Dataset>>
pprt::host::openDataset(const std::string &specification,
                        std::vector<DataTensor> tensors, uint64_t seed) {
  size_t colon = specification.find(':');
  std::string kind = specification.substr(0, colon);
  std::string path =
      colon == std::string::npos ? "" : specification.substr(colon + 1);
  if (kind == "text" && !path.empty())
    return TextDataset::open(path, std::move(tensors));
  if (kind == "npy" && !path.empty())
    return NpyDataset::open(path, std::move(tensors));
  if (specification == "random")
    return RandomDataset::open(std::move(tensors), seed);
  return Status(ExitCode::usage,
                "--data expects text:FILE, npy:DIR or random, got '" +
                    specification + "'");
}
