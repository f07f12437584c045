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
  bool keepsRows() const override { return false; }
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
