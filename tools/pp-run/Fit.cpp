//===- Fit.cpp - what to do about too little memory -----------------------===//
//
// SPDX-License-Identifier: Apache-2.0
//
// In: a model whose program does not fit the memory limit. Arenas are
// predicted; what a rank needs beside them, such as messages in transit, is
// measured for each plan.
//
//===----------------------------------------------------------------------===//
#include "Fit.h"
#include "pp/Predict/Table.h"
#include "pprt/Bytes.h"

#include <algorithm>

using namespace pp::run;
using namespace pprt;

static std::string printOption(const PlanTrial &trial) {
  return "--parallelize=\"" + trial.keys + "\"";
}

uint64_t pp::run::largestArena(const ppx::ArtifactT &artifact) {
  uint64_t bytes = 0;
  for (const std::unique_ptr<ppx::ProgramT> &program : artifact.programs)
    bytes = std::max(bytes, program->arena_bytes);
  return bytes;
}

std::optional<PlanTrial> pp::run::findFit(const Options &options,
                                          SourceModule &module,
                                          const MeasureBeside &measureBeside) {
  return module.findPlanThatFits(options.parallelize, *options.memoryLimit,
                                 measureBeside);
}

std::string pp::run::adviseOnMemory(const Options &options,
                                    SourceModule &module, uint64_t bytes,
                                    const MeasureBeside &measureBeside) {
  std::vector<PlanTrial> trials = module.trySmallerPlans(
      options.parallelize, *options.memoryLimit, measureBeside);
  const auto fits = [&](const PlanTrial &trial) {
    return trial.bytes <= *options.memoryLimit;
  };
  // What fits, the fastest first; then by what is saved.
  std::stable_sort(trials.begin(), trials.end(),
                   [&](const PlanTrial &a, const PlanTrial &b) {
                     if (fits(a) != fits(b))
                       return fits(a);
                     return fits(a) ? a.seconds < b.seconds : a.bytes < b.bytes;
                   });
  pp::predict::Table table({"plans that need less memory", "saves", "memory",
                            "a step", "devices", "fits"});
  std::string others, best;
  for (const PlanTrial &trial : trials) {
    if (!trial.refusal.empty()) {
      others += trial.change + " is refused: " + trial.refusal + "\n";
      continue;
    }
    if (trial.bytes >= bytes) {
      others += trial.change + " saves nothing\n";
      continue;
    }
    if (best.empty() && fits(trial))
      best = options.command + " " + printOption(trial);
    table.add({printOption(trial), printBytes(double(bytes - trial.bytes)),
               printBytes(double(trial.bytes)),
               pp::predict::printSeconds(trial.seconds),
               std::to_string(trial.devices), fits(trial) ? "yes" : "no"});
  }
  if (table.empty())
    return "";
  if (best.empty())
    return table.print() + others +
           "none of these fits, nor do the strongest of them together\n";
  // --fit takes no other number of devices.
  const bool canFit = !options.fit && findFit(options, module, measureBeside);
  return table.print() + others + "the first as a command" +
         (canFit ? ", or add --fit" : "") + ":\n  " + best + "\n";
}

std::string pp::run::describeFit(const Options &options, const PlanTrial &fit,
                                 const std::string &now) {
  return "--fit applies " + fit.change + ": " + printBytes(double(fit.bytes)) +
         " instead of " + now + ", " + pp::predict::printSeconds(fit.seconds) +
         " a step as predicted\n  " + options.command + " " + printOption(fit) +
         "\n";
}
