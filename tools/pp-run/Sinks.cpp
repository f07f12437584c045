//===- Sinks.cpp - all that shows a run while it lasts --------------------===//
//
// SPDX-License-Identifier: Apache-2.0
//
//===----------------------------------------------------------------------===//
#include "Sinks.h"
#include "Plot.h"
#include "Run.h"
#include "pprt/host/EventFile.h"
#include "pprt/host/Metrics.h"

#include <filesystem>
#include <iostream>

using namespace pp::run;
using namespace pprt;
using namespace pprt::host;

const char *pp::run::itemName(const ppx::ArtifactT &artifact) {
  for (const auto &argument : artifact.arguments)
    if (argument->name == "tokens")
      return "tokens";
  return "samples";
}

/// The model, and the keys or, of an artifact, the mesh.
static PlotTitle titleOf(const Options &options,
                         const ppx::ArtifactT &artifact) {
  PlotTitle title = {options.input == "-"
                         ? "standard input"
                         : std::filesystem::path(options.input).filename(),
                     options.parallelize};
  if (title.keys.empty())
    for (const auto &axis : artifact.axes)
      title.keys += (title.keys.empty() ? "" : " ") + axis->name + "=" +
                    std::to_string(axis->size);
  return title;
}

static Status addTo(StepSink &sink, const StepReport *step) {
  return sink.add(*step);
}

Status Sinks::listen(const Options &options) {
  if (!options.listen)
    return {};
  Expected<std::unique_ptr<StepServer>> created =
      StepServer::listen(*options.listen);
  if (!created)
    return created.status();
  server = created->get();
  server->setGoal({"items", options.steps});
  its.push_back(std::move(*created));
  if (!options.quiet)
    std::cout << "metrics at " << server->address() << std::endl;
  return {};
}

Status Sinks::open(const Options &options, const ppx::ArtifactT &artifact,
                   const std::string &lines) {
  isQuiet = options.quiet;
  if (server)
    server->setGoal({itemName(artifact), options.steps});
  const auto create = [&](auto make, const std::string &path) -> Status {
    if (path.empty())
      return {};
    auto file = make(path);
    if (file)
      its.push_back(std::move(*file));
    return file.status();
  };
  if (Status status = create(MetricsFile::create, options.metrics);
      !status.ok())
    return status;
  if (Status status = create(EventFile::create, options.tensorboard);
      !status.ok())
    return status;
  if (!options.plot.empty())
    its.push_back(
        std::make_unique<PlotFile>(options.plot, titleOf(options, artifact)));
  if (its.empty())
    return {};
  for (size_t begin = 0; begin < lines.size();) {
    const size_t end = std::min(lines.find('\n', begin), lines.size());
    const Expected<StepReport> step =
        parseStep(lines.substr(begin, end - begin));
    if (!step)
      return step.status();
    if (Status status = call(addTo, &*step); !status.ok())
      return status;
    begin = end + 1;
  }
  return {};
}

Status Sinks::call(Call call, const StepReport *step) {
  Status all;
  for (size_t i = 0; i < its.size();) {
    const Status status = call(*its[i], step);
    if (status.ok()) {
      ++i;
      continue;
    }
    all = join(all, status);
    its.erase(its.begin() + ptrdiff_t(i));
  }
  return all;
}

void Sinks::add(const StepReport &step) {
  const Status status = call(addTo, &step);
  if (!status.ok() && !isQuiet)
    std::cerr << "pp-run: warning: step " << step.step << ": "
              << status.message() << "; training goes on without it"
              << std::endl;
  failure = join(failure, status);
}

Status Sinks::finish() {
  return join(failure, call([](StepSink &sink,
                               const StepReport *) { return sink.finish(); },
                            nullptr));
}

std::vector<std::string> Sinks::files() const {
  std::vector<std::string> files;
  for (const std::unique_ptr<StepSink> &sink : its)
    if (std::string file = sink->file(); !file.empty())
      files.push_back(std::move(file));
  return files;
}
