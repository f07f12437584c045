//===- HostBuffers.h - whole tensors on the host ----------------*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0
//
// The host's side of LOAD and EMIT: inputs, from which ranks load their shards,
// and outputs, to which ranks emit theirs. Each of several processes has the
// shards that its ranks emit; it packs them, and the process that wants all
// unpacks them.
//
//===----------------------------------------------------------------------===//
#ifndef PPRT_ENGINE_HOSTBUFFERS_H
#define PPRT_ENGINE_HOSTBUFFERS_H

#include "Executor.h"
#include "Shards.h"
#include "pprt/Ranks.h"
#include "pprt/Rows.h"

#include <array>

namespace pprt {

/// The batch of an input: a copy, or memory that the caller lends.
class HostInput {
public:
  void copy(const std::byte *values, uint64_t bytes) {
    own.assign(values, values + bytes);
    lent = nullptr;
    given = true;
  }
  void lend(const std::byte *values) {
    own = {};
    lent = values;
    given = true;
  }
  bool isGiven() const { return given; }
  const std::byte *data() const { return lent ? lent : own.data(); }

private:
  std::vector<std::byte> own;
  const std::byte *lent = nullptr;
  bool given = false;
};

class HostBuffers final : public HostData {
public:
  HostBuffers(const ppx::ArtifactT &artifact, const Mesh &mesh);

  Status load(uint32_t rank, const Instruction &instruction,
              std::byte *slot) override;
  void emit(uint32_t rank, const Instruction &instruction,
            const std::byte *slot) override;

  /// Fails (usage) if any rank loads an input in the section that has not been
  /// set.
  Status expectInputs(Section section) const;
  /// Whether any rank emits in the section.
  bool emits(Section section) const;
  /// Packs the outputs of `range` in a section, only the first of equal copies.
  std::vector<std::byte> packOutputs(Section section, RankRange range) const;
  void unpackOutputs(Section section, RankRange range,
                     const std::vector<std::byte> &bytes);
  /// Packs the outputs of one element each.
  std::vector<std::byte> packScalars() const;
  void unpackScalars(const std::vector<std::byte> &bytes);

  const ppx::ArtifactT &artifact;
  const Mesh mesh;
  const Ranks ranks;
  std::vector<ShardedTensor> arguments, outputs;
  /// By argument. A stuck thread may read them at any time.
  std::vector<HostInput> inputs;
  std::vector<Rows> inputRows; ///< by argument, the rows in `inputs`
  std::vector<std::vector<std::byte>> outputValues; ///< by output

private:
  /// Calls f(output, origin) for each output that `range` emits in a section.
  template <typename Function>
  void forEachEmitted(Section section, RankRange range, Function &&f) const;

  /// By section, the inputs that any rank loads.
  std::array<std::vector<uint32_t>, kSections.size()> loaded;
  /// By output and rank, whether it holds the first of equal copies, the kept
  /// one.
  std::vector<std::vector<bool>> firstHolder;
};

/// Returns, by argument, the rows that some of the ranks load.
std::vector<Rows> rowsLoaded(const ppx::ArtifactT &artifact, const Mesh &mesh,
                             RankRange ranks);

} // namespace pprt

#endif // PPRT_ENGINE_HOSTBUFFERS_H
