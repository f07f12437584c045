//===- ControlGroupTest.cpp - limits that containers set ------------------===//
//
// SPDX-License-Identifier: Apache-2.0
//
// Over files like the system's, in a folder of the test's own.
//
//===----------------------------------------------------------------------===//
#include "pprt/ControlGroup.h"

#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <vector>

using namespace pprt;
namespace fs = std::filesystem;

namespace {

struct Case {
  const char *name;
  const char *groups, *mounts; ///< of /proc/self
  std::vector<std::pair<const char *, const char *>> files;
  std::vector<std::pair<std::string, uint64_t>> memory;
  std::optional<double> cores;
};

constexpr char kUnified[] =
    "30 25 0:26 / /sys/fs/cgroup rw,nosuid - cgroup2 cgroup2 rw\n";
constexpr char kOld[] =
    "31 25 0:27 / /sys/fs/cgroup/memory rw - cgroup cgroup rw,memory\n"
    "32 25 0:28 / /sys/fs/cgroup/cpu rw shared:9 - cgroup cgroup "
    "rw,cpu,cpuacct\n";

const Case kCases[] = {
    {"nothing", "", "", {}, {}, {}},
    {"without limits",
     "0::/user\n",
     kUnified,
     {{"sys/fs/cgroup/user/memory.max", "max"},
      {"sys/fs/cgroup/user/cpu.max", "max 100000"}},
     {},
     {}},
    {"version 2",
     "0::/job/step/task\n",
     kUnified,
     {{"sys/fs/cgroup/job/memory.max", "1000000"},
      {"sys/fs/cgroup/job/step/memory.max", "2000000"},
      {"sys/fs/cgroup/job/step/task/memory.max", "max"},
      {"sys/fs/cgroup/job/step/cpu.max", "150000 100000"},
      {"sys/fs/cgroup/job/cpu.max", "800000 100000"}},
     {{"/job", 1000000}, {"/job/step", 2000000}},
     1.5},
    {"version 1",
     "4:memory:/job/task\n3:cpu,cpuacct:/job\n2:name=systemd:/other\n",
     kOld,
     {{"sys/fs/cgroup/memory/memory.limit_in_bytes", "9223372036854771712"},
      {"sys/fs/cgroup/memory/job/memory.limit_in_bytes", "3000000"},
      {"sys/fs/cgroup/memory/job/task/memory.limit_in_bytes", "2500000"},
      {"sys/fs/cgroup/cpu/cpu.cfs_quota_us", "-1"},
      {"sys/fs/cgroup/cpu/cpu.cfs_period_us", "100000"},
      {"sys/fs/cgroup/cpu/job/cpu.cfs_quota_us", "300000"},
      {"sys/fs/cgroup/cpu/job/cpu.cfs_period_us", "100000"}},
     {{"/job/task", 2500000}, {"/job", 3000000}},
     3.0},
    {"the root of a container's own",
     "0::/\n",
     kUnified,
     {{"sys/fs/cgroup/memory.max", "4096"},
      {"sys/fs/cgroup/cpu.max", "50000 100000"}},
     {{"/", 4096}},
     0.5},
    {"a part of the tree that is mounted as all",
     "0::/docker/1234/inner\n",
     "30 25 0:26 /docker/1234 /sys/fs/cgroup rw - cgroup2 cgroup2 rw\n",
     {{"sys/fs/cgroup/memory.max", "8192"},
      {"sys/fs/cgroup/inner/memory.max", "4096"}},
     {{"/inner", 4096}, {"/", 8192}},
     {}},
    {"another part, whose name begins alike",
     "0::/docker/1234\n",
     "30 25 0:26 /docker/12 /sys/fs/cgroup rw - cgroup2 cgroup2 rw\n",
     {{"sys/fs/cgroup/memory.max", "8192"},
      {"sys/fs/cgroup34/memory.max", "1"}},
     {{"/", 8192}},
     {}},
    {"files that say something else",
     "no colons\n0::/a\n",
     "too short\n30 25 0:26 / /sys/fs/cgroup rw - cgroup2 cgroup2 rw\n",
     {{"sys/fs/cgroup/a/memory.max", ""}, {"sys/fs/cgroup/a/cpu.max", "many"}},
     {},
     {}},
};

TEST(ControlGroup, LimitsAreThoseOfAllGroupsAround) {
  const fs::path root =
      fs::temp_directory_path() / ("pp-groups-" + std::to_string(getpid()));
  for (const Case &its : kCases) {
    fs::remove_all(root);
    const auto write = [&](const std::string &path, const char *text) {
      fs::create_directories((root / path).parent_path());
      std::ofstream(root / path) << text << "\n";
    };
    write("proc/self/cgroup", its.groups);
    write("proc/self/mountinfo", its.mounts);
    for (const auto &[path, text] : its.files)
      write(path, text);
    const GroupLimits got = groupLimits(root.string());
    std::vector<std::pair<std::string, uint64_t>> memory;
    for (const GroupLimits::Memory &limit : got.memory)
      memory.emplace_back(limit.group, limit.bytes);
    EXPECT_EQ(memory, its.memory) << its.name;
    EXPECT_EQ(got.cores, its.cores) << its.name;
  }
  fs::remove_all(root);
}

} // namespace
