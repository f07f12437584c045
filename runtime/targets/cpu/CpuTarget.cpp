//===- CpuTarget.cpp - what a compiler asks about processors --------------===//
//
// SPDX-License-Identifier: Apache-2.0
//
// In: a contraction. Out: whether processors compute it, with which library,
// and in how much memory (pprt/Target.h). There is a target for each level of
// the psABI; the level is all that is known of a processor.
//
//===----------------------------------------------------------------------===//
#include "../Targets.h"
#include "BlockedProduct.h"
#include "pprt/Processor.h"
#include "pprt/Program.h"

#include <algorithm>

using namespace pprt;
using namespace pprt::cpu;

Status cpu::verifyContraction(const ppx::ContractionT &contraction) {
  for (ppx::ElementType element :
       {contraction.element, contraction.out_element})
    if (element != ppx::ElementType_f32 && element != ppx::ElementType_f64 &&
        !isNarrowFloat(element))
      return Status(ExitCode::badArtifact,
                    std::string("contraction expects floats, got ") +
                        ppx::EnumNameElementType(element));
  for (const std::unique_ptr<ppx::EpilogueT> &epilogue : contraction.epilogues)
    if (writesMore(*epilogue) ||
        epilogue->kind == ppx::EpilogueKind_gelu_tanh_gradient)
      return Status(ExitCode::badArtifact,
                    std::string("contraction expects one result, and none of a "
                                "gradient's epilogues, on processors, got ") +
                        ppx::EnumNameEpilogueKind(epilogue->kind));
  return {};
}

namespace {

class CpuTarget final : public Target {
public:
  /// An empty level stands for this machine's processors, which have none.
  explicit CpuTarget(const std::string &level)
      : level(level), label(level.empty() ? "cpu" : level) {}

  const std::string &name() const override { return label; }
  const std::string &processor() const override { return level; }

  Status verify(const ppx::ContractionT &contraction) const override {
    // Compiled loops compute what follows an activation in one pass.
    for (const auto &epilogue : contraction.epilogues)
      if (epilogue->kind == ppx::EpilogueKind_gelu_tanh)
        return Status(ExitCode::badArtifact,
                      "expects activations in loops, got gelu_tanh");
    return verifyContraction(contraction);
  }

  /// Some processors of a level lack the fastest ways, and take the first that
  /// all of them have: the workspace is large enough for each of these.
  void plan(ppx::ContractionT &contraction, unsigned threads) const override {
    contraction.tf32 = false;
    contraction.library = ppx::MatrixLibrary_any;
    contraction.workspace_bytes = 0;
    for (const Way way : waysFor(contraction, runsOn("x86-64-v4", level))) {
      const BlockedProduct product(contraction, way);
      if (!product.isTaken())
        continue;
      if (contraction.library == ppx::MatrixLibrary_any)
        contraction.library = way.library;
      contraction.workspace_bytes = std::max(contraction.workspace_bytes,
                                             product.workspaceBytes(threads));
      if (way.isCertain)
        return;
    }
  }

private:
  const std::string level, label;
};

} // namespace

/// This machine's level comes first.
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
