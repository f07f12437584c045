//===- Datasets.h - the kinds of data sets ----------------------*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0
//
// Each is opened by one function, of the text behind the colon of --data.
// checkDataOptions() has accepted the options.
//
//===----------------------------------------------------------------------===//
#ifndef PPRT_HOST_DATASETS_H
#define PPRT_HOST_DATASETS_H

#include "pprt/host/Dataset.h"

namespace pprt::host {

using OpenedDataset = Expected<std::unique_ptr<Dataset>>;

OpenedDataset openText(const std::string &path, std::vector<DataTensor> tensors,
                       const DataOptions &options);
OpenedDataset openTokens(const std::string &path,
                         std::vector<DataTensor> tensors,
                         const DataOptions &options);
OpenedDataset openNpy(const std::string &directory,
                      std::vector<DataTensor> tensors,
                      const DataOptions &options);
OpenedDataset openRandom(std::vector<DataTensor> tensors, uint64_t seed);

/// A tensor without dimensions has no batch.
inline bool hasBatch(const DataTensor &tensor) {
  return tensor.batch >= 0 && !tensor.shape.empty();
}

void setInteger(ppx::ElementType element, void *data, uint64_t index,
                int64_t value);

/// Some of the items of a data set, such as sequences, and their order.
class DataPart {
public:
  /// The part of `total` items that the options name.
  DataPart(uint64_t total, const DataOptions &options);

  uint64_t begin() const { return its.begin; }
  uint64_t size() const { return its.size(); }
  bool isWhole() const { return size() == total; }
  bool isShuffled() const { return shuffles; }

  /// Returns the item at a position of a run that goes through the part again
  /// and again.
  uint64_t itemAt(unsigned __int128 position) const {
    return its.begin + placeAt(position, size());
  }
  /// The same for the part cut into `count` larger items; from 0.
  uint64_t placeAt(unsigned __int128 position, uint64_t count) const;

  /// Says what is in the other part: "" or ", of which the last 5 are held
  /// out".
  std::string describe() const;
  /// The sum of files with the part and its order.
  uint32_t fingerprint(uint32_t ofFiles) const;

private:
  uint64_t total, seed;
  bool isHeldOut, shuffles;
  RowRange its;
};

/// "17 rows, shuffled; 5 steps of 8 are 2.35 epochs", of the item "row" without
/// a detail.
std::string describeEpochs(uint64_t count, const std::string &item,
                           const std::string &detail, bool isShuffled,
                           uint64_t steps, uint64_t batch);

} // namespace pprt::host

#endif // PPRT_HOST_DATASETS_H
