//===- PredictionReport.cpp - the predicted half of a report --------------===//
//
// SPDX-License-Identifier: Apache-2.0
//
// In: the prediction for an artifact that passed the checks. Out: the report's
// parts that are known before a run.
//
//===----------------------------------------------------------------------===//
#include "Run.h"
#include "pp/Predict/Prediction.h"

using namespace pp::predict;
using namespace pprt;
using namespace pprt::host;
namespace schedule = pp::schedule;

static StageReport describe(const Prediction &prediction, size_t index) {
  const ProgramPrediction &program = prediction.programs[index];
  StageReport stage = {program.name,
                       program.ranks,
                       program.parameters,
                       1e3 * program.computeSeconds,
                       "",
                       0};
  // One class of the program's ranks serves.
  for (size_t row = 0; row < prediction.classes.size(); ++row) {
    const ClassPrediction &its = prediction.classes[row];
    if (its.ranks.front() != program.ranks.front())
      continue;
    stage.setsInFlight = its.setsInFlight;
    for (const schedule::Action &action : prediction.schedule.ranks[row])
      stage.schedule +=
          (stage.schedule.empty() ? "" : " ") + schedule::print(action);
  }
  return stage;
}

void pp::run::reportPrediction(const ppx::ArtifactT &artifact, const Mesh &mesh,
                               const Prediction &prediction, Report &report) {
  report.world = mesh.worldSize();
  report.threadsPerRank = isForGpus(artifact) ? 0 : artifact.threads_per_rank;
  report.itemsPerStep = artifact.items_per_step;
  report.memory.resize(report.world);
  report.communication.resize(report.world);
  for (size_t i = 0; i < prediction.programs.size(); ++i) {
    const ProgramPrediction &program = prediction.programs[i];
    for (uint32_t rank : program.ranks) {
      report.memory[rank] = {rank, memoryOf(prediction, program, rank), {}};
      report.communication[rank] = {rank, program.traffic};
    }
    report.stages.push_back(describe(prediction, i));
  }
  report.predictedStepMs = 1e3 * prediction.stepSeconds;
  report.cuts = prediction.cuts;
  report.times.predicted = prediction.times;
  report.times.predictedOf.resize(report.world);
  for (const ClassPrediction &its : prediction.classes)
    for (uint32_t rank : its.ranks)
      report.times.predictedOf[rank] = its.times;
  report.criticalPath = prediction.criticalPath;
}
