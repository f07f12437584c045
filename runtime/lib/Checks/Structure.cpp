//===- Structure.cpp - is it an artifact at all? --------------------------===//
//
// SPDX-License-Identifier: Apache-2.0
//
// In: an artifact with sound FlatBuffers encoding, and nothing else: every
// index, size and kind may be anything. This file covers mesh, groups, ranks,
// slots and queues; its siblings cover calls, kernels, arguments, instructions
// and what stages hold and emit. An artifact that passes can be executed
// without bounds checks.
//
//===----------------------------------------------------------------------===//
#include "Passes.h"
#include "pprt/Alignment.h"
#include "pprt/Artifact.h"

#include <algorithm>

using namespace pprt;
using namespace pprt::checks;

static void checkGroups(const ppx::ArtifactT &artifact, const Mesh &mesh,
                        FindingList &report) {
  for (size_t i = 0; i < artifact.groups.size(); ++i) {
    report.work(1 + artifact.groups[i]->axes.size());
    Status status = mesh.verify(*artifact.groups[i]);
    if (!status.ok())
      report.add(text("group ", i, ": ", status.message()));
  }
}

/// Checks that every rank of the mesh runs exactly one program.
static void checkRanks(const ppx::ArtifactT &artifact, const Mesh &mesh,
                       FindingList &report) {
  uint64_t listed = 0;
  for (const auto &program : artifact.programs)
    listed += program->ranks.size();
  // Compared first: the mesh of a broken file may be too large to tabulate.
  if (listed != mesh.worldSize())
    return report.add(text("the programs expect to list each of ",
                           mesh.worldSize(), " ranks once, got ", listed,
                           " ranks"));
  std::vector<bool> seen(mesh.worldSize());
  for (const auto &program : artifact.programs) {
    report.work(program->ranks.size());
    if (program->ranks.empty())
      report.add(text("program '", program->name,
                      "' expects at least one rank, got none"));
    for (uint32_t rank : program->ranks) {
      if (rank >= mesh.worldSize())
        report.add(text("program '", program->name, "' expects ranks below ",
                        mesh.worldSize(), ", got ", rank));
      else if (seen[rank])
        report.add(text("program '", program->name,
                        "' expects each rank once, got rank ", rank, " twice"));
      else
        seen[rank] = true;
    }
  }
}

static void checkSlot(const ppx::ProgramT &program, size_t index,
                      FindingList &report) {
  const ppx::SlotT &slot = *program.slots[index];
  auto fail = [&](const std::string &message) {
    report.add(text("program '", program.name, "', slot ", index, " '",
                    slot.name, "' ", message));
  };
  if (!isOneOf(slot.element, ppx::ElementType_MIN, ppx::ElementType_MAX))
    return fail(text("expects a known element type, got ", int(slot.element)));
  if (!isOneOf(slot.slot_class, ppx::SlotClass_MIN, ppx::SlotClass_MAX))
    fail(text("expects a known class, got ", int(slot.slot_class)));
  std::optional<uint64_t> bytes =
      denseBytes(slot.shape, elementSize(slot.element));
  if (bytes != slot.bytes)
    fail(text("expects the bytes of its shape, ",
              bytes ? std::to_string(*bytes) : "2^63 or more", ", got ",
              slot.bytes));
  const uint64_t alignment = alignmentOf(slot.slot_class);
  for (uint32_t copy = 0; copy <= slot.more.size(); ++copy) {
    report.work(1);
    const uint64_t offset = offsetOf(slot, copy);
    if (offset % alignment != 0)
      return fail(
          text("expects an offset aligned to ", alignment, ", got ", offset));
    if (offset > program.arena_bytes ||
        slot.bytes > program.arena_bytes - offset)
      return fail(text("expects to end within the arena of ",
                       program.arena_bytes, " bytes, got offset ", offset,
                       " and ", slot.bytes, " bytes"));
  }
}

/// An arena is allocated whole, so it ends with its last slot.
static void checkArena(const ppx::ProgramT &program, FindingList &report) {
  uint64_t end = 0;
  for (const auto &slot : program.slots)
    for (uint32_t copy = 0; copy <= slot->more.size(); ++copy)
      end = std::max(end, offsetOf(*slot, copy) + slot->bytes);
  if (program.arena_bytes > end && program.arena_bytes - end >= kSlotAlignment)
    report.add(text("program '", program.name,
                    "' expects an arena that ends with its last slot, at ", end,
                    " bytes, got ", program.arena_bytes));
}

static void checkSlotsAndQueues(const ppx::ProgramT &program,
                                FindingList &report) {
  for (size_t i = 0; i < program.slots.size(); ++i) {
    report.work(1 + program.slots[i]->shape.size());
    checkSlot(program, i, report);
  }
  if (report.empty())
    checkArena(program, report);
  // The order on memory is checked queue by queue.
  constexpr size_t mostQueues = 1024;
  if (program.queues.size() > mostQueues)
    report.add(text("program '", program.name, "' expects at most ", mostQueues,
                    " queues, got ", program.queues.size()));
  for (const auto &queue : program.queues) {
    report.work(1);
    if (!isOneOf(queue->kind, ppx::QueueKind_MIN, ppx::QueueKind_MAX))
      report.add(text("program '", program.name, "', queue '", queue->name,
                      "' expects a known kind, got ", int(queue->kind)));
  }
}

void checks::checkArtifactStructure(const ppx::ArtifactT &artifact,
                                    const CheckOptions &options,
                                    FindingList &report) {
  Expected<Mesh> mesh = Mesh::create(artifact.axes);
  if (!mesh)
    return report.add(mesh.status().message());
  checkGroups(artifact, *mesh, report);
  checkRanks(artifact, *mesh, report);
  for (const auto &program : artifact.programs) {
    checkSlotsAndQueues(*program, report);
    if (program->argument_slots.size() != artifact.arguments.size())
      report.add(text("program '", program->name,
                      "' expects a slot, or -1, for each of ",
                      artifact.arguments.size(), " arguments, got ",
                      program->argument_slots.size()));
  }
  checkCalls(artifact, report);
  // The code below looks up ranks, groups and slots without checks.
  if (!report.empty())
    return;
  checkKernels(artifact, report);
  checkArguments(artifact, report);
  checkInstructions(artifact, *mesh, options, report);
  checkStages(artifact, *mesh, report);
}
