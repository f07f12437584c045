//===- Processor.cpp - what compiled kernels need -------------------------===//
//
// SPDX-License-Identifier: Apache-2.0
//
//===----------------------------------------------------------------------===//
#include "pprt/Processor.h"

#include <algorithm>

using namespace pprt;

const std::vector<std::string> &pprt::processorLevels() {
  static const std::vector<std::string> levels = {"x86-64", "x86-64-v2",
                                                  "x86-64-v3", "x86-64-v4"};
  return levels;
}

std::string pprt::processorLevel() {
#if defined(__x86_64__)
  // The names have to be literals.
  if (__builtin_cpu_supports("x86-64-v4"))
    return "x86-64-v4";
  if (__builtin_cpu_supports("x86-64-v3"))
    return "x86-64-v3";
  return __builtin_cpu_supports("x86-64-v2") ? "x86-64-v2" : "x86-64";
#else
  return "";
#endif
}

bool pprt::runsOn(const std::string &needed, const std::string &own) {
  const auto &levels = processorLevels();
  const auto has = std::find(levels.begin(), levels.end(), own);
  return needed.empty() ||
         (has != levels.end() &&
          std::find(levels.begin(), has + 1, needed) != has + 1);
}

bool pprt::hasProcessorLevel(const std::string &level) {
  return runsOn(level, processorLevel());
}

std::string pprt::lowestLevel(const std::vector<std::string> &levels) {
  for (const std::string &level : levels)
    if (std::all_of(levels.begin(), levels.end(),
                    [&](const std::string &own) { return runsOn(level, own); }))
      return level;
  return "";
}
