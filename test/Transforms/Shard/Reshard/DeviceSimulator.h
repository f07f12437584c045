//===- DeviceSimulator.h - Runs reshard steps on every device -*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0
//
// Judges the values of a plan: every device holds an integer tensor, every step
// is carried out on these tensors by its definition, and the outcome is
// compared with what the sharding promises. Errors come back as text.
//
//===----------------------------------------------------------------------===//

#ifndef PP_TEST_TRANSFORMS_SHARD_RESHARD_DEVICESIMULATOR_H
#define PP_TEST_TRANSFORMS_SHARD_RESHARD_DEVICESIMULATOR_H

#include "pp/Transforms/Shard/ReshardPlanner.h"

namespace pp::reshard::judge {

/// A dense row-major tensor.
struct Tensor {
  std::vector<int64_t> shape;
  std::vector<int64_t> data;
};

/// What each device of a mesh holds.
using Devices = std::vector<Tensor>;

/// A tensor whose elements are all different.
Tensor numbered(const std::vector<int64_t> &shape);

/// Lays `global` out on the mesh; partial values become random addends.
Devices distribute(const Mesh &mesh, const Tensor &global,
                   const TensorSharding &sharding, unsigned seed);

/// Carries out one step.
std::string apply(const Mesh &mesh, const ReshardStep &step, Devices &devices);

/// Why `devices` do not hold `global` laid out by `sharding`; empty if they do.
std::string findDifference(const Mesh &mesh, const Tensor &global,
                           const TensorSharding &sharding,
                           const Devices &devices);

} // namespace pp::reshard::judge

#endif // PP_TEST_TRANSFORMS_SHARD_RESHARD_DEVICESIMULATOR_H
