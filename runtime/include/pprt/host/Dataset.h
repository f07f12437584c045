//===- Dataset.h - Where batches come from ----------------------*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0
//
// The three kinds of `--data`. Each gives, for a step, the whole global batch
// of every input and label, a function of the step alone: the same under every
// partition and from any thread.
//
//   text:FILE  Bytes are tokens and the label of a position is the next byte.
//              With a file of n bytes and a batch of B rows of S tokens, row r
//              of step s starts at ((s * B + r) * S) mod (n - S - 1).
//   npy:DIR    DIR/NAME.npy for each input and label NAME that the model uses:
//              of the model's shape, but that the dimension that is the batch
//              holds the rows of some global batches, which are consumed in
//              order, and then again. Of an input without a batch either its
//              shape, for all steps, or one more dimension in front: the steps.
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
  /// Of the global batch.
  std::vector<uint64_t> shape;
  /// Integers must lie in [0, bound), for example the size of a vocabulary. 0:
  /// not known, and nothing is checked.
  uint64_t bound = 0;
  /// What nothing reads needs no file, and is zero.
  bool isUsed = true;
  /// The dimension that counts rows of the batch; -1: it has none.
  int32_t batch = 0;
};

class Dataset {
public:
  explicit Dataset(std::vector<DataTensor> tensors);
  virtual ~Dataset() = default;

  /// From now on read() gives these rows of a tensor alone, and reads no
  /// others.
  void keepRows(size_t tensor, const Rows &rows) { this->rows[tensor] = rows; }

  /// Writes the batch of `step` for the tensor with this index, row-major, to
  /// `out`. Failures are io and name the file.
  virtual Status read(uint64_t step, size_t tensor, void *out) const = 0;

  /// Differs only where files do; 0 without any.
  virtual Expected<uint32_t> fingerprint() const { return 0; }

  /// What a user should know about `steps` steps of it; empty: nothing.
  virtual std::string describe(uint64_t steps) const { return ""; }

protected:
  BatchLayout layoutOf(size_t tensor) const {
    return {tensors[tensor].shape, tensors[tensor].batch};
  }
  uint64_t keptElements(size_t tensor) const {
    return layoutOf(tensor).elementsOf(rows[tensor]);
  }
  /// Calls f(outer, first row, number of rows) for what is kept, in the order
  /// in which it is written.
  template <typename Function>
  Status forEachKept(size_t tensor, Function &&f) const {
    for (uint64_t outer = 0; outer < layoutOf(tensor).outer; ++outer)
      for (const RowRange &range : rows[tensor].ranges())
        if (Status status = f(outer, range.begin, range.size()); !status.ok())
          return status;
    return {};
  }
  /// Fills those with zeros.
  Status zero(size_t tensor, void *out) const;
  /// Whether the integers that were read from `source` lie below the tensor's
  /// bound: the model looks them up in tables of that size.
  Status checkBound(const std::string &source, size_t tensor,
                    const void *data) const;

  std::vector<DataTensor> tensors;
  std::vector<Rows> rows; ///< that are kept, by tensor
};

/// Opens the data set that `specification` (the value of `--data`) names and
/// checks that it fits `tensors`. A kind that is unknown, or not for such
/// tensors, is a usage error; everything else io.
Expected<std::unique_ptr<Dataset>> openDataset(const std::string &specification,
                                               std::vector<DataTensor> tensors,
                                               uint64_t seed);

} // namespace pprt::host
#pragma GCC visibility pop

#endif // PPRT_HOST_DATASET_H
