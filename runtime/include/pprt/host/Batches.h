//===- Batches.h - a data set, bound to a session's inputs ------*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0
//
// In: a checked artifact, and the data that the user names. Out: the global
// batch of any step, with its inputs in the session's order.
//
//===----------------------------------------------------------------------===//
#ifndef PPRT_HOST_BATCHES_H
#define PPRT_HOST_BATCHES_H

#include "pprt/Ranks.h"
#include "pprt/Session.h"
#include "pprt/host/Dataset.h"

#include <cstddef>
#include <memory>
#include <string>
#include <vector>

#pragma GCC visibility push(default)
namespace pprt::host {

/// The global batch of one step, by input or label, in the artifact's order.
using Batch = std::vector<std::vector<std::byte>>;

class Batches {
public:
  /// Opens what `--data` names for the inputs and labels of `artifact`.
  static Expected<Batches> open(const std::string &data,
                                const ppx::ArtifactT &artifact,
                                const DataOptions &options = {});

  /// The same whole batch at every step. It has a tensor for each input and
  /// label of `artifact`, in its order, as large as it is there.
  static Batches repeat(const ppx::ArtifactT &artifact, Batch batch);

  /// Differs only where files, their part, or whether they are shuffled do.
  Expected<uint32_t> fingerprint() const { return dataset->fingerprint(); }

  /// Returns how many samples, rows of a batch, an epoch has; 0: no epoch ends.
  uint64_t samples() const { return dataset->samples(); }
  /// Returns how many steps read every sample once, as far as these are whole
  /// batches; at least 1, and 0 if there are always others.
  uint64_t stepsOfPass() const;

  /// Returns advice to the user about `steps` steps of the data; may be empty.
  std::string describe(uint64_t steps) const {
    return dataset->describe(steps);
  }

  /// From now on reads only the rows that the ranks load.
  void keepFor(const ppx::ArtifactT &artifact, const Mesh &mesh,
               RankRange ranks);

  /// Fails (io) when the data cannot be read.
  Status read(uint64_t step, Batch &batch) const;
  /// Returns the rows that read() reads, by position in a batch.
  const std::vector<Rows> &rows() const { return kept; }

  /// Returns the names, by position in a batch.
  const std::vector<std::string> &names() const { return inputNames; }

private:
  Batches() = default;
  /// Describes the inputs and labels, and sets all but the data set.
  std::vector<DataTensor> bind(const ppx::ArtifactT &artifact);

  std::unique_ptr<Dataset> dataset;
  std::vector<std::string> inputNames;
  uint64_t batchRows = 1; ///< of the input that has the most
  // By position in a batch.
  std::vector<uint32_t> arguments;
  std::vector<Rows> kept;
  std::vector<uint64_t> rowBytes;
};

/// Passes `batch` to the session, which reads it in its next call: these rows
/// of each input, or all if none are given.
Status setBatch(Session &session, const Batch &batch,
                const std::vector<Rows> &rows = {});

} // namespace pprt::host
#pragma GCC visibility pop

#endif // PPRT_HOST_BATCHES_H
