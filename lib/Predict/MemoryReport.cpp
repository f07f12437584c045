//===- MemoryReport.cpp - what fills the memory of a rank -----------------===//
//
// SPDX-License-Identifier: Apache-2.0
//
// A value in a slot begins with an instruction that writes the slot without
// reading it. Values are named by the locations of the instructions that make
// them, which come from the model.
//
//===----------------------------------------------------------------------===//
#include "pp/Predict/MemoryReport.h"
#include "ValueUses.h"
#include "pprt/Alignment.h"
#include "pprt/LayerName.h"
#include "pprt/Program.h"

#include <algorithm>
#include <map>
#include <tuple>

using namespace pp::predict;
using namespace pprt;

const std::array<MemoryClass, ppx::SlotClass_MAX + 1>
    pp::predict::kMemoryClasses = {{
        {ppx::SlotClass_parameter, 'P', "parameters", "#4e79a7"},
        {ppx::SlotClass_optimizer, 'O', "optimizer", "#9c7bb0"},
        {ppx::SlotClass_gathered, 'H', "gathered", "#a0cbe8"},
        {ppx::SlotClass_gradient, 'G', "gradients", "#e15759"},
        {ppx::SlotClass_activation, 'A', "activations", "#76b7a0"},
        {ppx::SlotClass_input, 'I', "inputs", "#c3dfb0"},
        {ppx::SlotClass_communication, 'M', "messages", "#e9cf4a"},
        {ppx::SlotClass_workspace, 'W', "workspace", "#a8a29e"},
    }};

namespace {

/// What lies at an address of the arena.
enum Cover { live, messages, workspaces, covers };

/// Where bytes of one cover begin (+1) or end (-1).
struct Edge {
  uint64_t at;
  Cover cover;
  int change;
};

} // namespace

/// Finds the bytes of the arena that no live value takes, and what they are
/// for.
static void measureUnused(const ppx::ProgramT &program,
                          const SlotCopies &copies, const SlotLives &lives,
                          ProgramMemory &memory) {
  const uint64_t arena = program.arena_bytes;
  std::vector<Edge> edges = {{arena, covers, 0}};
  const std::vector<bool> atPeak = lives.atPeak(copies);
  for (uint32_t copy = 0; copy < copies.size(); ++copy) {
    const ppx::SlotT &slot = copies[copy];
    const uint64_t offset = copies.offset(copy);
    const bool isLive = atPeak[copy];
    if (slot.bytes == 0 ||
        (!isLive && slot.slot_class != ppx::SlotClass_communication &&
         slot.slot_class != ppx::SlotClass_workspace))
      continue;
    const uint64_t end =
        std::min(arena, offset + alignUp(slot.bytes, kSlotAlignment));
    if (isLive)
      memory.unused.alignment += end - offset - slot.bytes;
    const Cover cover = isLive ? live
                        : slot.slot_class == ppx::SlotClass_communication
                            ? messages
                            : workspaces;
    edges.push_back({offset, cover, 1});
    edges.push_back({end, cover, -1});
  }
  std::sort(edges.begin(), edges.end(),
            [](const Edge &a, const Edge &b) { return a.at < b.at; });
  std::array<int64_t, covers + 1> count = {};
  uint64_t at = 0;
  for (const Edge &edge : edges) {
    const uint64_t bytes = edge.at - at;
    if (count[live] > 0)
      memory.shared += bytes * uint64_t(count[live] - 1);
    else if (count[messages] > 0)
      memory.unused.messages += bytes;
    else if (count[workspaces] > 0)
      memory.unused.workspaces += bytes;
    else
      memory.unused.gaps += bytes;
    count[edge.cover] += edge.change;
    at = edge.at;
  }
}

static std::vector<ClassBytes> measureCurve(const ppx::ProgramT &program,
                                            size_t size,
                                            const SlotLives &lives) {
  std::vector<ClassBytes> curve(size);
  for (uint32_t its = 0; its <= ppx::SlotClass_MAX; ++its) {
    std::vector<int64_t> change(size + 1);
    for (const SlotLife &life : lives.all) {
      const ppx::SlotT &slot = *program.slots[life.slot];
      if (uint32_t(slot.slot_class) != its)
        continue;
      change[life.first] += int64_t(slot.bytes);
      change[life.last + 1] -= int64_t(slot.bytes);
    }
    int64_t bytes = 0;
    for (size_t i = 0; i < curve.size(); ++i)
      curve[i][its] = uint64_t(bytes += change[i]);
  }
  return curve;
}

/// Instructions of other queues belong to the action around them.
static std::vector<BodyPart> findParts(const ppx::ProgramT &program,
                                       const InstructionList &body) {
  std::vector<BodyPart> parts;
  for (size_t i = 0; i < body.size(); ++i) {
    const Instruction instruction = body[i];
    if (program.queues[instruction->queue]->kind != ppx::QueueKind_compute ||
        instruction->opcode == ppx::Opcode_step)
      continue;
    const std::string name = actionName(instruction);
    if (!parts.empty() && parts.back().name == name)
      continue;
    if (!parts.empty())
      parts.back().end = i;
    parts.push_back({instruction->phase, name, parts.empty() ? 0 : i, 0});
  }
  if (!parts.empty())
    parts.back().end = body.size();
  return parts;
}

/// A workspace has bytes, but no type.
static std::string printType(const ppx::SlotT &slot) {
  if (slot.slot_class == ppx::SlotClass_workspace)
    return "";
  std::string text;
  for (uint64_t size : slot.shape)
    text += std::to_string(size) + "x";
  return text + ppx::EnumNameElementType(slot.element);
}

static void addShare(std::vector<MemoryShare> &shares,
                     std::map<std::string, size_t> &places,
                     const std::string &name, uint64_t bytes) {
  const auto [place, isNew] = places.try_emplace(name, shares.size());
  if (isNew)
    shares.push_back({name});
  shares[place->second].bytes += bytes;
  shares[place->second].values += 1;
}

/// Whether a layer comes before another in the model: h.2 before h.10.
static bool isEarlier(const std::string &a, const std::string &b) {
  const size_t ofA = a.rfind('.') + 1, ofB = b.rfind('.') + 1;
  return std::forward_as_tuple(a.substr(0, ofA), a.size(), a) <
         std::forward_as_tuple(b.substr(0, ofB), b.size(), b);
}

/// Adds up activations, with inputs.
static void addShares(ProgramMemory &memory) {
  const std::string outside = "outside of layers";
  std::map<std::string, size_t> layers, ops;
  for (const LiveValue &value : memory.values) {
    if (value.slotClass != ppx::SlotClass_activation &&
        value.slotClass != ppx::SlotClass_input)
      continue;
    const std::string_view layer = layerName(value.name);
    addShare(memory.layers, layers,
             layer.empty() ? outside : std::string(layer), value.bytes);
    addShare(memory.ops, ops,
             anyLayer(value.name) + (value.name.empty() ? "" : " ") +
                 opKind(value.op),
             value.bytes);
  }
  std::stable_sort(memory.layers.begin(), memory.layers.end(),
                   [&](const MemoryShare &a, const MemoryShare &b) {
                     const bool isLast = a.name == outside;
                     return isLast == (b.name == outside)
                                ? isEarlier(a.name, b.name)
                                : !isLast;
                   });
  std::stable_sort(memory.ops.begin(), memory.ops.end(),
                   [](const MemoryShare &a, const MemoryShare &b) {
                     return a.bytes > b.bytes;
                   });
}

static ProgramMemory describe(const ppx::ArtifactT &artifact,
                              const ppx::ProgramT &program) {
  ProgramMemory memory;
  memory.name = program.name;
  const SlotLives lives = livesOf(artifact, program);
  memory.use = memoryOf(program, lives);
  const SlotCopies copies(program);
  measureUnused(program, copies, lives, memory);
  const InstructionList body(program, Section::body);
  memory.curve = measureCurve(program, body.size(), lives);
  if (body.empty())
    return memory;
  memory.peak = lives.peak;
  for (uint64_t bytes : memory.curve[lives.peak])
    memory.live += bytes;
  memory.parts = findParts(program, body);
  const Instruction top = body[lives.peak];
  memory.peakAction = actionName(top);
  memory.peakOp = opOf(artifact, *top);
  memory.peakPlace = top->location;
  const ValueUses uses(artifact, program, lives);
  const std::vector<bool> atPeak = lives.atPeak(copies);
  for (uint32_t copy = 0; copy < copies.size(); ++copy)
    if (atPeak[copy]) {
      LiveValue value = uses.describe(copy);
      value.type = printType(copies[copy]);
      memory.values.push_back(std::move(value));
    }
  addShares(memory);
  std::stable_sort(
      memory.values.begin(), memory.values.end(),
      [](const LiveValue &a, const LiveValue &b) { return a.bytes > b.bytes; });
  return memory;
}

MemoryReport pp::predict::reportMemory(const Prediction &prediction,
                                       const ppx::ArtifactT &artifact) {
  MemoryReport report;
  for (size_t i = 0; i < prediction.programs.size(); ++i) {
    const ProgramMemory memory = describe(artifact, *artifact.programs[i]);
    std::map<uint64_t, std::vector<uint32_t>> byStaging;
    for (uint32_t rank : prediction.programs[i].ranks)
      byStaging[memoryOf(prediction, prediction.programs[i], rank).staging]
          .push_back(rank);
    for (auto &[staging, ranks] : byStaging) {
      report.push_back(memory);
      report.back().use =
          memoryOf(prediction, prediction.programs[i], ranks.front());
      report.back().ranks = std::move(ranks);
    }
  }
  return report;
}

static std::string suffixOf(const std::string &file) {
  const size_t dot = file.rfind('.');
  return dot == file.npos ? "" : file.substr(dot);
}

bool pp::predict::isMemoryFile(const std::string &file) {
  const std::string suffix = suffixOf(file);
  return suffix == ".svg" || suffix == ".json" || suffix == ".txt";
}

std::string pp::predict::spellMemory(const MemoryReport &report,
                                     const std::string &file) {
  const std::string suffix = suffixOf(file);
  return suffix == ".svg"    ? drawMemory(report)
         : suffix == ".json" ? memoryJson(report)
                             : printMemory(report);
}
