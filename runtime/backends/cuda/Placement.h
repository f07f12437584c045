//===- Placement.h - which GPU each rank has --------------------*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0
//
// In: the GPUs that each process sees, and the ranks that it holds. Out: those
// that it takes. Each rank has a GPU that no other rank has, for NCCL knows a
// GPU once in a communicator; but the ranks of a run of one process that sees
// one GPU share that. So what a process sees is taken in order, without what
// processes before it have taken: those that see the same GPUs take blocks of
// them, those to which CUDA_VISIBLE_DEVICES gives some of their own take these.
//
// Nothing here needs CUDA.
//
//===----------------------------------------------------------------------===//
#ifndef PPRT_BACKENDS_CUDA_PLACEMENT_H
#define PPRT_BACKENDS_CUDA_PLACEMENT_H

#include "pprt/Ranks.h"
#include "pprt/Status.h"

#include <string>
#include <vector>

namespace pprt::cuda {

/// A GPU as the driver names it.
struct SeenGpu {
  std::string id;     ///< which no other GPU has
  std::string name;   ///< its model
  int capability = 0; ///< 90 is sm_90

  /// What kernels may need of it (pprt/Processor.h).
  std::string processor() const { return "sm_" + std::to_string(capability); }
  /// Fails (device) if it is too old.
  Status check() const;
};

/// Of one process.
struct Sight {
  RankRange ranks;
  std::vector<SeenGpu> gpus; ///< as the driver numbers them
};

/// By process, the numbers of the GPUs that it takes: one for each rank, or one
/// for all of them. Fails (device) if there are too few, or of several models.
Expected<std::vector<std::vector<int>>>
placeRanks(const std::vector<Sight> &processes);

} // namespace pprt::cuda

#endif // PPRT_BACKENDS_CUDA_PLACEMENT_H
