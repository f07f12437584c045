//===- Placement.cpp - which GPU each rank has ----------------------------===//
//
// SPDX-License-Identifier: Apache-2.0
//
//===----------------------------------------------------------------------===//
#include "Placement.h"

#include <set>

using namespace pprt;
using namespace pprt::cuda;

Status SeenGpu::check() const {
  if (capability >= 80)
    return {};
  return Status(ExitCode::device,
                "expects a GPU of compute capability 8.0 or newer, got '" +
                    name + "' of " + std::to_string(capability / 10) + '.' +
                    std::to_string(capability % 10) +
                    " (choose another with CUDA_VISIBLE_DEVICES, or give "
                    "--device=cpu)");
}

static std::string countOf(size_t count) {
  return std::to_string(count) + (count == 1 ? " GPU" : " GPUs");
}

static Status tooFew(const std::vector<Sight> &processes, size_t process,
                     size_t free) {
  const Sight &its = processes[process];
  if (processes.size() == 1)
    return Status(ExitCode::device,
                  "expects " + countOf(its.ranks.size()) +
                      ", one for each rank, or one that all ranks share "
                      "(CUDA_VISIBLE_DEVICES=0), got " +
                      countOf(its.gpus.size()));
  return Status(ExitCode::device,
                "process " + std::to_string(process) + " expects " +
                    countOf(its.ranks.size()) +
                    ", one for each of its ranks, got " + countOf(free) +
                    " that no process before it has taken, of the " +
                    std::to_string(its.gpus.size()) +
                    " that it sees (look at CUDA_VISIBLE_DEVICES); give a "
                    "smaller mesh, or start pp-run without mpirun where one "
                    "GPU is to have all ranks");
}

Expected<std::vector<std::vector<int>>>
cuda::placeRanks(const std::vector<Sight> &processes) {
  if (processes.size() == 1 && processes[0].gpus.size() == 1)
    return std::vector<std::vector<int>>{{0}};
  std::vector<std::vector<int>> taken(processes.size());
  std::set<std::string> ids;
  const SeenGpu *first = nullptr;
  for (size_t process = 0; process < processes.size(); ++process) {
    const Sight &its = processes[process];
    for (size_t number = 0; number < its.gpus.size(); ++number) {
      const SeenGpu &gpu = its.gpus[number];
      if (taken[process].size() == its.ranks.size() ||
          !ids.insert(gpu.id).second)
        continue;
      first = first ? first : &gpu;
      if (gpu.name != first->name)
        return Status(
            ExitCode::device,
            "expects GPUs of one model, got '" + first->name +
                "' for rank 0 and '" + gpu.name + "' for rank " +
                std::to_string(its.ranks.begin + taken[process].size()) +
                "; choose with CUDA_VISIBLE_DEVICES");
      taken[process].push_back(int(number));
    }
    if (taken[process].size() < its.ranks.size())
      return tooFew(processes, process, taken[process].size());
  }
  return taken;
}
