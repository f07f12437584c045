//===- Dataset.cpp - Where batches come from ------------------------------===//
//
// SPDX-License-Identifier: Apache-2.0
//
// What the kinds share; each has a file of its own.
//
//===----------------------------------------------------------------------===//
#include "pprt/host/Dataset.h"

#include "../engine/Bounds.h"
#include "Datasets.h"
#include "Shuffle.h"
#include "pprt/Artifact.h"
#include "pprt/ElementFormats.h"
#include "pprt/Program.h"

#include <algorithm>
#include <cstdio>
#include <cstring>

using namespace pprt::host;
using pprt::ExitCode;
using pprt::Expected;
using pprt::Status;
using namespace pprt::ppx;

void pprt::host::setInteger(ElementType element, void *data, uint64_t index,
                            int64_t value) {
  pprt::withFormat(element, [&](auto format) {
    using Stored = typename decltype(format)::Stored;
    static_cast<Stored *>(data)[index] = static_cast<Stored>(value);
  });
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
// DataPart
//===----------------------------------------------------------------------===//

DataPart::DataPart(uint64_t total, const DataOptions &options)
    : total(total), seed(options.seed), isHeldOut(options.readsHeldOut),
      shuffles(options.shuffle.value_or(false)) {
  // Doubles, rounded: 29% of 100 are 29 on every machine.
  const uint64_t held = std::min(
      total, static_cast<uint64_t>(double(total) * options.holdOut + 0.5));
  its = isHeldOut ? RowRange{total - held, total} : RowRange{0, total - held};
}

uint64_t DataPart::placeAt(unsigned __int128 position, uint64_t count) const {
  const auto place = static_cast<uint64_t>(position % count);
  return shuffles ? Shuffle(count, seed,
                            static_cast<uint64_t>(position / count))[place]
                  : place;
}

std::string DataPart::describe() const {
  if (isWhole())
    return "";
  return isHeldOut ? ", of which the last " + std::to_string(size()) +
                         ", held out, are read"
                   : ", of which the last " + std::to_string(total - size()) +
                         " are held out";
}

uint32_t DataPart::fingerprint(uint32_t ofFiles) const {
  if (isWhole() && !shuffles)
    return ofFiles;
  const uint64_t parts[] = {ofFiles, its.begin, its.end, shuffles};
  return pprt::artifactChecksum(reinterpret_cast<const uint8_t *>(parts),
                                sizeof(parts));
}

std::string pprt::host::describeEpochs(uint64_t count, const std::string &item,
                                       const std::string &detail,
                                       bool isShuffled, uint64_t steps,
                                       uint64_t batch) {
  char epochs[32];
  std::snprintf(epochs, sizeof(epochs), "%.3g",
                double(steps) * double(batch) / double(count));
  return std::to_string(count) + " " + item + (count == 1 ? "" : "s") + detail +
         (isShuffled ? ", shuffled; " : ", in order; ") +
         std::to_string(steps) + (steps == 1 ? " step" : " steps") + " of " +
         std::to_string(batch) + (steps == 1 ? " is " : " are ") + epochs +
         (std::string(epochs) == "1" ? " epoch" : " epochs");
}

//===----------------------------------------------------------------------===//
// Selection
//===----------------------------------------------------------------------===//

/// KIND and PATH of KIND:PATH.
static std::pair<std::string, std::string> split(const std::string &text) {
  const size_t colon = text.find(':');
  return {text.substr(0, colon),
          colon == std::string::npos ? "" : text.substr(colon + 1)};
}

Status pprt::host::checkDataOptions(const std::string &specification,
                                    const DataOptions &options) {
  const auto [kind, path] = split(specification);
  const bool isOfFiles =
      (kind == "text" || kind == "tokens" || kind == "npy") && !path.empty();
  if (!isOfFiles && specification != "random")
    return Status(ExitCode::usage,
                  "--data expects text:FILE, tokens:PATH, npy:DIR or random, "
                  "got '" +
                      specification + "'");
  if (isOfFiles || (!options.shuffle && options.holdOut == 0))
    return {};
  return Status(ExitCode::usage,
                std::string(options.shuffle ? "--shuffle" : "--hold-out") +
                    " expects data from files, as --data=tokens:PATH, got "
                    "--data=random, which has no end");
}

Expected<std::unique_ptr<Dataset>>
pprt::host::openDataset(const std::string &specification,
                        std::vector<DataTensor> tensors,
                        const DataOptions &given) {
  if (Status status = checkDataOptions(specification, given); !status.ok())
    return status;
  const auto [kind, path] = split(specification);
  DataOptions options = given;
  options.shuffle =
      given.shuffle.value_or(kind == "tokens" && !given.evaluates);
  if (kind == "text")
    return openText(path, std::move(tensors), options);
  if (kind == "tokens")
    return openTokens(path, std::move(tensors), options);
  if (kind == "npy")
    return openNpy(path, std::move(tensors), options);
  return openRandom(std::move(tensors), options.seed);
}
