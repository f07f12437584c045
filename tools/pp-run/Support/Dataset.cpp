//===- Dataset.cpp - Where batches come from ------------------------------===//
//
// SPDX-License-Identifier: Apache-2.0
//
// One class per kind. Files stay open and rows are read when a step needs them,
// so a data set may be larger than memory.
//
//===----------------------------------------------------------------------===//
#include "Dataset.h"

#include "Elements.h"
#include "Npy.h"
#include "pprt/Program.h"

#include <cstring>

using namespace pp::run;
using pprt::denseBytes;
using pprt::ExitCode;
using pprt::Expected;
using pprt::InputFile;
using pprt::Status;
using namespace pprt::ppx;

static bool isInteger(ElementType element) {
  return element == ElementType_i32 || element == ElementType_i64;
}

static uint64_t elementCount(const DataTensor &tensor) {
  return *denseBytes(tensor.shape, 1);
}

/// Integer `index` of `data`, whose elements are i32 or i64.
static int64_t integerAt(ElementType element, const void *data,
                         uint64_t index) {
  if (element == ElementType_i64)
    return static_cast<const int64_t *>(data)[index];
  return static_cast<const int32_t *>(data)[index];
}

static void setInteger(ElementType element, void *data, uint64_t index,
                       int64_t value) {
  if (element == ElementType_i64)
    static_cast<int64_t *>(data)[index] = value;
  else
    static_cast<int32_t *>(data)[index] = static_cast<int32_t>(value);
}

/// Whether the integers that were read from `source` lie below the tensor's
/// bound: the model looks them up in tables of that size.
static Status checkBound(const std::string &source, const DataTensor &tensor,
                         const void *data) {
  if (!isInteger(tensor.element) || tensor.bound == 0)
    return Status();
  for (uint64_t i = 0, count = elementCount(tensor); i < count; ++i) {
    int64_t value = integerAt(tensor.element, data, i);
    if (value < 0 || static_cast<uint64_t>(value) >= tensor.bound)
      return Status(ExitCode::io, source + ": expects integers from 0 to " +
                                      std::to_string(tensor.bound - 1) +
                                      " for '" + tensor.name + "', got " +
                                      std::to_string(value));
  }
  return Status();
}

//===----------------------------------------------------------------------===//
// text:FILE
//===----------------------------------------------------------------------===//

namespace {
class TextDataset : public Dataset {
public:
  TextDataset(InputFile file, std::vector<DataTensor> tensors)
      : file(std::move(file)), tensors(std::move(tensors)) {}

  static Expected<std::unique_ptr<Dataset>>
  open(const std::string &path, std::vector<DataTensor> tensors);

  Status read(uint64_t step, size_t index, void *out) const override;

private:
  InputFile file;
  std::vector<DataTensor> tensors;
};
} // namespace

Expected<std::unique_ptr<Dataset>>
TextDataset::open(const std::string &path, std::vector<DataTensor> tensors) {
  bool isPair = tensors.size() == 2 && tensors[0].role != tensors[1].role &&
                tensors[0].shape == tensors[1].shape &&
                tensors[0].shape.size() == 2;
  for (const DataTensor &tensor : tensors)
    isPair &= isInteger(tensor.element);
  if (!isPair) {
    std::string found;
    for (const DataTensor &tensor : tensors)
      found += (found.empty() ? "" : ", ") +
               std::string(EnumNameRole(tensor.role)) + " '" + tensor.name +
               "' " + EnumNameElementType(tensor.element) +
               printShape(tensor.shape);
    return Status(ExitCode::io, path +
                                    ": text expects a model with one input and "
                                    "one label, both integers of shape [batch, "
                                    "sequence], got " +
                                    found);
  }
  Expected<InputFile> file = InputFile::open(path);
  if (!file)
    return file.status();
  uint64_t sequence = tensors[0].shape[1];
  if (file->size() < 2 || file->size() - 2 < sequence)
    return Status(ExitCode::io, path + ": expects a text of at least " +
                                    std::to_string(sequence) +
                                    " + 2 bytes, got " +
                                    std::to_string(file->size()));
  return std::unique_ptr<Dataset>(
      new TextDataset(std::move(*file), std::move(tensors)));
}

Status TextDataset::read(uint64_t step, size_t index, void *out) const {
  const DataTensor &tensor = tensors[index];
  uint64_t rows = tensor.shape[0], sequence = tensor.shape[1];
  uint64_t starts = file.size() - sequence - 1;
  std::vector<uint8_t> text(sequence);
  for (uint64_t row = 0; row < rows; ++row) {
    // 128 bits, so that no number of steps wraps around.
    unsigned __int128 position = step;
    position = (position * rows + row) * sequence;
    uint64_t offset = static_cast<uint64_t>(position % starts) +
                      (tensor.role == Role_label ? 1 : 0);
    if (Status status = file.read(offset, text.data(), sequence); !status.ok())
      return status;
    for (uint64_t i = 0; i < sequence; ++i)
      setInteger(tensor.element, out, row * sequence + i, text[i]);
  }
  return checkBound(file.path(), tensor, out);
}

//===----------------------------------------------------------------------===//
// npy:DIR
//===----------------------------------------------------------------------===//

namespace {
class NpyDataset : public Dataset {
public:
  static Expected<std::unique_ptr<Dataset>>
  open(const std::string &directory, std::vector<DataTensor> tensors,
       uint64_t steps);

  Status read(uint64_t step, size_t index, void *out) const override {
    const DataTensor &tensor = tensors[index];
    uint64_t count = elementCount(tensor);
    Status status = files[index].read(step * count, count, tensor.element, out);
    return status.ok() ? checkBound(files[index].path(), tensor, out) : status;
  }

private:
  std::vector<NpyFile> files;
  std::vector<DataTensor> tensors;
};
} // namespace

Expected<std::unique_ptr<Dataset>>
NpyDataset::open(const std::string &directory, std::vector<DataTensor> tensors,
                 uint64_t steps) {
  auto dataset = std::make_unique<NpyDataset>();
  for (const DataTensor &tensor : tensors) {
    Expected<NpyFile> file =
        NpyFile::open(directory + "/" + tensor.name + ".npy");
    if (!file)
      return file.status();
    // A tensor without dimensions has one row per step.
    std::vector<uint64_t> wanted = tensor.shape;
    if (wanted.empty())
      wanted.push_back(1);
    uint64_t rows = 0;
    if (__builtin_mul_overflow(wanted[0], steps, &rows))
      rows = UINT64_MAX;
    wanted[0] = rows;
    std::vector<uint64_t> found = file->shape();
    bool isLongEnough = !found.empty() && found[0] >= rows;
    if (isLongEnough)
      found[0] = rows;
    if (!isLongEnough || found != wanted)
      return Status(ExitCode::io,
                    file->path() + ": expects shape " + printShape(wanted) +
                        " or more rows (steps x batch) for '" + tensor.name +
                        "', got " + printShape(file->shape()));
    // Reading nothing tells whether the element types go together.
    if (Status status = file->read(0, 0, tensor.element, nullptr); !status.ok())
      return status;
    dataset->files.push_back(std::move(*file));
  }
  dataset->tensors = std::move(tensors);
  return std::unique_ptr<Dataset>(std::move(dataset));
}

//===----------------------------------------------------------------------===//
// random
//===----------------------------------------------------------------------===//

namespace {
class RandomDataset : public Dataset {
public:
  RandomDataset(std::vector<DataTensor> tensors, uint64_t seed)
      : tensors(std::move(tensors)), seed(seed) {}

  static Expected<std::unique_ptr<Dataset>>
  open(std::vector<DataTensor> tensors, uint64_t seed);

  Status read(uint64_t step, size_t index, void *out) const override;

private:
  std::vector<DataTensor> tensors;
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
    if (isInteger(tensor.element) && tensor.bound == 0)
      return Status(ExitCode::io, "random data expects a known bound for the "
                                  "integers of '" +
                                      tensor.name +
                                      "', got none; give it files");
  return std::unique_ptr<Dataset>(new RandomDataset(std::move(tensors), seed));
}

Status RandomDataset::read(uint64_t step, size_t index, void *out) const {
  const DataTensor &tensor = tensors[index];
  uint64_t stream = mix(mix(mix(seed) + step) + index);
  for (uint64_t i = 0, count = elementCount(tensor); i < count; ++i) {
    uint64_t bits = mix(stream + i);
    if (isInteger(tensor.element)) {
      // The high half of a product is uniform below the bound.
      auto product = static_cast<unsigned __int128>(bits) * tensor.bound;
      setInteger(tensor.element, out, i, static_cast<int64_t>(product >> 64));
    } else if (tensor.element == ElementType_i1) {
      static_cast<uint8_t *>(out)[i] = bits >> 63;
    } else {
      double value =
          static_cast<double>(static_cast<int64_t>(bits) >> 11) * 0x1p-52;
      uint64_t width = tensor.element == ElementType_f64   ? 8
                       : tensor.element == ElementType_f32 ? 4
                                                           : 2;
      convertFloats(FloatType::f64, &value, tensor.element,
                    static_cast<char *>(out) + i * width, 1);
    }
  }
  return Status();
}

//===----------------------------------------------------------------------===//
// Selection
//===----------------------------------------------------------------------===//

Expected<std::unique_ptr<Dataset>>
pp::run::openDataset(const std::string &specification,
                     std::vector<DataTensor> tensors, uint64_t steps,
                     uint64_t seed) {
  size_t colon = specification.find(':');
  std::string kind = specification.substr(0, colon);
  std::string path =
      colon == std::string::npos ? "" : specification.substr(colon + 1);
  if (kind == "text" && !path.empty())
    return TextDataset::open(path, std::move(tensors));
  if (kind == "npy" && !path.empty())
    return NpyDataset::open(path, std::move(tensors), steps);
  if (specification == "random")
    return RandomDataset::open(std::move(tensors), seed);
  return Status(ExitCode::usage,
                "--data expects text:FILE, npy:DIR or random, got '" +
                    specification + "'");
}
