//===- StructureStages.cpp - do stages hold and emit what the tables say? -===//
//
// SPDX-License-Identifier: Apache-2.0
//
// In: an artifact whose arguments, outputs and instructions are sound, each by
// itself. A tensor is assembled from its shards: those that ranks hold of a
// parameter or state, those that they emit of an output. The ranks of a stage
// together have all shards, so each tensor must be held or emitted by whole
// stages, and by at least one; otherwise a run would save or report memory that
// was never written. A program that loads an input split over time must load
// every part, since it would not train on the others.
//
//===----------------------------------------------------------------------===//
#include "Passes.h"

#include <algorithm>
#include <map>
#include <numeric>
#include <set>

using namespace pprt;
using namespace pprt::checks;

namespace {

class StageChecker {
public:
  StageChecker(const ppx::ArtifactT &artifact, const Mesh &mesh,
               FindingList &report);

  void checkHolders(size_t argument);
  void checkStagesOf(const ppx::OutputT &output);
  void checkEmitters(uint32_t output);
  void checkLoads(uint32_t argument);

private:
  struct Emit {
    bool inBody = false;
    std::set<int32_t> microBatches;
  };
  void checkEmit(const ppx::OutputT &output, uint32_t program,
                 const Emit &emit);
  template <typename Tensor>
  std::string comparePartsOver(const Tensor &tensor,
                               const std::set<int32_t> &microBatches) const;

  const ppx::ArtifactT &artifact;
  const Mesh &mesh;
  FindingList &report;
  std::vector<std::set<uint32_t>> programsOf; ///< by stage
  std::vector<std::set<uint32_t>> stagesOf;   ///< by program
  /// By program, the first of those connected with it by shared stages.
  std::vector<uint32_t> firstBeside;
  /// By output, then by program.
  std::vector<std::map<uint32_t, Emit>> emits;
  /// Micro-batches by argument, then by program.
  std::vector<std::map<uint32_t, std::set<int32_t>>> loads;
};

} // namespace

StageChecker::StageChecker(const ppx::ArtifactT &artifact, const Mesh &mesh,
                           FindingList &report)
    : artifact(artifact), mesh(mesh), report(report),
      programsOf(mesh.stageCount()), stagesOf(artifact.programs.size()),
      emits(artifact.outputs.size()), loads(artifact.arguments.size()) {
  for (uint32_t i = 0; i < artifact.programs.size(); ++i) {
    const ppx::ProgramT &program = *artifact.programs[i];
    report.work(program.ranks.size());
    for (uint32_t rank : program.ranks) {
      programsOf[mesh.stage(rank)].insert(i);
      stagesOf[i].insert(mesh.stage(rank));
    }
    for (Section section : kSections)
      for (const Instruction instruction : InstructionList(program, section)) {
        report.work(1);
        if (instruction->opcode == ppx::Opcode_load)
          loads[instruction->binding][i].insert(instruction.microBatch());
        if (instruction->opcode != ppx::Opcode_emit)
          continue;
        Emit &emit = emits[instruction->binding][i];
        emit.inBody |= section == Section::body;
        emit.microBatches.insert(instruction.microBatch());
      }
  }
  firstBeside.resize(artifact.programs.size());
  std::iota(firstBeside.begin(), firstBeside.end(), 0);
  const auto find = [&](uint32_t program) {
    while (firstBeside[program] != program)
      program = firstBeside[program] = firstBeside[firstBeside[program]];
    return program;
  };
  for (const std::set<uint32_t> &programs : programsOf)
    for (uint32_t program : programs) {
      const auto [low, high] =
          std::minmax({find(program), find(*programs.begin())});
      firstBeside[high] = low;
    }
  for (uint32_t program = 0; program < firstBeside.size(); ++program)
    firstBeside[program] = find(program);
}

/// Of programs connected by shared stages, either all hold the tensor or none
/// does.
void StageChecker::checkHolders(size_t index) {
  const ppx::ArgumentT &argument = *artifact.arguments[index];
  auto fail = [&](const auto &...message) {
    report.add(text("argument '", argument.name, "' expects ", message...));
  };
  const auto holds = [&](uint32_t program) {
    return artifact.programs[program]->argument_slots[index] >= 0;
  };
  report.work(artifact.programs.size());
  bool held = false, isWhole = true;
  for (uint32_t program = 0; program < artifact.programs.size(); ++program) {
    held |= holds(program);
    isWhole &= holds(program) == holds(firstBeside[program]);
  }
  if (!held)
    fail("a stage that holds it, got none");
  for (uint32_t stage = 0; !isWhole && stage < programsOf.size(); ++stage) {
    const std::set<uint32_t> &programs = programsOf[stage];
    const auto holders =
        size_t(std::count_if(programs.begin(), programs.end(), holds));
    if (holders == 0 || holders == programs.size())
      continue;
    return fail("all ranks of stage ", stage, " to hold it or none, got ",
                holders, " of its ", programs.size(), " programs");
  }
}

void StageChecker::checkStagesOf(const ppx::OutputT &output) {
  auto fail = [&](const auto &...message) {
    report.add(text("output '", output.name, "' expects ", message...));
  };
  if (output.stages.empty())
    fail("a stage that emits it, got none");
  for (size_t i = 0; i < output.stages.size(); ++i) {
    report.work(1);
    if (output.stages[i] >= mesh.stageCount())
      fail("stages below ", mesh.stageCount(), ", got ", output.stages[i]);
    else if (i > 0 && output.stages[i] <= output.stages[i - 1])
      fail("its stages in ascending order, got ", output.stages[i], " after ",
           output.stages[i - 1]);
  }
}

/// Checks that the micro-batches are all shards over the time axes. Returns a
/// description if not.
template <typename Tensor>
std::string
StageChecker::comparePartsOver(const Tensor &tensor,
                               const std::set<int32_t> &microBatches) const {
  uint64_t count = 1;
  for (const auto &dimension : tensor.sharding)
    for (uint32_t axis : dimension->axes)
      count *= mesh.partCount(axis);
  report.work(microBatches.size());
  std::set<std::vector<int64_t>> parts;
  for (int32_t microBatch : microBatches)
    parts.insert(partOverTime(mesh, tensor, std::max(microBatch, 0)));
  if (parts.size() == count)
    return "";
  return text(" each of its ", count, " parts over time, got ", parts.size());
}

void StageChecker::checkLoads(uint32_t index) {
  const ppx::ArgumentT &argument = *artifact.arguments[index];
  for (const auto &[program, microBatches] : loads[index])
    if (const std::string parts = comparePartsOver(argument, microBatches);
        !parts.empty())
      report.add(text("argument '", argument.name, "' expects program '",
                      artifact.programs[program]->name, "' to load", parts));
}

void StageChecker::checkEmit(const ppx::OutputT &output, uint32_t program,
                             const Emit &emit) {
  auto fail = [&](const auto &...message) {
    report.add(text("output '", output.name, "' expects program '",
                    artifact.programs[program]->name, "' of stage ",
                    *stagesOf[program].begin(), message...));
  };
  if (output.role == ppx::OutputRole_loss && !emit.inBody)
    return fail(" to emit the loss in its body, got it elsewhere");
  if (const std::string parts = comparePartsOver(output, emit.microBatches);
      !parts.empty())
    fail(" to emit", parts);
}

/// All programs of the output's stages emit it, and no others: counts the
/// emitters instead of asking every program.
void StageChecker::checkEmitters(uint32_t index) {
  const ppx::OutputT &output = *artifact.outputs[index];
  std::map<uint32_t, size_t> emitters; // by stage
  for (const auto &[program, emit] : emits[index])
    for (uint32_t stage : stagesOf[program]) {
      report.work(1);
      if (!std::binary_search(output.stages.begin(), output.stages.end(),
                              stage))
        return report.add(text("output '", output.name, "' expects program '",
                               artifact.programs[program]->name, "' of stage ",
                               stage,
                               " not to emit it, as the stage is none of its "
                               "stages"));
      ++emitters[stage];
    }
  for (uint32_t stage : output.stages) {
    report.work(1);
    const std::set<uint32_t> &programs = programsOf[stage];
    if (emitters[stage] == programs.size() || report.full())
      continue;
    const auto missing =
        std::find_if(programs.begin(), programs.end(), [&](uint32_t program) {
          return !emits[index].count(program);
        });
    report.add(text("output '", output.name, "' expects program '",
                    artifact.programs[*missing]->name, "' of stage ", stage,
                    " to emit it, got no such instruction"));
  }
  for (const auto &[program, emit] : emits[index])
    checkEmit(output, program, emit);
}

void checks::checkStages(const ppx::ArtifactT &artifact, const Mesh &mesh,
                         FindingList &report) {
  if (!report.empty())
    return;
  StageChecker checker(artifact, mesh, report);
  for (size_t i = 0; i < artifact.arguments.size(); ++i)
    if (isPersistent(*artifact.arguments[i]) && !report.full())
      checker.checkHolders(i);
  for (const auto &output : artifact.outputs)
    checker.checkStagesOf(*output);
  if (!report.empty())
    return;
  for (uint32_t i = 0; i < artifact.outputs.size(); ++i)
    checker.checkEmitters(i);
  for (uint32_t i = 0; i < artifact.arguments.size(); ++i)
    checker.checkLoads(i);
}
