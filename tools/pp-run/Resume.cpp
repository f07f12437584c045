//===- Resume.cpp - goes on from a checkpoint -----------------------------===//
//
// SPDX-License-Identifier: Apache-2.0
//
// In: --resume, the program, the data. Out: an open checkpoint that fits the
// program. All processes come to the same answer.
//
//===----------------------------------------------------------------------===//
#include "Resume.h"
#include "Launch.h"
#include "pp/Predict/PlanText.h"
#include "pprt/Artifact.h"
#include "pprt/host/Elements.h"

#include <iostream>
#include <map>

using namespace pp::run;
using namespace pprt;
using namespace pprt::host;

/// Says what it does beside what was asked for, in process 0.
static void tell(const Options &options, const World &world,
                 const std::string &text) {
  if (!options.quiet && world.process() == 0)
    std::cerr << "pp-run: note: " << text << std::endl;
}

Expected<Resumed> pp::run::openCheckpoint(Options &options, World &world,
                                          const ppx::ArtifactT &artifact) {
  const bool isFirst = world.process() == 0;
  const auto agree = [&](const Status &mine) {
    return world.agree(mine).first;
  };
  Resumed resumed;
  Status status;
  std::string path; // empty: there is none
  std::optional<Checkpoint> found;
  if (isFirst && options.resumesOwn) {
    const Expected<std::vector<uint64_t>> steps = stepsOf(options.checkpoint);
    status = steps.status();
    if (steps && !steps->empty())
      options.resume = options.checkpoint;
  }
  if (isFirst && status.ok() && !options.resume.empty()) {
    std::string warning;
    Expected<Checkpoint> opened =
        Checkpoint::openWhole(options.resume, warning);
    if (!warning.empty())
      std::cerr << "pp-run: warning: " << warning << std::endl;
    status = opened.status();
    if (opened)
      status = opened->expect(artifact, options.resumesParametersOnly);
    if (status.ok() && !options.resumesParametersOnly) {
      Expected<std::string> metrics = opened->metrics();
      status = metrics.status();
      if (metrics)
        resumed.metrics = std::move(*metrics);
    }
    if (opened) {
      path = opened->path();
      found.emplace(std::move(*opened));
    }
  }
  if (status = agree(status); !status.ok())
    return status;
  if (status = shareText(world, path); !status.ok())
    return status;
  if (path.empty())
    return resumed;
  if (!isFirst) {
    Expected<Checkpoint> opened = Checkpoint::open(path);
    status = opened.status();
    if (opened)
      found.emplace(std::move(*opened));
  }
  if (status = agree(status); !status.ok())
    return status;
  const std::string index = printIndex(found->index());
  if (status = compareFiles(
          world,
          artifactChecksum(reinterpret_cast<const uint8_t *>(index.data()),
                           index.size()),
          "--resume");
      !status.ok())
    return status;
  resumed.checkpoint = std::move(found);
  return resumed;
}

/// Lists the keys in which the texts of two `#pp.plan` differ; empty if in
/// none.
static std::string comparePlans(const std::string &before,
                                const std::string &now) {
  const std::map<std::string, std::string> old =
                                               pp::predict::keysOfPlan(before),
                                           its = pp::predict::keysOfPlan(now);
  std::string text;
  const auto add = [&](const std::string &key, const std::string &from,
                       const std::string &to) {
    // These follow from others, and are long.
    const bool isDerived = key == "seeds" || key == "cuts";
    text +=
        (text.empty() ? "" : ", ") +
        (isDerived ? "other " + key : key + " = " + to + " (was " + from + ")");
  };
  for (const auto &[key, value] : its)
    if (const auto found = old.find(key); found == old.end())
      add(key, "absent", value);
    else if (found->second != value)
      add(key, found->second, value);
  for (const auto &[key, value] : old)
    if (!its.count(key))
      add(key, value, "absent");
  return text;
}

Status pp::run::adoptCheckpoint(Options &options, const World &world,
                                const Checkpoint &checkpoint,
                                const ppx::ArtifactT &artifact,
                                const Batches &batches) {
  const CheckpointIndex &index = checkpoint.index();
  if (options.givesSeed && options.seed != index.seed)
    return Status(ExitCode::usage,
                  "'--seed' expects the seed of the checkpoint, " +
                      std::to_string(index.seed) + ", got " +
                      std::to_string(options.seed) + "; leave it out");
  options.seed = index.seed;
  if (!options.givesData && index.data != options.data)
    return Status(
        ExitCode::usage,
        "'--resume' expects the data of the checkpoint, --data=" + index.data +
            ", or others, got none; give --data, =random for "
            "random data");
  for (const auto &argument : artifact.arguments)
    if (const auto found = index.inputs.find(argument->name);
        found != index.inputs.end() && found->second != argument->shape)
      return Status(ExitCode::badParameters,
                    checkpoint.path() + ": expects batches of " +
                        printShape(argument->shape) + " '" + argument->name +
                        "', as the program has, got " +
                        printShape(found->second) +
                        ", by which its place in the data counts; "
                        "--resume-parameters-only begins a new run");
  const Expected<uint32_t> fingerprint = batches.fingerprint();
  if (!fingerprint)
    return fingerprint.status();
  if (*fingerprint != index.dataFingerprint)
    tell(options, world,
         "the data differ from those of the checkpoint, --data=" + index.data +
             "; goes on at their step " + std::to_string(index.step + 1));
  if (!index.model.empty() && !artifact.model.empty() &&
      index.model != artifact.model)
    tell(options, world,
         "the model computes something else than that of the checkpoint, with "
         "the same parameters");
  if (const std::string text = comparePlans(index.plan, artifact.plan);
      !text.empty())
    tell(options, world, "goes on with " + text);
  return {};
}
