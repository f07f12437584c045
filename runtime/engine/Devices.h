//===- Devices.h - the devices of a process, and what runs on them -*- C++ -*-//
//
// SPDX-License-Identifier: Apache-2.0
//
// In: devices of one kind (pprt/Backend.h), which have neighbouring ranks: one
// for all of the process, or one for each. Out: how they meet, and an executor
// of their kind.
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

  /// What the transport of these ranks needs. Collective, as the world's calls.
  virtual Expected<TransportModel> meet(World &world, uint32_t worldSize) = 0;
  /// Of ranks of this process, once meet() was asked and the devices have
  /// loaded the artifact.
  virtual Expected<std::unique_ptr<Executor>>
  makeExecutor(std::shared_ptr<const ppx::ArtifactT> artifact, const Mesh &mesh,
               const ExecutorOptions &options,
               std::shared_ptr<HostData> host) = 0;
  /// Before the first section. The executor alone has the transport then.
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
