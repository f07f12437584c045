//===- Dataset.h - Where batches come from ----------------------*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0
//
// The three kinds of `--data`. Each returns, for a step, the whole global batch
// of every input and label, as a function of the step alone: the same under
// every partition and from any thread.
//
//   text:FILE  Bytes are tokens and the label of a position is the next byte.
//              With a file of n bytes and a batch of B rows of S tokens, row r
//              of step s starts at ((s * B + r) * S) mod (n - S - 1).
//   npy:DIR    DIR/NAME.npy for each input and label NAME that the model uses:
//              of the model's shape, except that the batch dimension holds the
//              rows of some global batches, used in order and cyclically. An
//              input without a batch has either its shape, for all steps, or
//              one more dimension in front: the steps.
//   random     Integers below a bound, floats in [-1, 1), from the seed.
//
//===----------------------------------------------------------------------===//
#ifndef PPRT_HOST_DATASET_H
#define PPRT_HOST_DATASET_H

#include "pprt/Ppx.h"
#include "pprt/Rows.h"
#include "pprt/Status.h"

#include <cstdint>
#include <memory>
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

class Dataset {
public:
  explicit Dataset(std::vector<DataTensor> tensors);
  virtual ~Dataset() = default;

  /// From now on read() reads and returns only these rows of a tensor.
  void keepRows(size_t tensor, const Rows &rows) { this->rows[tensor] = rows; }

  /// Writes the batch of `step` for the tensor with this index, row-major, to
  /// `out`. Failures are io and name the file.
  virtual Status read(uint64_t step, size_t tensor, void *out) const = 0;

  /// Differs only where files do; 0 without any.
  virtual Expected<uint32_t> fingerprint() const { return 0; }

  /// Returns how many steps read every sample once, as far as these are whole
  /// batches; at least 1, and 0 if there are always others.
  virtual uint64_t stepsOfPass() const { return 0; }

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

/// Opens the data set that `specification` (the value of `--data`) names and
/// checks that it fits `tensors`. Fails (usage) if its kind is unknown or does
/// not suit such tensors, else (io).
Expected<std::unique_ptr<Dataset>> openDataset(const std::string &specification,
                                               std::vector<DataTensor> tensors,
                                               uint64_t seed);

} // namespace pprt::host
#pragma GCC visibility pop

#endif // PPRT_HOST_DATASET_H
