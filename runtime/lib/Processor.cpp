//===- Processor.cpp - what compiled kernels need -------------------------===//
//
// SPDX-License-Identifier: Apache-2.0
//
//===----------------------------------------------------------------------===//
#include "pprt/Processor.h"

#include <vector>

using namespace pprt;

/// From the lowest.
static std::vector<std::string> processorLevels() {
  std::vector<std::string> levels;
#if defined(__x86_64__)
  levels.push_back("x86-64");
  if (__builtin_cpu_supports("x86-64-v2"))
    levels.push_back("x86-64-v2");
  if (__builtin_cpu_supports("x86-64-v3"))
    levels.push_back("x86-64-v3");
  if (__builtin_cpu_supports("x86-64-v4"))
    levels.push_back("x86-64-v4");
#endif
  return levels;
}

std::string pprt::processorLevel() {
  const std::vector<std::string> levels = processorLevels();
  return levels.empty() ? "" : levels.back();
}

bool pprt::hasProcessorLevel(const std::string &level) {
  for (const std::string &own : processorLevels())
    if (own == level)
      return true;
  return level.empty();
}
