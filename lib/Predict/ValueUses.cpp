//===- ValueUses.cpp - who made the live values and who reads them --------===//
//
// SPDX-License-Identifier: Apache-2.0
//
// One walk over the body finds, for each value that is live at the peak, the
// instruction that wrote it and the one that reads it last.
//
//===----------------------------------------------------------------------===//
#include "ValueUses.h"
#include "pprt/Program.h"
#include "pprt/SlotAccesses.h"

#include <algorithm>

using namespace pp::predict;
using namespace pprt;

std::string pp::predict::opOf(const ppx::ArtifactT &artifact,
                              const ppx::InstructionT &instruction) {
  switch (instruction.opcode) {
  case ppx::Opcode_run:
  case ppx::Opcode_gate:
    return artifact.kernels[instruction.kernel]->name;
  case ppx::Opcode_collective:
    return ppx::EnumNameCollectiveKind(instruction.collective);
  default:
    return ppx::EnumNameOpcode(instruction.opcode);
  }
}

std::string pp::predict::opKind(const std::string &op) {
  const size_t end = op.find_last_not_of("0123456789");
  return end != op.npos && end + 1 < op.size() && op[end] == '_'
             ? op.substr(0, end)
             : op;
}

ValueUses::ValueUses(const ppx::ArtifactT &artifact,
                     const ppx::ProgramT &program, const SlotLives &lives)
    : artifact(artifact), program(program), lives(lives), copies(program),
      uses(copies.size()), places(copies.size()),
      isModels(program.slots.size()), body(program, Section::body) {
  for (size_t i = 0; i < artifact.arguments.size(); ++i)
    if (program.argument_slots[i] >= 0)
      isModels[program.argument_slots[i]] = artifact.arguments[i]->is_models;
  for (size_t i = 0; i < body.size(); ++i)
    add(i);
}

/// What is written lies where the instruction does. Instructions of the runtime
/// have no place: their results have those of what they read. A sum keeps the
/// place of its first part.
void ValueUses::addNames(const ppx::InstructionT &instruction,
                         const std::vector<SlotAccess> &accesses) {
  std::vector<const std::string *> read;
  for (SlotAccess access : accesses)
    if (!access.writes)
      read.push_back(places[numberOf(access)]);
  size_t number = 0;
  for (SlotAccess access : accesses) {
    if (!access.writes)
      continue;
    const std::string *place = &instruction.location;
    if (place->empty() && number < read.size() && read[number])
      place = read[number];
    ++number;
    const std::string *&known = places[numberOf(access)];
    const bool isSum = access.reads && program.slots[access.slot]->slot_class ==
                                           ppx::SlotClass_gradient;
    if (!isSum || !known || known->empty())
      known = place;
  }
}

void ValueUses::add(size_t index) {
  const std::vector<SlotAccess> accesses = accessesOf(artifact, body[index]);
  if (index <= lives.peak)
    addNames(*body[index], accesses);
  for (size_t i = 0; i < accesses.size(); ++i) {
    const SlotAccess access = accesses[i];
    const SlotLife &life = lives.all[lives.touched[index][i]];
    if (!life.contains(lives.peak))
      continue;
    Uses &its = uses[life.copy];
    its.writes += access.writes;
    if (index <= lives.peak) {
      if (access.writes)
        its.maker = index;
      its.isRead |= access.reads && index == lives.peak;
    } else if (its.nextMaker == none) {
      if (access.reads)
        its.lastReader = index;
      else
        its.nextMaker = index;
    }
  }
}

/// ` of h.0.attn`, if the place is known.
static std::string ofPlace(const ppx::InstructionT &instruction) {
  return instruction.location.empty() ? "" : " of " + instruction.location;
}

/// The axes of a collective: `dp tp`.
static std::string axesOf(const ppx::ArtifactT &artifact,
                          const ppx::InstructionT &collective) {
  std::string text;
  for (uint32_t axis : artifact.groups[collective.group]->axes)
    text += (text.empty() ? "" : " ") + artifact.axes[axis]->name;
  return text;
}

static std::string describePhase(const ppx::InstructionT &instruction) {
  switch (instruction.phase) {
  case ppx::Phase_prologue:
    return "the prologue";
  case ppx::Phase_forward:
    return "forward" + ofPlace(instruction);
  case ppx::Phase_backward:
    return "backward" + ofPlace(instruction);
  case ppx::Phase_weight:
    return "weight gradients" + ofPlace(instruction);
  case ppx::Phase_update:
    break;
  }
  return "the update";
}

std::string ValueUses::describeReader(const ppx::InstructionT &reader) const {
  switch (reader.opcode) {
  case ppx::Opcode_send:
    return "send to stage " + std::to_string(reader.peer_stage);
  case ppx::Opcode_collective:
    return opOf(artifact, reader) + " over " + axesOf(artifact, reader);
  case ppx::Opcode_emit:
    return "the host, as " + artifact.outputs[reader.binding]->name;
  case ppx::Opcode_flag:
    return "the check for finite values";
  default:
    return describePhase(reader);
  }
}

std::string ValueUses::untilRead(const Uses &its) const {
  if (its.lastReader != none)
    return "read by " + describeReader(*body[its.lastReader]);
  if (its.maker == lives.peak)
    return "written at the peak";
  if (its.isRead)
    return "read at the peak";
  if (its.nextMaker != none)
    return "its place is kept for " + describeReader(*body[its.nextMaker]);
  return "kept until the next step";
}

std::string ValueUses::nameOf(const ppx::SlotT &slot, const Uses &its,
                              uint32_t number) const {
  const bool isArgument = livesThroughStep(slot.slot_class) ||
                          slot.slot_class == ppx::SlotClass_input;
  if (isArgument || its.maker == none || !places[number])
    return slot.name;
  const Instruction maker = body[its.maker];
  if (slot.slot_class != ppx::SlotClass_gathered ||
      maker->opcode != ppx::Opcode_collective)
    return *places[number];
  // What is gathered bears the name of the parameter that it is made of.
  const size_t count = maker.slotCount() / 2;
  for (size_t i = 0; i < count; ++i)
    if (const ppx::SlotT &part = maker.slot(i);
        copies.number(maker->arguments[count + i], maker.copy(count + i)) ==
            number &&
        part.slot_class == ppx::SlotClass_parameter)
      return part.name;
  return *places[number];
}

std::string ValueUses::reasonOf(const ppx::SlotT &slot, const Uses &its,
                                uint32_t number) const {
  const ppx::InstructionT *maker =
      its.maker == none ? nullptr : &*body[its.maker];
  switch (slot.slot_class) {
  case ppx::SlotClass_parameter:
    return "parameter";
  case ppx::SlotClass_optimizer:
    return isModels[copies.slotOf(number)] ? "state of the model"
                                           : "state of the optimizer";
  case ppx::SlotClass_gathered:
    return (maker && maker->opcode == ppx::Opcode_collective
                ? "whole parameter, "
                : "converted parameter, ") +
           untilRead(its);
  case ppx::SlotClass_input:
    return "input, " + untilRead(its);
  case ppx::SlotClass_workspace: {
    const bool isProduct =
        maker && maker->opcode == ppx::Opcode_run &&
        artifact.kernels[maker->kernel]->body.AsContraction();
    return isProduct ? "workspace of a product" : "workspace of a kernel";
  }
  case ppx::SlotClass_communication:
    if (maker && maker->opcode == ppx::Opcode_recv)
      return "received from stage " + std::to_string(maker->peer_stage) + ", " +
             untilRead(its);
    return "received, " + untilRead(its);
  case ppx::SlotClass_gradient: {
    const std::string what = its.writes > 1 ? "sum of gradients" : "gradient";
    return its.lastReader == none
               ? what + ", " + untilRead(its)
               : what + " until " + describeReader(*body[its.lastReader]);
  }
  case ppx::SlotClass_activation:
    break;
  }
  return untilRead(its);
}

LiveValue ValueUses::describe(uint32_t number) const {
  const ppx::SlotT &slot = copies[number];
  const Uses &its = uses[number];
  LiveValue value;
  value.slot = number;
  value.slotClass = slot.slot_class;
  value.bytes = slot.bytes;
  value.name = nameOf(slot, its, number);
  value.reason = reasonOf(slot, its, number);
  const bool isHeld = livesThroughStep(slot.slot_class);
  if (!isHeld && its.maker != none)
    value.op = opOf(artifact, *body[its.maker]);
  if (!isHeld && its.lastReader != none)
    value.until = actionName(body[its.lastReader]);
  return value;
}
