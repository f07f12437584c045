//===- GpuTarget.cpp - what a compiler asks about GPUs --------------------===//
//
// SPDX-License-Identifier: Apache-2.0
//
// cublasLt computes contractions, as Matrices.h plans. Nothing here needs CUDA.
//
//===----------------------------------------------------------------------===//
#include "../Targets.h"
#include "Remainders.h"
#include "pprt/Alignment.h"
#include "pprt/Program.h"

#include <algorithm>

using namespace pprt;

/// Workspace for any algorithm, so that one can be chosen on the device without
/// changing the memory layout. NVIDIA advises 32 MiB from Hopper on; algorithms
/// keep parts of sums in it, so small results need less.
static uint64_t findWorkspace(const ppx::ContractionT &contraction,
                              int capability) {
  constexpr double least = 4 << 20, most = 32 << 20, parts = 16;
  double sums =
      parts * sizeof(float) * double(contraction.m) * double(contraction.n);
  for (const uint64_t extent : contraction.batch)
    sums *= double(extent);
  return capability < 90 ? uint64_t(least)
                         : uint64_t(std::clamp(sums, least, most));
}

namespace {

class GpuTarget final : public Target {
public:
  explicit GpuTarget(int capability)
      : capability(capability), label("sm_" + std::to_string(capability)) {}

  const std::string &name() const override { return label; }
  const std::string &processor() const override { return label; }
  Code code() const override { return Code::ptx; }
  /// PTX that drivers from CUDA 12.0 on read, if that knows the architecture:
  /// LLVM's own choice is the oldest version.
  std::string features() const override {
    return capability <= 90 ? "+ptx80" : "";
  }
  /// Lanes that keep a row in registers, on more than a hundred cores that read
  /// sectors of 32 bytes. A launch takes as long as a small kernel.
  KernelTuning kernelTuning() const override {
    KernelTuning tuning;
    tuning.keepsRows = false;
    tuning.serialElements = 1 << 10;
    tuning.serialSumElements = 16 << 10;
    tuning.dividesSums = true;
    tuning.sumBlockRows = 0;
    tuning.leastSums = 512;
    tuning.mostSumElements = 8 << 10;
    tuning.lanesOfRow = 256;
    tuning.columnsOfCore = 16;
    tuning.mostMoreParts = 4;
    tuning.productTile = 128;
    tuning.leastTiles = 32;
    tuning.leastTilesOfHalves = 4;
    tuning.leastPartLength = 256;
    tuning.leastRowElements = 32;
    tuning.mostRowElements = 1024;
    tuning.leastRows = 1024;
    tuning.leastColumns = 8;
    tuning.columnFactor = 4;
    tuning.leastRunBytes = 32;
    tuning.tensorsPerLaunch = 16;
    tuning.sumsPerLaunch = 4; // each has its own memory
    // ptxas takes 4352 bytes of parameters for drivers before 12.1, and an
    // address has 8; there are fewer registers to hold addresses.
    tuning.mostBuffers = 128;
    tuning.leastCopyUses = 8;
    tuning.mostLiveValues = 32; // of 4 elements: half of a thread's registers
    return tuning;
  }
  /// "For best performance ... leading dimensions are multiples of 16 bytes";
  /// of whole lines if that costs next to nothing.
  uint64_t rowPitch(ppx::ElementType element, uint64_t size) const override {
    constexpr uint64_t kLine = 64;
    const uint64_t least = cuda::kTensorCoreBytes / elementSize(element);
    if (size % least == 0)
      return size;
    const auto isLittle = [&](uint64_t pitch, uint64_t share) {
      return (pitch - size) * share <= size;
    };
    if (const uint64_t pitch = alignUp(size, kLine); isLittle(pitch, 32))
      return pitch;
    const uint64_t pitch = alignUp(size, least);
    return isLittle(pitch, 8) ? pitch : size;
  }
  Status verify(const ppx::ContractionT &contraction) const override {
    return cuda::findProducts(contraction).status();
  }
  /// The GPU's cublasLt decides which algorithms there are.
  bool mayRefuseEpilogues() const override { return true; }
  void plan(ppx::ContractionT &contraction, unsigned threads) const override {
    contraction.workspace_bytes = findWorkspace(contraction, capability);
    contraction.library = ppx::MatrixLibrary_any;
  }

private:
  const int capability;
  const std::string label;
};

} // namespace

std::string cuda::adviseTarget(const std::string &name) {
  if (name.compare(0, 3, "sm_") != 0)
    return "";
  // A letter may follow the number: features of that architecture only.
  const size_t end = name.find_first_not_of("0123456789", 3);
  if (end != name.npos && (end + 1 < name.size() || end == 3))
    return "";
  const Target *target = bestTarget(name.substr(0, end));
  if (!target)
    return "; GPUs need compute capability 8.0 or newer";
  return "; for this GPU pass " + target->name() +
         ", which later GPUs run, too";
}

uint64_t cuda::launchBytes(const ppx::ContractionT &contraction) {
  const auto products = findProducts(contraction);
  return products ? tableBytes(findParts(contraction, *products)) : 0;
}

std::vector<std::unique_ptr<const Target>> cuda::makeTargets() {
  std::vector<std::unique_ptr<const Target>> all;
  for (const int capability : {80, 90, 100})
    all.push_back(std::make_unique<GpuTarget>(capability));
  return all;
}
