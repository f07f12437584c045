//===- CpuTarget.cpp - what a compiler asks about processors --------------===//
//
// SPDX-License-Identifier: Apache-2.0
//
// In: a contraction. Out: whether the libraries at hand compute it, and what
// they want for it (pprt/Target.h). A target for each level of the psABI.
//
//===----------------------------------------------------------------------===//
#include "../Backends.h"
#include "Contraction.h"
#include "pprt/Processor.h"

using namespace pprt;

namespace {

class CpuTarget final : public Target {
public:
  /// Of no level: the processors of this machine, which have none.
  explicit CpuTarget(const std::string &level)
      : level(level), label(level.empty() ? "cpu" : level) {}

  const std::string &name() const override { return label; }
  const std::string &processor() const override { return level; }
  Status verify(const ppx::ContractionT &contraction) const override {
    // Loops compute what follows an activation in the same go.
    for (const auto &epilogue : contraction.epilogues)
      if (epilogue->kind == ppx::EpilogueKind_gelu_tanh)
        return Status(ExitCode::badArtifact,
                      "expects activations in loops, got gelu_tanh");
    return cpu::verifyContraction(contraction);
  }
  void plan(ppx::ContractionT &contraction, unsigned threads) const override {
    contraction.tf32 = false;
    cpu::planContraction(contraction, threads, level);
  }

private:
  const std::string level, label;
};

} // namespace

/// This machine's first.
std::vector<std::unique_ptr<const Target>> cpu::makeTargets() {
  std::vector<std::unique_ptr<const Target>> all;
  const std::string own = processorLevel();
  all.push_back(std::make_unique<CpuTarget>(own));
  if (!own.empty())
    for (const std::string &level : processorLevels())
      if (level != own)
        all.push_back(std::make_unique<CpuTarget>(level));
  return all;
}
