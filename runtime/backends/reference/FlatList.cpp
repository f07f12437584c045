//===- FlatList.cpp - what a section runs, written out --------------------===//
//
// SPDX-License-Identifier: Apache-2.0
//
//===----------------------------------------------------------------------===//
#include "FlatList.h"

using namespace pprt;
using namespace pprt::reference;

FlatList
reference::writeOut(const ppx::ProgramT &program,
                    const std::vector<std::unique_ptr<ppx::CallT>> &calls) {
  FlatList list;
  std::vector<uint32_t> begun(program.queues.size());
  for (const auto &call : calls) {
    const auto &routine = program.routines[call->routine]->instructions;
    std::vector<uint32_t> now = begun;
    for (size_t place = 0; place < routine.size(); ++place) {
      auto copy = std::make_unique<ppx::InstructionT>(*routine[place]);
      if (call->micro_batch != -1)
        copy->micro_batch = call->micro_batch;
      const auto turn =
          copy->micro_batch < 0 ? 0u : uint32_t(copy->micro_batch);
      for (uint32_t &slot : copy->arguments)
        slot += turn % program.slots[slot]->copies;
      for (ppx::Wait &wait : copy->waits)
        wait = ppx::Wait(wait.queue(), begun[wait.queue()] + wait.count());
      for (const ppx::CallWait &wait : call->waits)
        if (wait.instruction() == place)
          copy->waits.emplace_back(wait.queue(), wait.count());
      ++now[copy->queue];
      list.push_back(std::move(copy));
    }
    begun = std::move(now);
  }
  return list;
}
