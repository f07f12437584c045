//===- Task.cpp - an instruction with all it needs resolved ---------------===//
//
// SPDX-License-Identifier: Apache-2.0
//
//===----------------------------------------------------------------------===//
#include "Task.h"

using namespace pprt;

Expected<Kernels> pprt::prepareKernels(const ppx::ArtifactT &artifact,
                                       Device &device) {
  Kernels kernels;
  for (const std::unique_ptr<ppx::KernelT> &kernel : artifact.kernels) {
    Expected<std::unique_ptr<const Kernel>> prepared = device.prepare(*kernel);
    if (!prepared)
      return prepared.status();
    kernels.push_back(std::move(*prepared));
  }
  return kernels;
}

Task::Task(const Instruction &instruction, std::byte *arena,
           const ScalarRows &scalars, const Kernels &kernels, Device &device)
    : instruction(instruction) {
  for (size_t i = 0; i < instruction.slotCount(); ++i)
    arguments.push_back(arena + instruction.offset(i));
  const bool isGate = instruction->opcode == ppx::Opcode_gate;
  if (isGate || instruction->opcode == ppx::Opcode_run) {
    Binding binding = {kernels[instruction->kernel].get(), arguments,
                       scalars.row(instruction.microBatch())};
    if (isGate) {
      binding.gate = arguments.back();
      binding.arguments.pop_back();
    }
    launch = device.bind(std::move(binding));
  }
  if (instruction->opcode == ppx::Opcode_flag)
    for (size_t value = 0; value + 1 < arguments.size(); ++value) {
      const ppx::SlotT &slot = instruction.slot(value);
      values.push_back({arguments[value], slot.bytes, slot.element});
    }
}

uint64_t Task::bytes() const { return instruction.slot(0).bytes; }

size_t Task::inputCount() const {
  return instruction->opcode == ppx::Opcode_send   ? arguments.size()
         : instruction->opcode == ppx::Opcode_recv ? 0
                                                   : arguments.size() / 2;
}

Status Task::give(Stream &stream) const {
  switch (instruction->opcode) {
  case ppx::Opcode_run:
  case ppx::Opcode_gate:
    return stream.launch(*launch);
  case ppx::Opcode_copy:
    return stream.copy(arguments[1], arguments[0], bytes());
  case ppx::Opcode_flag:
    return stream.flag(values, arguments.back());
  case ppx::Opcode_load: // handled by the executor, between host and arena
  case ppx::Opcode_emit:
  case ppx::Opcode_step: // only has waits
  case ppx::Opcode_send: // handled by a transport
  case ppx::Opcode_recv:
  case ppx::Opcode_collective:
    break;
  }
  return {};
}
