//===- Placement.h - which GPU each rank has --------------------*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0
//
// In: the GPUs that each process sees, and its ranks. Out: the GPUs that it
// takes. Each rank has its own GPU, because NCCL accepts a GPU only once in a
// communicator; but if a run has one process that sees one GPU, all ranks share
// it. Each process takes the GPUs that it sees in order, except those taken by
// earlier processes: processes that see the same GPUs take blocks of them,
// processes with their own CUDA_VISIBLE_DEVICES take those.
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
  std::string id;     ///< unique to the GPU
  std::string name;   ///< its model
  int capability = 0; ///< 90 is sm_90

  /// Architecture that kernels may need (pprt/Processor.h).
  std::string processor() const { return "sm_" + std::to_string(capability); }
  /// Fails (device) if it is too old.
  Status check() const;
};

/// The view of one process.
struct Sight {
  RankRange ranks;
  std::vector<SeenGpu> gpus; ///< in the driver's order
};

/// Returns, by process, the GPUs that it takes: one for each rank, or one for
/// all. Fails (device) if there are too few, or of several models.
Expected<std::vector<std::vector<int>>>
placeRanks(const std::vector<Sight> &processes);

} // namespace pprt::cuda

#endif // PPRT_BACKENDS_CUDA_PLACEMENT_H
