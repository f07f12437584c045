//===- Print.cpp - a prediction, to be read by people ---------------------===//
//
// SPDX-License-Identifier: Apache-2.0
//
// Ranks whose rows are equal share one. Columns and rows of zeros are left out.
//
//===----------------------------------------------------------------------===//
#include "pp/Predict/Prediction.h"
#include "pp/Predict/Table.h"
#include "pp/Schedule/Simulate.h"
#include "pp/Schedule/Topology.h"
#include "pprt/Bytes.h"

#include <algorithm>
#include <map>
#include <utility>

using namespace pp::predict;
using namespace pprt;
namespace schedule = pp::schedule;

namespace {

/// Groups equal rows, in order of their first program.
using Groups = std::vector<
    std::pair<std::vector<uint32_t>, std::vector<std::vector<std::string>>>>;

void addRows(Groups &groups, const std::vector<uint32_t> &ranks,
             std::vector<std::vector<std::string>> rows) {
  auto found = std::find_if(groups.begin(), groups.end(),
                            [&](auto &group) { return group.second == rows; });
  if (found == groups.end())
    groups.emplace_back(ranks, std::move(rows));
  else
    found->first.insert(found->first.end(), ranks.begin(), ranks.end());
}

void addTo(Table &table, const Groups &groups) {
  for (const auto &[ranks, rows] : groups)
    for (size_t i = 0; i < rows.size(); ++i) {
      std::vector<std::string> row = {i == 0 ? printRanks(ranks) : ""};
      row.insert(row.end(), rows[i].begin(), rows[i].end());
      table.add(std::move(row));
    }
}

std::string printMemory(const Prediction &prediction) {
  const bool gathers = std::any_of(
      prediction.programs.begin(), prediction.programs.end(),
      [](const ProgramPrediction &program) { return program.memory.gathered; });
  std::vector<std::string> head = {"memory",    "peak",      "parameters",
                                   "optimizer", "gradients", "activations",
                                   "workspace", "messages"};
  if (gathers)
    head.insert(head.begin() + 3, "gathered");
  if (!prediction.staging.empty())
    head.push_back("staging");
  Table table(std::move(head));
  Groups groups;
  for (const ProgramPrediction &program : prediction.programs) {
    MemoryUse use;
    for (uint32_t rank : program.ranks)
      if (const MemoryUse its = memoryOf(prediction, program, rank);
          its.peak > use.peak)
        use = its;
    std::vector<uint64_t> columns = {
        use.peak,        use.parameters, use.optimizer,    use.gradients,
        use.activations, use.workspace,  use.communication};
    if (gathers)
      columns.insert(columns.begin() + 2, use.gathered);
    if (!prediction.staging.empty())
      columns.push_back(use.staging);
    std::vector<std::string> row;
    for (uint64_t bytes : columns)
      row.push_back(bytes ? printBytes(double(bytes)) : "-");
    addRows(groups, program.ranks, {row});
  }
  addTo(table, groups);
  return table.print();
}

std::vector<std::string_view> axesOf(const ppx::ArtifactT &artifact) {
  std::vector<std::string_view> axes;
  for (const auto &axis : artifact.axes)
    axes.push_back(axis->name);
  return axes;
}

std::string printTraffic(const Prediction &prediction,
                         const ppx::ArtifactT &artifact) {
  Table table({"communication a step", "kind", "axes", "calls", "size", "sent"},
              3);
  Groups groups;
  bool isSilent = true;
  for (const ProgramPrediction &program : prediction.programs) {
    std::vector<std::vector<std::string>> rows;
    for (const Traffic &traffic : program.traffic) {
      std::string axes;
      for (std::string_view axis : schedule::joinParts(
               {traffic.axes.begin(), traffic.axes.end()}, axesOf(artifact)))
        axes += (axes.empty() ? "" : " ") + std::string(axis);
      rows.push_back({communicationName(traffic.kind), axes,
                      std::to_string(traffic.count),
                      printBytes(double(traffic.bytes)),
                      printBytes(double(traffic.wireBytes))});
    }
    isSilent &= rows.empty();
    addRows(groups, program.ranks, std::move(rows));
  }
  if (isSilent)
    return "communication: none\n";
  addTo(table, groups);
  return table.print();
}

std::string printStages(const Prediction &prediction) {
  Table table({"stage", "ranks", "parameters", "elements", "compute a step"},
              3);
  for (const ProgramPrediction &program : prediction.programs) {
    const std::vector<std::string> &names = program.parameters;
    std::string parameters = names.empty() ? "none" : names.front();
    if (names.size() > 1)
      parameters += (names.size() > 2 ? " ... " : ", ") + names.back();
    table.add({program.name, printRanks(program.ranks), parameters,
               printCount(double(program.parameterElements)),
               printSeconds(program.computeSeconds)});
  }
  return table.print();
}

/// How ranks spend the step.
std::string printClasses(const Prediction &prediction) {
  Table table({"time", "bubble", "exposed messages", "sets in flight"});
  Groups groups;
  for (const ClassPrediction &its : prediction.classes)
    addRows(groups, its.ranks,
            {{schedule::printBubble(its.times.bubble()),
              its.times.exposed > 0 ? printSeconds(its.times.exposed) : "-",
              its.setsInFlight ? std::to_string(its.setsInFlight) : "-"}});
  addTo(table, groups);
  return table.print();
}

/// `critical path: F 1.5 ms, B 3 ms, transfers 80 us; stage 3 takes 2.9 ms`.
std::string printCriticalPath(const Prediction &prediction) {
  const std::pair<const char *, const char *> kinds[] = {
      {"P", "prologue"},
      {"F", "F"},
      {"B", "B"},
      {"W", "W"},
      {"U", "update"},
      {"transfers", "transfers"},
      {"collectives", "collectives"},
      {"host", "host"}};
  std::string text = "critical path:";
  const char *separator = " ";
  for (const auto &[kind, name] : kinds) {
    double seconds = 0;
    for (const PathPart &part : prediction.criticalPath)
      if (part.kind == kind)
        seconds += part.seconds;
    // What takes less is not why the step takes long.
    if (seconds >= 1e-3 * prediction.stepSeconds)
      text += std::exchange(separator, ", ") + std::string(name) + " " +
              printSeconds(seconds);
  }
  std::map<uint32_t, double> stages;
  for (const PathPart &part : prediction.criticalPath)
    if (part.stage)
      stages[*part.stage] += part.seconds;
  const auto most = std::max_element(
      stages.begin(), stages.end(),
      [](const auto &a, const auto &b) { return a.second < b.second; });
  return text +
         (stages.size() > 1 ? "; stage " + std::to_string(most->first) +
                                  " takes " + printSeconds(most->second)
                            : "") +
         "\n";
}

/// `mb=4 (time) dp=2 tp=8 (tp.0=4 tp.1=2)`.
std::string printMesh(const ppx::ArtifactT &artifact) {
  std::string text;
  for (std::string_view name :
       schedule::joinParts(axesOf(artifact), axesOf(artifact))) {
    uint64_t size = 1;
    std::string rest;
    for (const auto &axis : artifact.axes)
      if (axis->name == name) {
        size = axis->size;
        if (axis->kind != ppx::AxisKind_space)
          rest = ppx::EnumNameAxisKind(axis->kind);
      } else if (schedule::wholeAxisOf(axis->name) == name) {
        size *= axis->size;
        rest += (rest.empty() ? "" : " ") + axis->name + "=" +
                std::to_string(axis->size);
      }
    text += (text.empty() ? "" : " ") + std::string(name) + "=" +
            std::to_string(size) + (rest.empty() ? "" : " (" + rest + ")");
  }
  return text.empty() ? "one device" : text;
}

/// `8 ranks of 1 thread`.
std::string describeRanks(uint64_t ranks, const ppx::ArtifactT &artifact) {
  const uint32_t threads = artifact.threads_per_rank;
  std::string text = std::to_string(ranks) + (ranks == 1 ? " rank" : " ranks");
  if (pp::predict::isForGpus(artifact))
    return text + ", a GPU each";
  text += " of ";
  if (threads == 0)
    return text + "as many threads as there are cores";
  return text + std::to_string(threads) +
         (threads == 1 ? " thread" : " threads");
}

} // namespace

std::string pp::predict::print(const Prediction &prediction,
                               const ppx::ArtifactT &artifact,
                               unsigned columns) {
  const schedule::Topology topology = topologyOf(artifact);
  uint64_t ranks = 0;
  for (const ProgramPrediction &program : prediction.programs)
    ranks += program.ranks.size();
  std::string text =
      "mesh " + printMesh(artifact) + ": " + describeRanks(ranks, artifact);
  if (!prediction.cuts.empty()) {
    text += "; cuts=["; // as the key takes them
    for (uint64_t cut : prediction.cuts)
      text += (text.back() == '[' ? "" : ",") + std::to_string(cut);
    text += "]";
  }
  text += "\n\n" + printMemory(prediction) + "\n" +
          printTraffic(prediction, artifact) + "\n" + printStages(prediction);
  if (prediction.timeline.end > 0)
    text += "\n" + schedule::drawText(prediction.schedule, prediction.timeline,
                                      columns - 12, /*tellsBubbles=*/false);
  if (!prediction.classes.empty())
    text += "\n" + printClasses(prediction);
  text += "\nstep " + printSeconds(prediction.stepSeconds) + ", bubble " +
          schedule::printBubble(prediction.times.bubble());
  if (prediction.times.exposed + prediction.times.hidden > 0)
    text += ", communication " + printSeconds(prediction.times.exposed) +
            " exposed and " + printSeconds(prediction.times.hidden) + " hidden";
  text += "\n";
  if (!prediction.criticalPath.empty())
    text += printCriticalPath(prediction);
  const std::string &source = prediction.durations.source();
  return text + "with " +
         (source.empty()
              ? "devices of " + printCount(topology.flopsPerSecond, " ") +
                    "FLOP/s and " + printCount(topology.bytesPerSecond, " ") +
                    "B/s"
              : source) +
         ", links of " + printLinks(topology) + "\n";
}

std::string pp::predict::printLinks(const schedule::Topology &topology) {
  std::string text;
  for (const schedule::Link &link : topology.links)
    text += (text.empty() ? "" : ", then ") +
            printCount(link.bytesPerSecond, " ") + "B/s and " +
            printSeconds(link.latency);
  return text;
}

std::string pp::predict::print(const DeviceMemory &memory) {
  // Unknown figures are left empty.
  const auto bytesOf = [](const std::optional<uint64_t> &bytes) {
    return !bytes ? std::string("not known") : printBytes(double(*bytes));
  };
  Table table(
      {"memory of the GPU of " + printRanks(memory.ranks), "what for", "bytes"},
      2);
  for (const MemoryLine &line : memory.lines)
    table.add({line.name, line.origin, bytesOf(line.predicted)});
  return table.print();
}
