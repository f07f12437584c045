//===- MemoryWatch.cpp - what one rank does to its memory -----------------===//
//
// SPDX-License-Identifier: Apache-2.0
//
//===----------------------------------------------------------------------===//
#include "MemoryWatch.h"

#include <algorithm>

using namespace pprt;
using namespace pprt::reference;

bool MemoryWatch::isRead(const ppx::InstructionT &instruction,
                         size_t argument) const {
  const size_t count = instruction.arguments.size();
  switch (instruction.opcode) {
  case ppx::Opcode_run:
    return artifact->kernels[instruction.kernel]
               ->parameters[argument]
               ->access != ppx::Access_write;
  case ppx::Opcode_collective:
    return argument < count / 2;
  case ppx::Opcode_copy:
    return argument == 0;
  case ppx::Opcode_flag:
    return argument + 1 < count;
  case ppx::Opcode_gate: // bytes that a skipped kernel does not write stay
  case ppx::Opcode_send:
  case ppx::Opcode_emit:
    return true;
  default:
    return false;
  }
}

bool MemoryWatch::isWritten(const ppx::InstructionT &instruction,
                            size_t argument) const {
  switch (instruction.opcode) {
  case ppx::Opcode_run:
  case ppx::Opcode_gate: {
    const auto &parameters = artifact->kernels[instruction.kernel]->parameters;
    return argument < parameters.size() &&
           parameters[argument]->access != ppx::Access_read;
  }
  default:
    return !isRead(instruction, argument);
  }
}

void MemoryWatch::fill(uint32_t slot) {
  held.push_back(slot);
  writers.write(slot, nullptr);
}

MemoryWatch::Findings
MemoryWatch::complete(const ppx::InstructionT &instruction) {
  Findings findings;
  auto note = [](std::vector<std::string> &list, std::string problem) {
    if (!problem.empty())
      list.push_back(std::move(problem));
  };
  compareOperands(instruction, findings);
  for (size_t i = 0; i < instruction.arguments.size(); ++i)
    if (const uint32_t slot = instruction.arguments[i];
        isRead(instruction, i)) {
      note(findings.races,
           detector.read(instruction.queue, *program->slots[slot]));
      // A running sum begins with the value loaded for its first micro-batch.
      const bool isSum = isWritten(instruction, i);
      note(findings.clobbers,
           writers.read(slot, isSum ? nullptr : &instruction));
      note(findings.clobbers, writers.readSum(slot, instruction));
    }
  for (size_t i = 0; i < instruction.arguments.size(); ++i)
    if (const uint32_t slot = instruction.arguments[i];
        isWritten(instruction, i)) {
      note(findings.races,
           detector.write(instruction.queue, *program->slots[slot]));
      writers.write(slot, &instruction, isRead(instruction, i));
    }
  detector.complete(instruction.queue);
  return findings;
}

/// A written argument must overlap no other: an engine may write before it has
/// read all. Only an all_reduce may leave a sum in the place of its input.
void MemoryWatch::compareOperands(const ppx::InstructionT &instruction,
                                  Findings &findings) const {
  const size_t count = instruction.arguments.size();
  auto slotOf = [&](size_t argument) -> const ppx::SlotT & {
    return *program->slots[instruction.arguments[argument]];
  };
  auto isSumOf = [&](size_t write, size_t other) {
    return instruction.opcode == ppx::Opcode_collective &&
           instruction.collective == ppx::CollectiveKind_all_reduce &&
           write == other + count / 2 &&
           slotOf(write).offset == slotOf(other).offset &&
           slotOf(write).bytes == slotOf(other).bytes;
  };
  for (size_t write = 0; write < count; ++write)
    for (size_t other = 0; isWritten(instruction, write) && other < count;
         ++other) {
      const ppx::SlotT &a = slotOf(write), &b = slotOf(other);
      if (write != other && !isSumOf(write, other) &&
          std::max(a.offset, b.offset) <
              std::min(a.offset + a.bytes, b.offset + b.bytes))
        findings.clobbers.push_back("writes '" + a.name + "' over its own '" +
                                    b.name + "'");
    }
}

std::vector<std::string> MemoryWatch::readAll() const {
  std::vector<std::string> clobbers;
  for (uint32_t slot : held)
    if (std::string problem = writers.read(slot, nullptr); !problem.empty())
      clobbers.push_back(std::move(problem));
  return clobbers;
}
