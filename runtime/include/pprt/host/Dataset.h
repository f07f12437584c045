//===- Dataset.h - Where batches come from ----------------------*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0
//
// The kinds of `--data`. Each returns, for a step, the global batch of every
// input and label, as a function of the step and the seed alone: the same under
// every partition, from any thread, and after a run that ended.
//
//   text:FILE    Bytes are tokens and the label of a position is the next byte.
//                With a file of n bytes and a batch of B rows of S tokens, row
//                r of step s starts at ((s * B + r) * S) mod (n - S - 1).
//   tokens:PATH  A file of tokens, or a folder of them, which make one stream
//                of n in the order of their names. It is cut into blocks of S;
//                row r of step s is the block at place s * B + r.
//   npy:DIR      DIR/NAME.npy for each input and label NAME that the model
//                uses: of the model's shape, except that the batch dimension
//                holds the rows of some global batches, used in order and
//                cyclically. An input without a batch has either its shape, for
//                all steps, or one more dimension in front: the steps.
//   random       Integers below a bound, floats in [-1, 1), from the seed.
//
// Shuffled data have another order in each epoch. Of arrays the rows are
// shuffled or, if not every file has one for each sample, the steps; an epoch
// ends where all have been read, which may be within a batch. The part before
// the held out one, and that one, are as if they were the files. A text that is
// shuffled, or a part of one, is cut into blocks like tokens.
//
//===----------------------------------------------------------------------===//
#ifndef PPRT_HOST_DATASET_H
#define PPRT_HOST_DATASET_H

#include "pprt/Ppx.h"
#include "pprt/Rows.h"
#include "pprt/Status.h"

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#pragma GCC visibility push(default)
namespace pprt::host {

/// An input or label of the model.
struct DataTensor {
  std::string name;
  ppx::Role role = ppx::Role_input;
  ppx::ElementType element = ppx::ElementType_f32;
  /// Shape of the global batch.
  std::vector<uint64_t> shape;
  /// Integers must lie in [0, bound), for example the size of a vocabulary. 0:
  /// not known, and not checked.
  uint64_t bound = 0;
  /// Whether anything reads it; otherwise it needs no file, and is zero.
  bool isUsed = true;
  /// The dimension that counts rows of the batch; -1: none.
  int32_t batch = 0;
};

/// Which of the data are read, and in which order.
struct DataOptions {
  uint64_t seed = 0;
  /// Whether each epoch has an order of its own; nothing: that of tokens has,
  /// unless they are read for evaluation.
  std::optional<bool> shuffle = std::nullopt;
  /// The share at the end that is held out, from 0 to below 1.
  double holdOut = 0;
  /// Whether to read that share, instead of what is before it.
  bool readsHeldOut = false;
  bool evaluates = false;
  /// How messages call the data; empty: by path.
  std::string name = "";
};

class Dataset {
public:
  explicit Dataset(std::vector<DataTensor> tensors);
  virtual ~Dataset() = default;

  /// From now on read() reads and returns only these rows of a tensor.
  void keepRows(size_t tensor, const Rows &rows) { this->rows[tensor] = rows; }

  /// Writes the batch of `step` for the tensor with this index, row-major, to
  /// `out`. Failures are io and name the file.
  virtual Status read(uint64_t step, size_t tensor, void *out) const = 0;

  /// Differs only where files, their part, or whether they are shuffled do; 0
  /// without any.
  virtual Expected<uint32_t> fingerprint() const { return 0; }

  /// Returns how many samples, rows of a batch, an epoch has; 0: no epoch ends.
  virtual uint64_t samples() const { return 0; }

  /// Returns advice to the user about `steps` steps of the data; may be empty.
  virtual std::string describe(uint64_t steps) const { return ""; }

protected:
  BatchLayout layoutOf(size_t tensor) const {
    return {tensors[tensor].shape, tensors[tensor].batch};
  }
  uint64_t keptElements(size_t tensor) const {
    return layoutOf(tensor).elementsOf(rows[tensor]);
  }
  /// Calls f(outer, first row, number of rows) for the kept rows, in the order
  /// in which they are written.
  template <typename Function>
  Status forEachKept(size_t tensor, Function &&f) const {
    for (uint64_t outer = 0; outer < layoutOf(tensor).outer; ++outer)
      for (const RowRange &range : rows[tensor].ranges())
        if (Status status = f(outer, range.begin, range.size()); !status.ok())
          return status;
    return {};
  }
  /// Fills the kept rows with zeros.
  Status zero(size_t tensor, void *out) const;
  /// Checks that the integers read from `source` lie below the tensor's bound:
  /// the model uses them as indices of tables of that size.
  Status checkBound(const std::string &source, size_t tensor,
                    const void *data) const;

  std::vector<DataTensor> tensors;
  std::vector<Rows> rows; ///< kept rows, by tensor
};

/// Fails (usage) if `specification`, the value of `--data`, is of no known kind
/// or does not suit the options. Opens nothing.
Status checkDataOptions(const std::string &specification,
                        const DataOptions &options);

/// Opens the data set and checks that it fits `tensors`. Fails (usage) if its
/// kind is unknown or does not suit such tensors or options, else (io).
Expected<std::unique_ptr<Dataset>> openDataset(const std::string &specification,
                                               std::vector<DataTensor> tensors,
                                               const DataOptions &options = {});

} // namespace pprt::host
#pragma GCC visibility pop

#endif // PPRT_HOST_DATASET_H
