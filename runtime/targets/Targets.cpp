//===- Targets.cpp - what kernels are compiled for ------------------------===//
//
// SPDX-License-Identifier: Apache-2.0
//
// The only code that knows all targets.
//
//===----------------------------------------------------------------------===//
#include "Targets.h"
#include "pprt/Processor.h"

#include <algorithm>

using namespace pprt;

/// This machine's processor comes first.
static std::vector<std::unique_ptr<const Target>> &allTargets() {
  static std::vector<std::unique_ptr<const Target>> targets = [] {
    std::vector<std::unique_ptr<const Target>> all = cpu::makeTargets();
    for (auto &target : cuda::makeTargets())
      all.push_back(std::move(target));
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

const Target *pprt::bestTarget(const std::string &level) {
  const Target *best = nullptr;
  for (const auto &target : allTargets())
    if (runsOn(target->processor(), level) &&
        (!best || runsOn(best->processor(), target->processor())))
      best = target.get();
  return best;
}

std::string pprt::adviseTarget(const std::string &name) {
  return cuda::adviseTarget(name);
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
