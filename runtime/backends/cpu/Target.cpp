//===- Target.cpp - what a compiler asks about processors -----------------===//
//
// SPDX-License-Identifier: Apache-2.0
//
//===----------------------------------------------------------------------===//
#include "pprt/Target.h"
#include "Contraction.h"
#include "pprt/Processor.h"

#include <algorithm>

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
    return cpu::verifyContraction(contraction);
  }
  void plan(ppx::ContractionT &contraction, unsigned threads) const override {
    cpu::planContraction(contraction, threads, level);
  }

private:
  const std::string level, label;
};

} // namespace

/// This machine's first.
static std::vector<std::unique_ptr<const Target>> &allTargets() {
  static std::vector<std::unique_ptr<const Target>> targets = [] {
    std::vector<std::unique_ptr<const Target>> all;
    const std::string own = processorLevel();
    all.push_back(std::make_unique<CpuTarget>(own));
    if (!own.empty())
      for (const std::string &level : processorLevels())
        if (level != own)
          all.push_back(std::make_unique<CpuTarget>(level));
    return all;
  }();
  return targets;
}

const Target *pprt::findTarget(const std::string &name) {
  if (name == "cpu")
    return allTargets().front().get();
  for (const auto &target : allTargets())
    if (target->name() == name)
      return target.get();
  return nullptr;
}

std::vector<std::string> pprt::targetNames() {
  std::vector<std::string> names = {"cpu"};
  for (const std::string &level : processorLevels())
    if (findTarget(level))
      names.push_back(level);
  for (const auto &target : allTargets())
    if (std::find(names.begin(), names.end(), target->name()) == names.end())
      names.push_back(target->name());
  return names;
}

void pprt::addTarget(std::unique_ptr<const Target> target) {
  allTargets().push_back(std::move(target));
}
