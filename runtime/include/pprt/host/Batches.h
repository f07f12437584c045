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
                                const ppx::ArtifactT &artifact, uint64_t seed);

  /// Differs only where files do.
  Expected<uint32_t> fingerprint() const { return dataset->fingerprint(); }

  uint64_t stepsOfPass() const { return dataset->stepsOfPass(); }

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

  std::unique_ptr<Dataset> dataset;
  std::vector<std::string> inputNames;
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
