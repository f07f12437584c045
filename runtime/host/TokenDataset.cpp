//===- TokenDataset.cpp - --data=text:FILE and --data=tokens:PATH ---------===//
//
// SPDX-License-Identifier: Apache-2.0
//
// Both are a stream of tokens, of which a row is a run: the label of a position
// is the next token. Rows are packed: they begin and end where the count says,
// whatever lies there.
//
//===----------------------------------------------------------------------===//
#include "Datasets.h"
#include "TokenStream.h"
#include "pprt/ElementFormats.h"
#include "pprt/Program.h"
#include "pprt/host/Elements.h"

#include <limits>

using namespace pprt::host;
using pprt::elementSize;
using pprt::ExitCode;
using pprt::Expected;
using pprt::isInteger;
using pprt::RowRange;
using pprt::Status;
using namespace pprt::ppx;

namespace {
class TokenDataset : public Dataset {
public:
  TokenDataset(TokenStream stream, std::string name, bool isText,
               std::vector<DataTensor> tensors, const DataOptions &options)
      : Dataset(std::move(tensors)), stream(std::move(stream)),
        name(std::move(name)), isText(isText),
        part(this->stream.size(), options),
        isSliding(isText && part.isWhole() && !part.isShuffled()) {}

  /// Sets the length of a row. Fails (io) if the part is shorter.
  Status setSequence(uint64_t length, const DataOptions &options);

  Status read(uint64_t step, size_t index, void *out) const override;
  std::string describe(uint64_t steps) const override;
  Expected<uint32_t> fingerprint() const override;
  uint64_t samples() const override { return (part.size() - 1) / sequence; }

private:
  /// Returns the first token of a row.
  uint64_t startOf(unsigned __int128 row) const;
  /// Whether the model takes these tokens, which begin at `first`.
  Status check(const DataTensor &tensor, uint64_t first,
               const std::vector<int64_t> &tokens) const;

  TokenStream stream;
  std::string name;
  bool isText;
  DataPart part;
  /// Whether an epoch does not end with a block, but where the text does.
  bool isSliding;
  uint64_t sequence = 0, batch = 0;
};
} // namespace

/// Fails (usage) unless the model has one input and one label of tokens.
static Status checkPair(const std::string &data,
                        const std::vector<const DataTensor *> &used) {
  bool isPair = used.size() == 2 && used[0]->role != used[1]->role &&
                used[0]->shape == used[1]->shape && used[0]->shape.size() == 2;
  for (const DataTensor *tensor : used)
    isPair &= isInteger(tensor->element) && tensor->batch == used[0]->batch &&
              hasBatch(*tensor);
  if (isPair)
    return {};
  std::string found;
  for (const DataTensor *tensor : used)
    found += (found.empty() ? "" : ", ") +
             std::string(EnumNameRole(tensor->role)) + " '" + tensor->name +
             "' " + EnumNameElementType(tensor->element) +
             printShape(tensor->shape);
  return Status(ExitCode::usage,
                "--data=" + data +
                    " expects a model with one input and one label, both "
                    "integers of shape [batch, sequence] or, as their "
                    "pp.dims say, [sequence, batch], got " +
                    found);
}

static OpenedDataset openStream(const std::string &path, bool isText,
                                std::vector<DataTensor> tensors,
                                const DataOptions &options) {
  std::vector<const DataTensor *> used;
  for (const DataTensor &tensor : tensors)
    if (tensor.isUsed)
      used.push_back(&tensor);
  if (Status status = checkPair((isText ? "text:" : "tokens:") + path, used);
      !status.ok())
    return status;
  const uint64_t sequence = used[0]->shape[1 - used[0]->batch];
  Expected<TokenStream> stream =
      isText ? TokenStream::openText(path) : TokenStream::open(path);
  if (!stream)
    return stream.status();
  auto dataset = std::make_unique<TokenDataset>(
      std::move(*stream), options.name.empty() ? path : options.name, isText,
      std::move(tensors), options);
  if (Status status = dataset->setSequence(sequence, options); !status.ok())
    return status;
  return std::unique_ptr<Dataset>(std::move(dataset));
}

OpenedDataset pprt::host::openText(const std::string &path,
                                   std::vector<DataTensor> tensors,
                                   const DataOptions &options) {
  return openStream(path, /*isText=*/true, std::move(tensors), options);
}

OpenedDataset pprt::host::openTokens(const std::string &path,
                                     std::vector<DataTensor> tensors,
                                     const DataOptions &options) {
  return openStream(path, /*isText=*/false, std::move(tensors), options);
}

Status TokenDataset::setSequence(uint64_t length, const DataOptions &options) {
  sequence = length;
  for (const DataTensor &tensor : tensors)
    if (tensor.isUsed)
      batch = tensor.shape[tensor.batch];
  // The next token is the last label; a text that slides has a place more.
  const uint64_t more = isSliding ? 2 : 1;
  if (length > 0 && part.size() >= more && part.size() - more >= length)
    return {};
  return Status(
      ExitCode::io,
      name + ": expects " + (isText ? "a text of at least " : "at least ") +
          std::to_string(length) + " + " + std::to_string(more) +
          (isText ? " bytes" : " tokens") +
          (part.isWhole()         ? ""
           : options.readsHeldOut ? " in the part that --hold-out keeps"
                                  : " in the part that --hold-out leaves") +
          ", got " + std::to_string(part.size()));
}

uint64_t TokenDataset::startOf(unsigned __int128 row) const {
  if (isSliding)
    return part.begin() +
           static_cast<uint64_t>(row * sequence % (part.size() - sequence - 1));
  return part.begin() + part.placeAt(row, samples()) * sequence;
}

Status TokenDataset::check(const DataTensor &tensor, uint64_t first,
                           const std::vector<int64_t> &tokens) const {
  const uint64_t beyond = uint64_t(1) << (8 * elementSize(tensor.element) - 1);
  const uint64_t bound =
      tensor.bound > 0 ? std::min(tensor.bound, beyond) : beyond;
  for (uint64_t i = 0; i < tokens.size(); ++i) {
    if (tokens[i] >= 0 && static_cast<uint64_t>(tokens[i]) < bound)
      continue;
    const auto [file, place] = stream.find(first + i);
    return Status(ExitCode::io,
                  file + ": expects integers from 0 to " +
                      std::to_string(bound - 1) + " for '" + tensor.name +
                      "', got " + std::to_string(tokens[i]) + " at " +
                      (isText ? "byte " : "token ") + std::to_string(place) +
                      "; give the model a larger vocabulary");
  }
  return {};
}

Status TokenDataset::read(uint64_t step, size_t index, void *out) const {
  const DataTensor &tensor = tensors[index];
  if (!tensor.isUsed)
    return zero(index, out);
  const bool isTimeMajor = tensor.batch == 1;
  const uint64_t kept = rows[index].count();
  std::vector<int64_t> tokens(sequence);
  uint64_t written = 0; // rows
  const auto readRow = [&](uint64_t row) -> Status {
    // 128 bits, so that no number of steps wraps around.
    const uint64_t first =
        startOf(static_cast<unsigned __int128>(step) * batch + row) +
        (tensor.role == Role_label ? 1 : 0);
    if (Status status = stream.read(first, sequence, tokens.data());
        !status.ok())
      return status;
    if (Status status = check(tensor, first, tokens); !status.ok())
      return status;
    for (uint64_t i = 0; i < sequence; ++i)
      setInteger(tensor.element, out,
                 isTimeMajor ? i * kept + written : written * sequence + i,
                 tokens[i]);
    ++written;
    return {};
  };
  for (const RowRange &range : rows[index].ranges())
    for (uint64_t row = range.begin; row < range.end; ++row)
      if (Status status = readRow(row); !status.ok())
        return status;
  return {};
}

Expected<uint32_t> TokenDataset::fingerprint() const {
  const Expected<uint32_t> files = stream.fingerprint();
  if (!files)
    return files.status();
  return part.fingerprint(*files);
}

std::string TokenDataset::describe(uint64_t steps) const {
  if (isSliding)
    return "";
  return name + " holds " + std::to_string(stream.size()) +
         (isText ? " bytes" : " tokens") +
         (stream.fileCount() == 1
              ? ""
              : " in " + std::to_string(stream.fileCount()) + " files") +
         part.describe() + ": " +
         describeEpochs(samples(), "block", " of " + std::to_string(sequence),
                        part.isShuffled(), steps, batch);
}
