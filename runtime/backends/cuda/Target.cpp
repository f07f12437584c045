//===- Target.cpp - what a compiler asks about GPUs -----------------------===//
//
// SPDX-License-Identifier: Apache-2.0
//
// Contractions are cublasLt's, as Matrices.h has them. Nothing here needs CUDA.
//
//===----------------------------------------------------------------------===//
#include "../Targets.h"
#include "Matrices.h"

using namespace pprt;

/// What every algorithm may take, so that one can be chosen on the device
/// without another layout of memory. NVIDIA advises 32 MiB for the largest
/// products on Hopper; those of a slot's size do with less.
static constexpr uint64_t kWorkspaceBytes = 4 << 20;

namespace {

class GpuTarget final : public Target {
public:
  explicit GpuTarget(const std::string &label) : label(label) {}

  const std::string &name() const override { return label; }
  const std::string &processor() const override { return label; }
  Code code() const override { return Code::ptx; }
  /// Lanes that keep a row in registers, on more than a hundred cores that read
  /// sectors of 32 bytes. A launch costs as much as a small kernel computes.
  KernelWishes kernelWishes() const override {
    KernelWishes wishes;
    wishes.keepsRows = false;
    wishes.serialElements = 1 << 10;
    wishes.serialSumElements = 16 << 10;
    wishes.dividesSums = true;
    wishes.leastRowElements = 32;
    wishes.mostRowElements = 1024;
    wishes.leastRows = 1024;
    wishes.leastColumns = 8;
    wishes.columnFactor = 4;
    wishes.leastRunBytes = 32;
    wishes.tensorsPerLaunch = 16;
    wishes.sumsPerLaunch = 4; // each has a room of its own
    return wishes;
  }
  Status verify(const ppx::ContractionT &contraction) const override {
    return cuda::findProducts(contraction).status();
  }
  void plan(ppx::ContractionT &contraction, unsigned threads) const override {
    contraction.workspace_bytes = kWorkspaceBytes;
    contraction.library = ppx::MatrixLibrary_any;
  }

private:
  const std::string label;
};

} // namespace

std::vector<std::unique_ptr<const Target>> cuda::makeTargets() {
  std::vector<std::unique_ptr<const Target>> all;
  for (const char *name : {"sm_80", "sm_90", "sm_100"})
    all.push_back(std::make_unique<GpuTarget>(name));
  return all;
}
