//===- Results.cpp - what a run leaves behind -----------------------------===//
//
// SPDX-License-Identifier: Apache-2.0
//
// That one file cannot be written costs none of the others.
//
//===----------------------------------------------------------------------===//
#include "Results.h"
#include "Run.h"
#include "pp/Predict/DrawStep.h"
#include "pprt/Bytes.h"
#include "pprt/Files.h"
#include "pprt/host/Parameters.h"

#include <filesystem>

using namespace pp::run;
using namespace pprt;
using namespace pprt::host;

Status pp::run::checkResults(const Options &options,
                             const ppx::ArtifactT &artifact) {
  if (!findLoss(artifact))
    return Status(ExitCode::badArtifact,
                  options.input + ": expects an output of role loss, got none");
  if (!options.save.empty())
    if (Status status = checkSavable(options.save, artifact); !status.ok())
      return status;
  for (const std::string &path :
       {options.save, options.report, options.trace, options.draw,
        options.metrics, options.plot, options.predict})
    if (Status status = path.empty() ? Status() : checkWritable(path);
        !status.ok())
      return status;
  return {};
}

/// The name of a file, and its size.
static std::string withSize(const std::string &path) {
  std::error_code error;
  const uint64_t bytes = std::filesystem::is_regular_file(path, error)
                             ? std::filesystem::file_size(path, error)
                             : 0;
  return path + (error || !bytes ? "" : " (" + printBytes(double(bytes)) + ")");
}

/// As predicted only, if the last step did not end or was not timed.
static Status drawLastStep(const Options &options, const Session &session,
                           const pp::predict::Prediction &prediction) {
  const std::optional<MeasuredStep> measured = measuredStep(session);
  const std::string text =
      drawStep(prediction, session.artifact(), session.mesh(),
               measured ? &*measured : nullptr, options.drawsTransfers);
  return writeFile(options.draw, text.data(), text.size());
}

Status pp::run::writeResults(const Options &options, const Session &session,
                             const World &world, const Report &report,
                             const LastSteps *lastSteps,
                             const pp::predict::Prediction &prediction,
                             Sinks &sinks, std::vector<std::string> &written) {
  const bool tells = world.process() == 0;
  Status status;
  const auto note = [&](const Status &its, const std::string &name) {
    status = join(status, its);
    if (its.ok() && tells)
      written.push_back(name);
  };
  if (!options.save.empty()) {
    const Status its =
        tells ? saveParameters(options.save, session) : giveParameters(session);
    note(its, withSize(options.save));
  }
  if (!tells)
    return status;
  if (!options.report.empty())
    note(writeReport(options.report, report), options.report);
  if (!options.trace.empty())
    note(writeTrace(options.trace,
                    lastSteps ? lastSteps->trace(session, report.checkpoints)
                              : traceLastStep(session, report.checkpoints)),
         options.trace);
  if (!options.draw.empty())
    note(drawLastStep(options, session, prediction), options.draw);
  status = join(status, sinks.finish());
  for (const std::string &file : sinks.files())
    written.push_back(file);
  return status;
}

std::string pp::run::printWritten(const std::vector<std::string> &written) {
  std::string text;
  for (const std::string &name : written)
    text += (text.empty() ? "wrote " : ", ") + name;
  return text.empty() ? text : text + "\n";
}
