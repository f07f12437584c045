//===- Memory.cpp - does every arena fit its device? ----------------------===//
//
// SPDX-License-Identifier: Apache-2.0
//
// The arena is static, so its size is the peak and needs no simulation.
//
//===----------------------------------------------------------------------===//
#include "Passes.h"
#include "pprt/Bytes.h"

using namespace pprt;
using namespace pprt::checks;

void checks::checkMemory(const Ranks &ranks, uint64_t limit,
                         FindingList &report) {
  for (const std::unique_ptr<ppx::ProgramT> &program :
       ranks.artifact.programs) {
    report.work(1);
    if (program->arena_bytes <= limit)
      continue;
    const uint32_t rank = program->ranks.front();
    report.add(text("rank ", rank, " (program '", program->name,
                    "') expects an arena within the memory limit of ",
                    printLimit(limit), ", got ",
                    printLimit(program->arena_bytes)),
               rank);
  }
}
