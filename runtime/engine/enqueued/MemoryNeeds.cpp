//===- MemoryNeeds.cpp - device memory of a run, by name ------------------===//
//
// SPDX-License-Identifier: Apache-2.0
//
//===----------------------------------------------------------------------===//
#include "MemoryNeeds.h"
#include "../CommOpsHere.h"
#include "../ScalarRows.h"
#include "MoveTable.h"
#include "pprt/Backend.h"
#include "pprt/Bytes.h"

#include <algorithm>
#include <numeric>

using namespace pprt;
using namespace pprt::enqueued;

static void addCommOps(const Ranks &ranks, RankRange range, Section section,
                       MemoryNeeds &needs) {
  const auto add = [&](const CommOpHere &commOp) {
    if (!commOp.isWithin(range)) {
      needs.usesNccl = true;
      return Status();
    }
    for (const Move &move : commOp.moves())
      needs.tables +=
          tableBytes(move.region, move.sources.size(), move.targets.size());
    return Status();
  };
  // The code that prepares the comm ops reports a failure.
  (void)forEachCommOp(ranks, range, section, add);
}

MemoryNeeds enqueued::findNeeds(const Ranks &ranks, RankRange range,
                                const std::vector<uint64_t> &arenas,
                                const Backend &backend) {
  MemoryNeeds needs;
  needs.arenas = std::accumulate(arenas.begin(), arenas.end(), uint64_t(0));
  needs.code = ranks.artifact.object.size();
  std::vector<uint64_t> tables; // by kernel, bytes of a launch
  for (const std::unique_ptr<ppx::KernelT> &kernel : ranks.artifact.kernels) {
    tables.push_back(0);
    const ppx::ContractionT *its = kernel->body.AsContraction();
    needs.hasKernels |= !its;
    if (!its)
      continue;
    needs.workspace = std::max(needs.workspace, its->workspace_bytes);
    if (backend.launchBytes)
      tables.back() = backend.launchBytes(*its);
  }
  for (uint32_t rank = range.begin; rank < range.end; ++rank) {
    const ppx::ProgramT &program = ranks.program(rank);
    const ScalarRows rows(ranks.mesh.coordinates(rank), program);
    needs.scalars += rows.bytes();
    needs.pinned += hostPlace(rows.bytes());
    for (Section section : kSections)
      for (const Instruction instruction : ranks.instructions(rank, section))
        if (instruction->opcode == ppx::Opcode_load ||
            instruction->opcode == ppx::Opcode_emit)
          needs.pinned += hostPlace(instruction.slot(0).bytes);
        else if (instruction->opcode == ppx::Opcode_run ||
                 instruction->opcode == ppx::Opcode_gate)
          needs.products += tables[instruction->kernel];
  }
  for (Section section : kSections)
    addCommOps(ranks, range, section, needs);
  return needs;
}

/// Returns the growth between two readings; nothing if either is missing, or if
/// other processes freed more meanwhile.
static std::optional<uint64_t> between(std::optional<uint64_t> before,
                                       std::optional<uint64_t> after) {
  return before && after && *before <= *after ? std::optional(*after - *before)
                                              : std::nullopt;
}

static std::string counted(uint64_t count, const char *noun) {
  return std::to_string(count) + ' ' + noun + (count == 1 ? "" : "s");
}

static std::string describeArenas(const MemoryNeeds &needs, RankRange range) {
  std::string text = "of " + counted(range.size(), "rank");
  if (needs.workspace)
    text += ", with library workspaces of at most " +
            printBytes(double(needs.workspace));
  return text;
}

static std::string describeCode(const MemoryNeeds &needs) {
  if (!needs.hasKernels)
    return "no kernels of PTX";
  return "code that the driver compiles from " +
         (needs.code ? printBytes(double(needs.code)) +
                           " of PTX, now or at the first launch"
                     : "PTX, not compiled yet");
}

DeviceMemory enqueued::describeMemory(const MemoryNeeds &needs, RankRange range,
                                      unsigned stepsAhead, bool isCaptured,
                                      const MemoryReadings &readings) {
  using Bytes = std::optional<uint64_t>;
  const Bytes unknown;
  DeviceMemory memory;
  memory.ranks.resize(range.size());
  std::iota(memory.ranks.begin(), memory.ranks.end(), range.begin);
  memory.lines = {
      {"arenas", needs.arenas, unknown, describeArenas(needs, range)},
      {"rows of scalars", needs.scalars, unknown,
       "rank, micro-batch and step of each launch"},
      {"tables of comm ops", needs.tables, unknown,
       "for ranks that share the GPU"},
      {"tables of products", needs.products, unknown,
       "addresses of matrices in batches without a stride"},
      {"allocated", needs.allocated(),
       between(readings.loaded, readings.prepared),
       "the four above; the driver rounds up and adds streams, events and "
       "library code"},
      {"modules", unknown, between(readings.opened, readings.loaded),
       describeCode(needs)},
      {"context", unknown, readings.opened,
       "the driver's context; the measurement includes other processes"},
      {"graphs", isCaptured ? unknown : Bytes(0),
       between(readings.connected, readings.now),
       isCaptured
           ? "of at most " + counted(stepsAhead, "graph") +
                 "; the measurement includes everything since the first step"
           : "no graph is captured"},
      {"NCCL", needs.usesNccl ? unknown : Bytes(0),
       between(readings.prepared, readings.connected),
       needs.usesNccl ? "buffers of NCCL_BUFFSIZE, 4 MiB, for each channel and "
                        "pair of GPUs; NCCL chooses the number of channels"
                      : "all ranks are on one GPU"},
      {"pinned memory of the host", stepsAhead * needs.pinned, unknown,
       "inputs, outputs and rows of scalars of at most " +
           counted(stepsAhead, "step")}};
  if (readings.now)
    memory.lines.push_back({"in use", unknown, readings.now,
                            "by all processes, as the driver reports"});
  return memory;
}
