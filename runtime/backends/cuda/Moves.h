//===- Moves.h - moves between ranks that share a GPU -----------*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0
//
// In: a move of a comm op (pprt/CommOps.h) whose members have their memory on
// one GPU. Out: a launch that performs it: each thread reads its elements from
// every source, reduces them in the order of the sources as the processor does
// (collectives/inprocess/Reduce.h), and writes the result to every target. So
// the bits are those of the processor.
//
//===----------------------------------------------------------------------===//
#ifndef PPRT_BACKENDS_CUDA_MOVES_H
#define PPRT_BACKENDS_CUDA_MOVES_H

#include "Kernels.h"
#include "pprt/StreamDevice.h"

#include <map>

namespace pprt::cuda {

class Mover {
public:
  explicit Mover(std::shared_ptr<const Gpu> gpu) : gpu(std::move(gpu)) {}
  ~Mover();

  /// The mover must outlive the launch.
  Expected<std::unique_ptr<const Launch>> bind(const enqueued::BoundMove &move);

private:
  Expected<CUfunction> kernel(const enqueued::BoundMove &move);

  const std::shared_ptr<const Gpu> gpu;
  std::map<std::string, std::pair<CUmodule, CUfunction>> kernels; ///< by name
};

} // namespace pprt::cuda

#endif // PPRT_BACKENDS_CUDA_MOVES_H
