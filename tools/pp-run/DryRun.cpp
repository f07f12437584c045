//===- DryRun.cpp - predicts a run ----------------------------------------===//
//
// SPDX-License-Identifier: Apache-2.0
//
// Reads instruction lists and adds up: no parameter is made, no kernel
// compiled, no arena allocated.
//
//===----------------------------------------------------------------------===//
#include "Launch.h"
#include "Run.h"
#include "pp/Predict/DrawStep.h"
#include "pp/Predict/MemoryReport.h"
#include "pprt/ArgumentParts.h"
#include "pprt/Backend.h"
#include "pprt/Bytes.h"
#include "pprt/Files.h"
#include "pprt/host/Measure.h"

#include <algorithm>
#include <numeric>
#include <ostream>

using namespace pp::run;
using namespace pprt;
using namespace pprt::host;

/// The timeline that is predicted, for ui.perfetto.dev.
static Status writePredictedTrace(const std::string &path,
                                  const ppx::ArtifactT &artifact,
                                  const Mesh &mesh,
                                  const pp::predict::Durations &durations,
                                  const std::string &device) {
  const Players players = Players::ranks(artifact, mesh);
  const std::optional<Timeline> timeline =
      pp::predict::timelineOf(players, durations);
  return writeTrace(path, timeline
                              ? makeTrace(players, artifact, *timeline, device)
                              : Trace());
}

/// The proofs for a program without findings (pprt/Checks.h).
static std::string describeChecks(const Options &options) {
  std::string text = "checked: no races, nothing is read before it is written, "
                     "messages match, no deadlock in any order of events";
  if (options.memoryLimit)
    text += "; fits in " + printBytes(*options.memoryLimit);
  return text + "\n";
}

/// Each rank has a GPU, as in stagingOf().
static DeviceMemory predictGpu(const Options &options,
                               const ppx::ArtifactT &artifact, const Mesh &mesh,
                               const std::vector<uint64_t> &staging) {
  const GpuUse use =
      findLargestGpu(options, /*isShared=*/false, artifact, mesh, staging);
  const bool isRecorded = options.graph.value_or(true);
  return enqueued::describeMemory(use.needs, use.ranks,
                                  isRecorded ? enqueued::kStepsAhead : 1,
                                  isRecorded, {});
}

/// What --checkpoint takes.
static CheckpointNeeds predictCheckpoint(const ppx::ArtifactT &artifact,
                                         const Mesh &mesh) {
  const std::vector<uint64_t> bytes =
      givenBytes(argumentParts(artifact, mesh), artifact, mesh);
  return {std::accumulate(bytes.begin(), bytes.end(), uint64_t(0)),
          *std::max_element(bytes.begin(), bytes.end())};
}

/// As the plan's rates say, or as another run measured.
static Expected<pp::predict::Durations>
findDurations(const Options &options, const ppx::ArtifactT &artifact,
              const Mesh &mesh) {
  if (options.durations.empty())
    return pp::predict::Durations(artifact, mesh);
  Expected<pp::predict::ActionSeconds> measured =
      pp::predict::ActionSeconds::read(options.durations);
  if (!measured)
    return measured.status();
  return pp::predict::Durations::create(artifact, mesh, *measured);
}

/// Prints, or writes to its file, what fills the memory.
static Status tellOfMemory(const Options &options,
                           const pp::predict::Prediction &prediction,
                           const ppx::ArtifactT &artifact, std::ostream &out) {
  const std::string text =
      spellMemory(reportMemory(prediction, artifact), options.memoryReport);
  if (!options.memoryReport.empty())
    return writeOutput(options.memoryReport, text.data(), text.size());
  out << (options.quiet ? "" : "\n") << text << std::flush;
  return {};
}

Status pp::run::dryRun(const Options &options, const ppx::ArtifactT &artifact,
                       const Status &checked, std::vector<uint64_t> staging,
                       double passesMs, std::ostream &out) {
  if (!options.code.empty() && artifact.object.empty())
    return Status(ExitCode::usage,
                  "'--code' expects an artifact with compiled kernels, got " +
                      options.input +
                      ", which has none; make one with pp-opt --emit=ppx");
  for (const std::string &path : {options.report, options.trace, options.draw,
                                  options.code, options.memoryReport})
    if (Status status = path.empty() ? Status() : checkWritable(path);
        !status.ok())
      return status;
  if (!checked.ok() && checked.code() != ExitCode::outOfMemory)
    return checked;

  Expected<Mesh> mesh = Mesh::create(artifact.axes);
  if (!mesh)
    return mesh.status();
  Expected<predict::Durations> durations =
      findDurations(options, artifact, *mesh);
  if (!durations)
    return durations.status();
  predict::Prediction prediction =
      predict::predict(artifact, *mesh, *durations);
  prediction.staging = std::move(staging);
  std::vector<DeviceMemory> devices;
  if (findBackend(options.device)->hasStreams)
    devices.push_back(predictGpu(options, artifact, *mesh, prediction.staging));
  std::optional<CheckpointNeeds> checkpoint;
  if (!options.checkpoint.empty())
    checkpoint = predictCheckpoint(artifact, *mesh);
  if (!options.quiet) {
    out << predict::print(prediction, artifact);
    for (const DeviceMemory &memory : devices)
      out << "\n" << predict::print(memory) << "\n";
    if (checkpoint)
      out << "\na checkpoint takes " << printBytes(checkpoint->bytes)
          << " on disk, and beside the arena up to "
          << printBytes(checkpoint->largestCopy)
          << " of the host's memory for a rank\n";
    out << (checked.ok() ? describeChecks(options) : "") << std::flush;
  }
  if (options.reportsMemory)
    if (Status status = tellOfMemory(options, prediction, artifact, out);
        !status.ok())
      return status;
  Report report;
  report.device = options.device;
  report.compileMs = report.passesMs = passesMs;
  reportPrediction(artifact, *mesh, prediction, report);
  report.checkpointNeeds = checkpoint;
  report.deviceMemory = std::move(devices);
  if (!options.report.empty())
    if (Status status = writeReport(options.report, report); !status.ok())
      return status;
  if (!options.code.empty())
    if (Status status = writeOutput(options.code, artifact.object.data(),
                                    artifact.object.size());
        !status.ok())
      return status;
  if (!options.draw.empty()) {
    const std::string text =
        drawStep(prediction, artifact, *mesh, nullptr, options.drawsTransfers);
    if (Status status = writeOutput(options.draw, text.data(), text.size());
        !status.ok())
      return status;
  }
  if (!options.trace.empty())
    if (Status status = writePredictedTrace(options.trace, artifact, *mesh,
                                            *durations, options.device);
        !status.ok())
      return status;
  return checked;
}
