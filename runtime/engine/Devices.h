//===- Devices.h - the devices of a process, and what runs on them -*- C++ -*-//
//
// SPDX-License-Identifier: Apache-2.0
//
// In: devices of one kind (pprt/Backend.h), one for all ranks of the process or
// one for each, in the order of ranks. Out: the transport between them, and an
// executor of their kind.
//
//===----------------------------------------------------------------------===//
#ifndef PPRT_ENGINE_DEVICES_H
#define PPRT_ENGINE_DEVICES_H

#include "Executor.h"
#include "pprt/Backend.h"
#include "pprt/Ranks.h"

namespace pprt {

class Devices {
public:
  virtual ~Devices() = default;

  virtual size_t count() const = 0;
  virtual Device &device(size_t index) const = 0;
  /// Whether threads of the host run the kernels.
  virtual bool usesThreads() const = 0;

  /// Returns the model of their transport. Collective, like the world's calls.
  virtual Expected<TransportModel> meet(World &world, uint32_t worldSize) = 0;
  /// Makes the executor of this process's ranks, after meet() and after the
  /// devices have loaded the artifact.
  virtual Expected<std::unique_ptr<Executor>>
  makeExecutor(std::shared_ptr<const ppx::ArtifactT> artifact, const Mesh &mesh,
               const ExecutorOptions &options,
               std::shared_ptr<HostData> host) = 0;
  /// Called before the first section, when only the executor has the transport.
  virtual Status connect() = 0;

  RankRange ranksOf(size_t index, RankRange all) const {
    if (count() == 1)
      return all;
    const auto rank = uint32_t(all.begin + index);
    return {rank, rank + 1};
  }
};

} // namespace pprt

#endif // PPRT_ENGINE_DEVICES_H
