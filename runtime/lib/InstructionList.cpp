//===- InstructionList.cpp - the instructions of a section as they run ----===//
//
// SPDX-License-Identifier: Apache-2.0
//
//===----------------------------------------------------------------------===//
#include "pprt/InstructionList.h"

#include <utility>

using namespace pprt;

const std::vector<std::unique_ptr<ppx::CallT>> &
pprt::callsOf(const ppx::ProgramT &program, Section section) {
  switch (section) {
  case Section::setup:
    return program.setup;
  case Section::body:
    return program.body;
  case Section::teardown:
    break;
  }
  return program.teardown;
}

std::vector<std::unique_ptr<ppx::CallT>> &pprt::callsOf(ppx::ProgramT &program,
                                                        Section section) {
  return const_cast<std::vector<std::unique_ptr<ppx::CallT>> &>(
      callsOf(std::as_const(program), section));
}

SlotCopies::SlotCopies(const ppx::ProgramT &program) : program(&program) {
  for (uint32_t slot = 0; slot < program.slots.size(); ++slot) {
    first.push_back(size());
    slots.insert(slots.end(), 1 + program.slots[slot]->more.size(), slot);
  }
}

InstructionList::InstructionList(const ppx::ProgramT &program, Section section)
    : program(&program), calls(&callsOf(program, section)) {
  for (const auto &routine : program.routines) {
    firstOfRoutine.push_back(uint32_t(written.size()));
    for (const auto &instruction : routine->instructions)
      written.push_back(instruction.get());
  }
  firstOfRoutine.push_back(uint32_t(written.size()));
  size_t count = 0;
  const auto exists = [&](const ppx::CallT &call) {
    return call.routine < program.routines.size();
  };
  for (const auto &call : *calls)
    if (exists(*call))
      count += program.routines[call->routine]->instructions.size();
  items.reserve(count);
  std::vector<uint32_t> counts(program.queues.size());
  before.reserve(counts.size() * calls->size());
  for (uint32_t number = 0; number < calls->size(); ++number) {
    const ppx::CallT &call = *(*calls)[number];
    before.insert(before.end(), counts.begin(), counts.end());
    if (!exists(call))
      continue;
    for (uint32_t i = firstOfRoutine[call.routine];
         i < firstOfRoutine[call.routine + 1]; ++i) {
      items.push_back({i, number});
      if (written[i]->queue < counts.size())
        ++counts[written[i]->queue];
    }
  }
}

std::vector<ppx::Wait> InstructionList::waits(size_t index) const {
  std::vector<ppx::Wait> result;
  forEachWait(index, [&](uint32_t queue, uint32_t count) {
    result.emplace_back(queue, count);
  });
  return result;
}
