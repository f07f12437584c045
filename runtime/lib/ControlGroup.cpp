//===- ControlGroup.cpp - limits that containers set ----------------------===//
//
// SPDX-License-Identifier: Apache-2.0
//
//===----------------------------------------------------------------------===//
#include "pprt/ControlGroup.h"

#include <algorithm>
#include <cstdlib>
#include <fstream>
#include <sstream>
#include <vector>

using namespace pprt;

/// Version 1 reports the largest number of pages for groups without a limit.
static constexpr uint64_t kNoLimit = uint64_t(1) << 60;

namespace {

/// Mount point of a controller's groups, and the group of this process.
struct Hierarchy {
  std::string mount, group;
};

} // namespace

static std::vector<std::string> linesOf(const std::string &path) {
  std::vector<std::string> lines;
  std::ifstream file(path);
  for (std::string line; std::getline(file, line);)
    lines.push_back(line);
  return lines;
}

static bool lists(const std::string &commaSeparated, const std::string &name) {
  std::istringstream words(commaSeparated);
  for (std::string word; std::getline(words, word, ',');)
    if (word == name)
      return true;
  return false;
}

/// An empty `controller` stands for version 2.
static std::optional<Hierarchy> findHierarchy(const std::string &root,
                                              const std::string &controller) {
  // A line is "4:memory,cpu:/path", in version 2 "0::/path".
  std::optional<std::string> path;
  for (const std::string &line : linesOf(root + "/proc/self/cgroup")) {
    const size_t first = line.find(':'), second = line.find(':', first + 1);
    if (first == std::string::npos || second == std::string::npos)
      continue;
    const std::string names = line.substr(first + 1, second - first - 1);
    if (controller.empty() ? names.empty() : lists(names, controller))
      path = line.substr(second + 1);
  }
  if (!path)
    return std::nullopt;
  // "36 25 0:31 ROOT MOUNT rw,... - cgroup cgroup rw,memory"
  for (const std::string &line : linesOf(root + "/proc/self/mountinfo")) {
    std::istringstream words(line);
    std::string skipped, from, mount, type, options;
    words >> skipped >> skipped >> skipped >> from >> mount;
    while (words >> skipped && skipped != "-")
      continue;
    words >> type >> skipped >> options;
    if (controller.empty() ? type != "cgroup2"
                           : type != "cgroup" || !lists(options, controller))
      continue;
    // A container mounts a part of the tree as if it were all.
    if (from != "/" && path->compare(0, from.size(), from) == 0 &&
        (path->size() == from.size() || (*path)[from.size()] == '/'))
      path = path->substr(from.size());
    else if (from != "/")
      path = "";
    return Hierarchy{mount, *path};
  }
  return std::nullopt;
}

/// Calls f(folder, group) for the process's group and those around it.
template <typename Function>
static void forEachGroup(const std::string &root,
                         const std::optional<Hierarchy> &its, Function &&f) {
  if (!its)
    return;
  std::string group = its->group;
  while (true) {
    while (!group.empty() && group.back() == '/')
      group.pop_back();
    f(root + its->mount + group, group);
    if (group.empty())
      return;
    group.resize(group.rfind('/') == std::string::npos ? 0 : group.rfind('/'));
  }
}

/// Reads the first words of a file as numbers; nothing for other words.
static std::vector<std::optional<double>> numbersOf(const std::string &path) {
  std::vector<std::optional<double>> numbers;
  std::ifstream file(path);
  for (std::string word; file >> word;) {
    char *end = nullptr;
    const double number = std::strtod(word.c_str(), &end);
    numbers.push_back(*end == '\0' ? std::optional<double>(number)
                                   : std::nullopt); // "max"
  }
  return numbers;
}

GroupLimits pprt::groupLimits(const std::string &root) {
  GroupLimits limits;
  const auto limitMemory = [&](const std::string &file,
                               const std::string &group) {
    const auto numbers = numbersOf(file);
    if (numbers.empty() || !numbers[0] || *numbers[0] >= double(kNoLimit))
      return;
    const auto bytes = uint64_t(*numbers[0]);
    const std::string name = group.empty() ? "/" : group;
    for (GroupLimits::Memory &known : limits.memory)
      if (known.group == name) { // from the other version
        known.bytes = std::min(known.bytes, bytes);
        return;
      }
    limits.memory.push_back({name, bytes});
  };
  const auto limitCores = [&](std::optional<double> quota,
                              std::optional<double> period) {
    if (quota && period && *quota > 0 && *period > 0)
      limits.cores = std::min(limits.cores.value_or(1e9), *quota / *period);
  };
  forEachGroup(root, findHierarchy(root, ""),
               [&](const std::string &folder, const std::string &group) {
                 limitMemory(folder + "/memory.max", group);
                 const auto cpu = numbersOf(folder + "/cpu.max");
                 if (cpu.size() == 2)
                   limitCores(cpu[0], cpu[1]);
               });
  forEachGroup(root, findHierarchy(root, "memory"),
               [&](const std::string &folder, const std::string &group) {
                 limitMemory(folder + "/memory.limit_in_bytes", group);
               });
  forEachGroup(root, findHierarchy(root, "cpu"),
               [&](const std::string &folder, const std::string &) {
                 const auto quota = numbersOf(folder + "/cpu.cfs_quota_us"),
                            period = numbersOf(folder + "/cpu.cfs_period_us");
                 if (quota.size() == 1 && period.size() == 1)
                   limitCores(quota[0], period[0]);
               });
  std::stable_sort(
      limits.memory.begin(), limits.memory.end(),
      [](const GroupLimits::Memory &a, const GroupLimits::Memory &b) {
        return a.bytes < b.bytes;
      });
  return limits;
}
