//===- ProgramBuilder.cpp - artifacts for tests, in few lines -------------===//
//
// SPDX-License-Identifier: Apache-2.0
//
//===----------------------------------------------------------------------===//
#include "ProgramBuilder.h"
#include "reference/FlatList.h"

#include "pprt/Artifact.h"

#include <algorithm>

using namespace pprt;
using namespace pprt::test;

WrittenList &test::writtenOf(ppx::ProgramT &program, Section section) {
  auto &calls = callsOf(program, section);
  if (calls.empty()) {
    calls.push_back(std::make_unique<ppx::CallT>());
    calls.back()->routine = uint32_t(program.routines.size());
    program.routines.push_back(std::make_unique<ppx::RoutineT>());
  }
  return program.routines[calls.front()->routine]->instructions;
}

void test::flatten(ppx::ProgramT &program) {
  program = reference::writeOut(program);
}

//===----------------------------------------------------------------------===//
// ProgramBuilder
//===----------------------------------------------------------------------===//

uint32_t ProgramBuilder::queue(const std::string &name, ppx::QueueKind kind) {
  program.queues.push_back(std::make_unique<ppx::QueueT>());
  program.queues.back()->name = name;
  program.queues.back()->kind = kind;
  queueLengths.push_back(0);
  return uint32_t(program.queues.size() - 1);
}

uint32_t ProgramBuilder::slotAt(uint64_t offset, const std::string &name,
                                uint64_t elements) {
  auto slot = std::make_unique<ppx::SlotT>();
  slot->offset = offset;
  slot->bytes = 4 * elements;
  slot->shape = {elements};
  slot->slot_class = ppx::SlotClass_activation;
  slot->name = name;
  program.arena_bytes = std::max(program.arena_bytes, offset + slot->bytes);
  program.slots.push_back(std::move(slot));
  return uint32_t(program.slots.size() - 1);
}

uint32_t ProgramBuilder::slot(const std::string &name, uint64_t elements) {
  return slotAt((program.arena_bytes + 63) / 64 * 64, name, elements);
}

void ProgramBuilder::begin(Section which) {
  section = which;
  accesses.clear();
  std::fill(queueLengths.begin(), queueLengths.end(), 0);
}

ppx::Wait ProgramBuilder::after(uint32_t queue) const {
  return ppx::Wait(queue, queueLengths[queue]);
}

/// Waits for every earlier access of another queue that conflicts.
void ProgramBuilder::addWaits(ppx::InstructionT &instruction, uint32_t slot,
                              bool writes) {
  const ppx::SlotT &s = *program.slots[slot];
  for (const Access &access : accesses) {
    const bool overlaps =
        access.begin < s.offset + s.bytes && s.offset < access.end;
    if (!overlaps || !(writes || access.writes) ||
        access.queue == instruction.queue)
      continue;
    auto known = std::find_if(
        instruction.waits.begin(), instruction.waits.end(),
        [&](const ppx::Wait &w) { return w.queue() == access.queue; });
    if (known == instruction.waits.end())
      instruction.waits.emplace_back(access.queue, access.count);
    else
      *known = ppx::Wait(access.queue, std::max(known->count(), access.count));
  }
}

ppx::InstructionT &ProgramBuilder::add(ppx::Opcode opcode, uint32_t queue,
                                       std::vector<uint32_t> arguments,
                                       const std::vector<uint32_t> &reads,
                                       const std::vector<uint32_t> &writes) {
  WrittenList &list = writtenOf(program, section);
  list.push_back(std::make_unique<ppx::InstructionT>());
  ppx::InstructionT &instruction = *list.back();
  instruction.opcode = opcode;
  instruction.queue = queue;
  instruction.arguments = std::move(arguments);
  instruction.stage = stage;
  instruction.phase = current.phase;
  instruction.micro_batch = current.microBatch;
  const uint32_t count = ++queueLengths[queue];
  for (bool written : {false, true})
    for (uint32_t slot : written ? writes : reads)
      if (automaticWaits)
        addWaits(instruction, slot, written);
  for (bool written : {false, true})
    for (uint32_t slot : written ? writes : reads) {
      const ppx::SlotT &s = *program.slots[slot];
      accesses.push_back({queue, count, s.offset, s.offset + s.bytes, written});
    }
  return instruction;
}

static std::vector<uint32_t> join(std::vector<uint32_t> a,
                                  const std::vector<uint32_t> &b) {
  a.insert(a.end(), b.begin(), b.end());
  return a;
}

ppx::InstructionT &ProgramBuilder::run(uint32_t queue,
                                       const std::vector<uint32_t> &reads,
                                       const std::vector<uint32_t> &writes,
                                       const std::vector<uint32_t> &updates) {
  std::vector<std::pair<ppx::Access, uint64_t>> parameters;
  for (uint32_t slot : reads)
    parameters.emplace_back(ppx::Access_read, program.slots[slot]->bytes);
  for (uint32_t slot : writes)
    parameters.emplace_back(ppx::Access_write, program.slots[slot]->bytes);
  for (uint32_t slot : updates)
    parameters.emplace_back(ppx::Access_read_write, program.slots[slot]->bytes);
  ppx::InstructionT &instruction =
      add(ppx::Opcode_run, queue, join(join(reads, writes), updates),
          join(reads, updates), join(writes, updates));
  instruction.kernel = owner.kernel(parameters);
  return instruction;
}

ppx::InstructionT &ProgramBuilder::gate(uint32_t queue,
                                        const std::vector<uint32_t> &reads,
                                        const std::vector<uint32_t> &updates,
                                        uint32_t flag) {
  std::vector<std::pair<ppx::Access, uint64_t>> parameters;
  for (uint32_t slot : reads)
    parameters.emplace_back(ppx::Access_read, program.slots[slot]->bytes);
  for (uint32_t slot : updates)
    parameters.emplace_back(ppx::Access_write, program.slots[slot]->bytes);
  std::vector<uint32_t> arguments = join(reads, updates);
  ppx::InstructionT &instruction =
      add(ppx::Opcode_gate, queue, join(arguments, {flag}),
          join(arguments, {flag}), updates);
  instruction.kernel = owner.kernel(parameters);
  return instruction;
}

ppx::InstructionT &ProgramBuilder::send(uint32_t queue, uint32_t to,
                                        uint32_t slot) {
  ppx::InstructionT &instruction =
      add(ppx::Opcode_send, queue, {slot}, {slot}, {});
  instruction.peer_stage = to;
  return instruction;
}

ppx::InstructionT &ProgramBuilder::recv(uint32_t queue, uint32_t from,
                                        uint32_t slot) {
  ppx::InstructionT &instruction =
      add(ppx::Opcode_recv, queue, {slot}, {}, {slot});
  instruction.peer_stage = from;
  // A message is named after the stage that computed it.
  instruction.stage = from;
  return instruction;
}

ppx::InstructionT &
ProgramBuilder::collective(uint32_t queue, ppx::CollectiveKind kind,
                           uint32_t group, const std::vector<uint32_t> &inputs,
                           const std::vector<uint32_t> &outputs) {
  ppx::InstructionT &instruction = add(ppx::Opcode_collective, queue,
                                       join(inputs, outputs), inputs, outputs);
  instruction.collective = kind;
  instruction.group = group;
  if (kind == ppx::CollectiveKind_all_gather ||
      kind == ppx::CollectiveKind_reduce_scatter)
    instruction.dimensions.resize(inputs.size());
  return instruction;
}

ppx::InstructionT &ProgramBuilder::copy(uint32_t queue, uint32_t from,
                                        uint32_t to) {
  return add(ppx::Opcode_copy, queue, {from, to}, {from}, {to});
}

ppx::InstructionT &ProgramBuilder::load(uint32_t queue, uint32_t argument,
                                        uint32_t slot) {
  ppx::InstructionT &instruction =
      add(ppx::Opcode_load, queue, {slot}, {}, {slot});
  instruction.binding = argument;
  return instruction;
}

ppx::InstructionT &ProgramBuilder::emit(uint32_t queue, uint32_t output,
                                        uint32_t slot) {
  ppx::InstructionT &instruction =
      add(ppx::Opcode_emit, queue, {slot}, {slot}, {});
  instruction.binding = output;
  owner.emits(output, stage);
  return instruction;
}

ppx::InstructionT &ProgramBuilder::flag(uint32_t queue,
                                        const std::vector<uint32_t> &reads,
                                        uint32_t flag) {
  return add(ppx::Opcode_flag, queue, join(reads, {flag}), reads, {flag});
}

ppx::InstructionT &ProgramBuilder::step(uint32_t queue) {
  current = {ppx::Phase_update, -1};
  return add(ppx::Opcode_step, queue, {}, {}, {});
}

//===----------------------------------------------------------------------===//
// ArtifactBuilder
//===----------------------------------------------------------------------===//

ArtifactBuilder::ArtifactBuilder() { artifact.producer = "test"; }

uint32_t ArtifactBuilder::axis(const std::string &name, uint32_t size,
                               ppx::AxisKind kind) {
  artifact.axes.push_back(std::make_unique<ppx::AxisT>());
  artifact.axes.back()->name = name;
  artifact.axes.back()->size = size;
  artifact.axes.back()->kind = kind;
  return uint32_t(artifact.axes.size() - 1);
}

uint32_t ArtifactBuilder::group(std::vector<uint32_t> axes,
                                std::vector<uint32_t> stages) {
  artifact.groups.push_back(std::make_unique<ppx::GroupT>());
  artifact.groups.back()->axes = std::move(axes);
  artifact.groups.back()->stages = std::move(stages);
  return uint32_t(artifact.groups.size() - 1);
}

uint32_t ArtifactBuilder::kernel(
    const std::vector<std::pair<ppx::Access, uint64_t>> &parameters) {
  auto [entry, isNew] =
      kernels.try_emplace(parameters, uint32_t(artifact.kernels.size()));
  if (!isNew)
    return entry->second;
  auto kernel = std::make_unique<ppx::KernelT>();
  kernel->name = "kernel" + std::to_string(entry->second);
  for (const auto &[access, bytes] : parameters) {
    kernel->parameters.push_back(std::make_unique<ppx::KernelParameterT>());
    kernel->parameters.back()->access = access;
    kernel->parameters.back()->bytes = bytes;
  }
  ppx::CompiledKernelT body;
  body.rows = 1;
  kernel->body.Set(std::move(body));
  kernel->body.AsCompiledKernel()->symbol =
      kernel->name + "_" + kernelSignature(*kernel);
  artifact.kernels.push_back(std::move(kernel));
  return entry->second;
}

ProgramBuilder ArtifactBuilder::program(std::vector<uint32_t> ranks,
                                        uint32_t stage) {
  auto program = std::make_unique<ppx::ProgramT>();
  program->name = "program" + std::to_string(artifact.programs.size());
  program->ranks = std::move(ranks);
  artifact.programs.push_back(std::move(program));
  artifact.programs.back()->argument_slots.assign(artifact.arguments.size(),
                                                  -1);
  return ProgramBuilder(*this, *artifact.programs.back(), stage);
}

uint32_t ArtifactBuilder::argument(const std::string &name, ppx::Role role,
                                   uint64_t elements) {
  auto argument = std::make_unique<ppx::ArgumentT>();
  argument->name = name;
  argument->role = role;
  argument->shape = argument->stored_shape =
      argument->padded_shape = {elements};
  argument->sharding.push_back(std::make_unique<ppx::DimensionAxesT>());
  for (const auto &program : artifact.programs)
    program->argument_slots.push_back(-1);
  artifact.arguments.push_back(std::move(argument));
  return uint32_t(artifact.arguments.size() - 1);
}

uint32_t ArtifactBuilder::output(const std::string &name, uint64_t elements,
                                 ppx::OutputRole role) {
  auto output = std::make_unique<ppx::OutputT>();
  output->name = name;
  output->role = role;
  output->shape = output->padded_shape = {elements};
  output->sharding.push_back(std::make_unique<ppx::DimensionAxesT>());
  artifact.outputs.push_back(std::move(output));
  return uint32_t(artifact.outputs.size() - 1);
}

void ArtifactBuilder::emits(uint32_t output, uint32_t stage) {
  std::vector<uint32_t> &stages = artifact.outputs[output]->stages;
  auto place = std::lower_bound(stages.begin(), stages.end(), stage);
  if (place == stages.end() || *place != stage)
    stages.insert(place, stage);
}

void ArtifactBuilder::hold(uint32_t argument, uint32_t slot) {
  artifact.programs.back()->argument_slots[argument] = int32_t(slot);
}

ppx::ArtifactT ArtifactBuilder::take() { return std::move(artifact); }
