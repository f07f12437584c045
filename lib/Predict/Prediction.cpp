//===- Prediction.cpp - predicts a step -----------------------------------===//
//
// SPDX-License-Identifier: Apache-2.0
//
// Kernels take the counts of the cost interface at the machine's rates,
// messages the time of their bytes on a link, round by round, and the host its
// bytes. The instruction lists are then simulated with these times, one rank
// per list.
//
//===----------------------------------------------------------------------===//
#include "pp/Predict/Prediction.h"
#include "CriticalPath.h"
#include "pp/Predict/PlanText.h"
#include "pprt/Program.h"
#include "pprt/Target.h"

#include <algorithm>
#include <limits>
#include <map>
#include <tuple>

using namespace pp::predict;
using namespace pprt;
namespace schedule = pp::schedule;

schedule::Topology pp::predict::topologyOf(const ppx::ArtifactT &artifact) {
  schedule::Topology topology;
  if (auto links = schedule::parseLinks(quotedInPlan(artifact.plan, "links")))
    topology.links = std::move(*links);
  if (auto rates = schedule::parseRates(quotedInPlan(artifact.plan, "rates")))
    static_cast<schedule::Rates &>(topology) = *rates;
  return topology;
}

/// The slowest of the links along the axes of a message.
static schedule::Link linkOf(const ppx::ArtifactT &artifact, const Mesh &mesh,
                             const Instruction &instruction,
                             const schedule::Topology &topology) {
  std::vector<uint32_t> axes;
  if (instruction->opcode == ppx::Opcode_collective)
    axes = artifact.groups[instruction->group]->axes;
  else if (mesh.stageAxis())
    axes = {uint32_t(*mesh.stageAxis())};
  schedule::Link slowest{std::numeric_limits<double>::infinity(), 0};
  for (uint32_t axis : axes) {
    std::vector<std::string_view> behind = {artifact.axes[axis]->name};
    for (size_t other = axis + 1; other < artifact.axes.size(); ++other)
      if (artifact.axes[other]->kind != ppx::AxisKind_time)
        behind.push_back(artifact.axes[other]->name);
    const schedule::Link &link = topology.linkAlong(behind);
    slowest.bytesPerSecond =
        std::min(slowest.bytesPerSecond, link.bytesPerSecond);
    slowest.latency = std::max(slowest.latency, link.latency);
  }
  return axes.empty() ? topology.links.back() : slowest;
}

double pp::predict::secondsOf(const ppx::ArtifactT &artifact, const Mesh &mesh,
                              const Instruction &instruction,
                              const schedule::Topology &topology) {
  switch (instruction->opcode) {
  case ppx::Opcode_run:
  case ppx::Opcode_gate: {
    const ppx::KernelT &kernel = *artifact.kernels[instruction->kernel];
    return topology.kernelSeconds(kernel.flops, kernel.bytes);
  }
  case ppx::Opcode_send:
  case ppx::Opcode_recv:
  case ppx::Opcode_collective: {
    const Message message = *messageOf(artifact, mesh, instruction);
    return linkOf(artifact, mesh, instruction, topology)
        .messageSeconds(double(message.rounds), double(message.wireBytes));
  }
  default: {
    double bytes = 0;
    for (size_t i = 0; i < instruction.slotCount(); ++i)
      bytes += double(instruction.slot(i).bytes);
    return bytes / topology.bytesPerSecond;
  }
  }
}

bool pp::predict::isForGpus(const ppx::ArtifactT &artifact) {
  const Target *target = findTarget(artifact.target);
  return target && target->code() == Code::ptx;
}

static std::optional<schedule::Kind> kindOf(ppx::Phase phase) {
  switch (phase) {
  case ppx::Phase_forward:
    return schedule::Kind::Forward;
  case ppx::Phase_backward:
    return schedule::Kind::Backward;
  case ppx::Phase_weight:
    return schedule::Kind::Weight;
  default:
    return std::nullopt;
  }
}

/// The actions of a program, from the first to the last of their kernels.
static std::vector<schedule::TimedAction>
findActions(const InstructionList &body, const std::vector<Span> &spans) {
  std::map<std::tuple<uint32_t, char, int32_t>, schedule::TimedAction> found;
  for (size_t i = 0; i < body.size(); ++i) {
    const Instruction instruction = body[i];
    const std::optional<schedule::Kind> kind = kindOf(instruction->phase);
    const int32_t microBatch = instruction.microBatch();
    if (!kind || instruction->opcode != ppx::Opcode_run || microBatch < 0)
      continue;
    const schedule::Action action = {instruction->stage, *kind,
                                     unsigned(microBatch)};
    auto [entry, isNew] =
        found.try_emplace({action.stage, char(*kind), microBatch},
                          schedule::TimedAction{action, spans[i].begin, 0});
    entry->second.end = std::max(entry->second.end, spans[i].end);
  }
  std::vector<schedule::TimedAction> actions;
  for (const auto &[key, action] : found)
    actions.push_back(action);
  std::sort(actions.begin(), actions.end(),
            [](const schedule::TimedAction &a, const schedule::TimedAction &b) {
              return a.start < b.start;
            });
  return actions;
}

static void addSchedule(const Players &players, const Timeline &timeline,
                        Prediction &prediction) {
  for (uint32_t player = 0; player < players.size(); ++player) {
    std::vector<schedule::TimedAction> actions =
        findActions(players.body(player), timeline[player]);
    prediction.schedule.ranks.emplace_back();
    for (const schedule::TimedAction &timed : actions) {
      prediction.schedule.ranks.back().push_back(timed.action);
      prediction.schedule.stages =
          std::max(prediction.schedule.stages, timed.action.stage + 1);
      prediction.schedule.microBatches = std::max(
          prediction.schedule.microBatches, timed.action.microBatch + 1);
      prediction.timeline.end = std::max(prediction.timeline.end, timed.end);
    }
    prediction.timeline.ranks.push_back(std::move(actions));
  }
}

/// What only trains holds residuals.
static bool hasBackward(const std::vector<schedule::Action> &actions) {
  return std::any_of(actions.begin(), actions.end(),
                     [](const schedule::Action &action) {
                       return action.kind == schedule::Kind::Backward;
                     });
}

static void addClasses(const Players &players, const Timeline &timeline,
                       Prediction &prediction) {
  const std::vector<RankTimes> times = timesOfPlayers(players, timeline);
  prediction.times = meanTimes(players, times);
  for (uint32_t player = 0; player < players.size(); ++player)
    prediction.classes.push_back(
        {players.ranksOf(player), times[player],
         hasBackward(prediction.schedule.ranks[player])
             ? peakInFlight(prediction.schedule, player)
             : 0});
}

static ProgramPrediction describe(const ppx::ArtifactT &artifact,
                                  const Mesh &mesh, size_t index,
                                  const Durations &durations) {
  const ppx::ProgramT &program = *artifact.programs[index];
  ProgramPrediction result;
  result.name = program.name;
  result.ranks = program.ranks;
  result.memory = memoryOf(artifact, program);
  result.traffic = trafficOf(artifact, mesh, program);
  for (size_t i = 0; i < artifact.arguments.size(); ++i) {
    const auto &argument = artifact.arguments[i];
    if (argument->role != ppx::Role_param || program.argument_slots[i] < 0)
      continue;
    result.parameters.push_back(argument->name);
    result.parameterElements += denseBytes(argument->shape, 1).value_or(0);
  }
  for (const Instruction instruction : InstructionList(program, Section::body))
    if (instruction->opcode == ppx::Opcode_run ||
        instruction->opcode == ppx::Opcode_gate)
      result.computeSeconds += durations.of(instruction);
  return result;
}

MemoryUse pp::predict::memoryOf(const Prediction &prediction,
                                const ProgramPrediction &program,
                                uint32_t rank) {
  MemoryUse use = program.memory;
  if (!prediction.staging.empty()) {
    use.staging = prediction.staging[rank];
    use.peak += use.staging;
  }
  return use;
}

std::optional<Timeline> pp::predict::timelineOf(const Players &players,
                                                const Durations &durations) {
  return replay(players, [&](Place place) {
    return durations.of(players.instruction(place));
  });
}

Prediction pp::predict::predict(const ppx::ArtifactT &artifact,
                                const Mesh &mesh) {
  return predict(artifact, mesh, Durations(artifact, mesh));
}

Prediction pp::predict::predict(const ppx::ArtifactT &artifact,
                                const Mesh &mesh, const Durations &durations) {
  Prediction prediction(durations);
  prediction.cuts = artifact.cuts;
  for (size_t i = 0; i < artifact.programs.size(); ++i)
    prediction.programs.push_back(describe(artifact, mesh, i, durations));

  const Players players = Players::classes(artifact, mesh);
  std::optional<Timeline> timeline = timelineOf(players, durations);
  if (!timeline)
    return prediction;
  for (const std::vector<Span> &spans : *timeline)
    for (const Span &span : spans)
      prediction.stepSeconds = std::max(prediction.stepSeconds, span.end);
  prediction.schedule.name = quotedInPlan(artifact.plan, "schedule");
  addSchedule(players, *timeline, prediction);
  addClasses(players, *timeline, prediction);
  prediction.criticalPath = findCriticalPath(players, *timeline);
  prediction.instructions = std::move(*timeline);
  return prediction;
}
