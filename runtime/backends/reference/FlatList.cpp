//===- FlatList.cpp - what a program runs, written out --------------------===//
//
// SPDX-License-Identifier: Apache-2.0
//
//===----------------------------------------------------------------------===//
#include "FlatList.h"

using namespace pprt;
using namespace pprt::reference;

using Calls = std::vector<std::unique_ptr<ppx::CallT>>;

/// `firsts`, by slot, is where its copies are among the new slots.
static void writeOut(const ppx::ProgramT &program, const Calls &calls,
                     const std::vector<uint32_t> &firsts, ppx::ProgramT &result,
                     Calls &call) {
  call.push_back(std::make_unique<ppx::CallT>());
  call.back()->routine = uint32_t(result.routines.size());
  result.routines.push_back(std::make_unique<ppx::RoutineT>());
  std::vector<uint32_t> begun(program.queues.size());
  for (const auto &call : calls) {
    const auto &routine = program.routines[call->routine]->instructions;
    std::vector<uint32_t> now = begun;
    for (size_t place = 0; place < routine.size(); ++place) {
      auto copy = std::make_unique<ppx::InstructionT>(*routine[place]);
      if (call->micro_batch != -1)
        copy->micro_batch = call->micro_batch;
      for (uint32_t &slot : copy->arguments) {
        const size_t copies = 1 + program.slots[slot]->more.size();
        const size_t turn =
            copy->micro_batch < 0 ? 0 : size_t(copy->micro_batch) % copies;
        slot = firsts[slot] + uint32_t(turn);
      }
      for (ppx::Wait &wait : copy->waits)
        wait = ppx::Wait(wait.queue(), begun[wait.queue()] + wait.count());
      for (const ppx::CallWait &wait : call->waits)
        if (wait.instruction() == place)
          copy->waits.emplace_back(wait.queue(), wait.count());
      ++now[copy->queue];
      result.routines.back()->instructions.push_back(std::move(copy));
    }
    begun = std::move(now);
  }
}

ppx::ProgramT reference::writeOut(const ppx::ProgramT &program) {
  ppx::ProgramT result = program;
  result.slots.clear();
  std::vector<uint32_t> firsts;
  for (const auto &slot : program.slots) {
    firsts.push_back(uint32_t(result.slots.size()));
    std::vector<uint64_t> offsets = {slot->offset};
    offsets.insert(offsets.end(), slot->more.begin(), slot->more.end());
    for (uint64_t offset : offsets) {
      result.slots.push_back(std::make_unique<ppx::SlotT>(*slot));
      result.slots.back()->offset = offset;
      result.slots.back()->more.clear();
    }
  }
  for (int32_t &slot : result.argument_slots)
    if (slot >= 0)
      slot = int32_t(firsts[size_t(slot)]);
  result.routines.clear();
  for (Calls *calls : {&result.setup, &result.body, &result.teardown})
    calls->clear();
  ::writeOut(program, program.setup, firsts, result, result.setup);
  ::writeOut(program, program.body, firsts, result, result.body);
  ::writeOut(program, program.teardown, firsts, result, result.teardown);
  return result;
}
