//===- Processor.cpp - what this machine is -------------------------------===//
//
// SPDX-License-Identifier: Apache-2.0
//
//===----------------------------------------------------------------------===//
#include "pprt/Processor.h"

#include <algorithm>
#include <fcntl.h>
#include <unistd.h>

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

std::string pprt::machineId() {
  // The kernel draws a random one when it boots.
  char id[64] = "";
  const int file =
      ::open("/proc/sys/kernel/random/boot_id", O_RDONLY | O_CLOEXEC);
  const ssize_t length = file < 0 ? 0 : ::read(file, id, sizeof(id) - 1);
  if (file >= 0)
    ::close(file);
  if (length <= 0)
    gethostname(id, sizeof(id) - 1);
  return id;
}

namespace {

/// An architecture of a family with numbers, as GPUs have.
struct Numbered {
  explicit Numbered(const std::string &level)
      : family(level.substr(0, level.find_last_not_of("0123456789") + 1)) {
    const std::string digits = level.substr(family.size());
    if (!digits.empty() && digits.size() < 5)
      number = std::stoi(digits);
  }

  std::string family;
  int number = 0; ///< 0: no number
};

} // namespace

bool pprt::isProcessorLevel(const std::string &level) {
  const auto &levels = processorLevels();
  return std::find(levels.begin(), levels.end(), level) != levels.end();
}

bool pprt::runsOn(const std::string &needed, const std::string &own) {
  const Numbered its(needed), other(own);
  if (its.number && !isProcessorLevel(needed))
    return its.family == other.family && its.number <= other.number;
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
