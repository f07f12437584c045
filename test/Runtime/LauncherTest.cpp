//===- LauncherTest.cpp - the launcher of this process --------------------===//
//
// SPDX-License-Identifier: Apache-2.0
//
// Over the environments that launchers make.
//
//===----------------------------------------------------------------------===//
#include "pprt/Launcher.h"

#include <gtest/gtest.h>

#include <cstdlib>
#include <string>
#include <vector>

using namespace pprt;

namespace {

struct Case {
  std::vector<std::pair<const char *, const char *>> environment;
  std::string by; ///< empty: no launcher
  uint32_t rank = 0, count = 0;
  /// In a world of one process, and of all.
  bool isRefused = false, tells = false;
};

const Case kCases[] = {
    {{}, "", 0, 0},
    {{{"OMPI_COMM_WORLD_RANK", "1"}, {"OMPI_COMM_WORLD_SIZE", "2"}},
     "mpirun",
     1,
     2,
     true,
     false},
    // A process that mpirun starts within a step of SLURM.
    {{{"OMPI_COMM_WORLD_RANK", "0"},
      {"OMPI_COMM_WORLD_SIZE", "1"},
      {"PMIX_RANK", "0"},
      {"SLURM_PROCID", "1"},
      {"SLURM_STEP_NUM_TASKS", "2"}},
     "mpirun",
     0,
     1},
    // The script of a job, before any srun.
    {{{"SLURM_PROCID", "0"}, {"SLURM_NTASKS", "4"}}, "", 0, 0},
    {{{"SLURM_PROCID", "0"}, {"SLURM_STEP_NUM_TASKS", "1"}}, "SLURM", 0, 1},
    {{{"SLURM_PROCID", "0"}, {"SLURM_STEP_NUM_TASKS", "4"}},
     "SLURM",
     0,
     4,
     true,
     true},
    {{{"SLURM_PROCID", "3"}, {"SLURM_STEP_NUM_TASKS", "4"}, {"PMIX_RANK", "3"}},
     "SLURM",
     3,
     4,
     true,
     false},
    {{{"PMI_RANK", "0"}, {"PMI_SIZE", "3"}},
     "a launcher of MPICH",
     0,
     3,
     true,
     true},
    {{{"FLUX_TASK_RANK", "1"}, {"FLUX_JOB_SIZE", "2"}},
     "Flux",
     1,
     2,
     true,
     false},
    // It does not tell the number: the first may be the only one.
    {{{"PMIX_RANK", "0"}}, "a launcher with PMIx", 0, 0},
    {{{"PMIX_RANK", "1"}}, "a launcher with PMIx", 1, 0, true, true},
    {{{"PMIX_RANK", "2"}}, "a launcher with PMIx", 2, 0, true, false},
    {{{"PMIX_RANK", "many"}}, "", 0, 0},
};

TEST(Launcher, WhoIsBesideOthersDoesNotRunTheWhole) {
  for (const Case &its : kCases) {
    clearenv();
    std::string name;
    for (const auto &[variable, value] : its.environment) {
      setenv(variable, value, 1);
      name += std::string(variable) + "=" + value + " ";
    }
    const std::optional<Launched> got = findLauncher();
    ASSERT_EQ(got.has_value(), !its.by.empty()) << name;
    if (got) {
      EXPECT_EQ(got->by, its.by) << name;
      EXPECT_EQ(got->rank, its.rank) << name;
      EXPECT_EQ(got->count, its.count) << name;
    }
    const Status alone = checkLaunched(got, 1);
    EXPECT_EQ(alone.code(), its.isRefused ? ExitCode::usage : ExitCode::ok)
        << name;
    EXPECT_EQ(!alone.message().empty(), its.tells) << name;
    EXPECT_TRUE(checkLaunched(got, std::max(its.count, 2u)).ok()) << name;
  }
}

} // namespace
