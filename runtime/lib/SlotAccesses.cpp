//===- SlotAccesses.cpp - the memory that an instruction touches ----------===//
//
// SPDX-License-Identifier: Apache-2.0
//
//===----------------------------------------------------------------------===//
#include "pprt/SlotAccesses.h"

using namespace pprt;

std::vector<SlotAccess> pprt::accessesOf(const ppx::ArtifactT &artifact,
                                         const Instruction &instruction) {
  const size_t count = instruction.slotCount();
  std::vector<SlotAccess> result;
  result.reserve(count);
  auto add = [&](size_t i, bool reads, bool writes) {
    result.push_back(
        {instruction->arguments[i], instruction.copy(i), reads, writes});
  };
  // The first `readCount` arguments are read, the others written.
  auto readsThenWrites = [&](size_t readCount) {
    for (size_t i = 0; i < count; ++i)
      add(i, i < readCount, i >= readCount);
  };
  switch (instruction->opcode) {
  case ppx::Opcode_run:
  case ppx::Opcode_gate: {
    const auto &parameters = artifact.kernels[instruction->kernel]->parameters;
    const bool gated = instruction->opcode == ppx::Opcode_gate;
    for (size_t i = 0; i < parameters.size(); ++i) {
      const ppx::Access access = parameters[i]->access;
      const bool writes = access != ppx::Access_read;
      // A gated kernel may be skipped: the bytes that it would write keep their
      // value, which must be defined as if it were read.
      add(i, access != ppx::Access_write || gated, writes);
    }
    if (gated)
      add(count - 1, true, false);
    break;
  }
  case ppx::Opcode_send:
  case ppx::Opcode_emit:
    readsThenWrites(1);
    break;
  case ppx::Opcode_recv:
  case ppx::Opcode_load:
    readsThenWrites(0);
    break;
  case ppx::Opcode_copy:
    readsThenWrites(1);
    break;
  case ppx::Opcode_collective:
    readsThenWrites(count / 2);
    break;
  case ppx::Opcode_flag:
    readsThenWrites(count - 1);
    break;
  case ppx::Opcode_step:
    break;
  }
  return result;
}
