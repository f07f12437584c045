//===- Launcher.cpp - the launcher of this process ------------------------===//
//
// SPDX-License-Identifier: Apache-2.0
//
//===----------------------------------------------------------------------===//
#include "pprt/Launcher.h"

#include <cstdlib>

using namespace pprt;

namespace {

/// Environment variables of one launcher.
struct Names {
  const char *by, *rank, *count;
};

/// Launchers that start others come later: mpirun in a job of SLURM starts its
/// daemons by srun, and all have PMIx.
constexpr Names kLaunchers[] = {
    {"mpirun", "OMPI_COMM_WORLD_RANK", "OMPI_COMM_WORLD_SIZE"},
    {"a launcher of MPICH", "PMI_RANK", "PMI_SIZE"},
    {"Flux", "FLUX_TASK_RANK", "FLUX_JOB_SIZE"},
    {"SLURM", "SLURM_PROCID", "SLURM_STEP_NUM_TASKS"},
    {"a launcher with PMIx", "PMIX_RANK", nullptr},
};

} // namespace

static std::optional<uint32_t> numberIn(const char *variable) {
  const char *text = variable ? std::getenv(variable) : nullptr;
  char *end = nullptr;
  const unsigned long number = text ? std::strtoul(text, &end, 10) : 0;
  return text && end != text && *end == '\0' ? std::optional(uint32_t(number))
                                             : std::nullopt;
}

std::optional<Launched> pprt::findLauncher() {
  for (const Names &its : kLaunchers) {
    const std::optional<uint32_t> rank = numberIn(its.rank),
                                  count = numberIn(its.count);
    // A script that SLURM runs without srun has a rank and no step.
    if (rank && (count || !its.count))
      return Launched{its.by, *rank, count.value_or(0)};
  }
  return std::nullopt;
}

Status pprt::checkLaunched(const std::optional<Launched> &its, uint32_t got) {
  if (!its || got > 1 || (its->count == 0 ? its->rank == 0 : its->count == 1))
    return {};
  const std::string all =
      its->count ? "the " + std::to_string(its->count) : std::string("all");
  return Status(
      ExitCode::usage,
      its->rank > 1 || (its->rank == 1 && its->count > 0)
          ? ""
          : "expects MPI to join " + all + " processes that " + its->by +
                " has started, got one alone in each, which would all run the "
                "whole: start them by mpirun, or by 'srun --mpi=pmix' where "
                "SLURM and Open MPI were built with PMIx; --launcher=threads "
                "runs the whole in each");
}
