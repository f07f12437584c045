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
#include "pprt/Artifact.h"

#include <iostream>
#include <map>

using namespace pp::run;
using namespace pprt;
using namespace pprt::host;

Expected<Resumed> pp::run::openCheckpoint(Options &options, World &world,
                                          const ppx::ArtifactT &artifact) {
  const auto agree = [&](const Status &mine) {
    return world.agree(mine).first;
  };
  Resumed resumed;
  if (options.resumesOwn) {
    std::vector<std::byte> has(1,
                               std::byte(!stepsOf(options.checkpoint).empty()));
    if (Status status = world.broadcast(has); !status.ok())
      return status;
    if (has[0] != std::byte(0))
      options.resume = options.checkpoint;
  }
  if (options.resume.empty())
    return resumed;
  Expected<Checkpoint> opened = Checkpoint::open(options.resume);
  Status status = opened.status();
  if (opened)
    status = opened->expect(artifact, options.resumesParametersOnly);
  if (status = agree(status); !status.ok())
    return status;
  const std::string index = printIndex(opened->index());
  if (status = compareFiles(
          world,
          artifactChecksum(reinterpret_cast<const uint8_t *>(index.data()),
                           index.size()),
          "--resume");
      !status.ok())
    return status;
  if (!options.resumesParametersOnly && world.process() == 0) {
    Expected<std::string> metrics = opened->metrics();
    status = metrics.status();
    if (metrics)
      resumed.metrics = std::move(*metrics);
  }
  if (status = agree(status); !status.ok())
    return status;
  resumed.checkpoint.emplace(std::move(*opened));
  return resumed;
}

/// Splits `#pp.plan<mesh = <...>, zero = 1>` into `mesh = <...>` and so on.
static std::map<std::string, std::string> keysOf(const std::string &plan) {
  std::map<std::string, std::string> keys;
  const size_t begin = plan.find('<');
  std::string word;
  int depth = 0;
  for (size_t i = begin; i < plan.size(); ++i) {
    const char c = plan[i];
    depth += c == '<' || c == '[' ? 1 : c == '>' || c == ']' ? -1 : 0;
    const bool ends = depth == 0 || (depth == 1 && c == ',');
    if (!ends && i > begin && (c != ' ' || !word.empty()))
      word += c;
    if (const size_t equals = word.find(" = "); ends && equals != word.npos)
      keys[word.substr(0, equals)] = word.substr(equals + 3);
    if (ends)
      word.clear();
  }
  return keys;
}

std::string pp::run::comparePlans(const std::string &before,
                                  const std::string &now) {
  const std::map<std::string, std::string> old = keysOf(before),
                                           its = keysOf(now);
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

Status pp::run::adoptCheckpoint(Options &options, const CheckpointIndex &index,
                                const ppx::ArtifactT &artifact,
                                const Batches &batches) {
  const auto tell = [&](const std::string &text) {
    if (!options.quiet)
      std::cerr << "pp-run: note: " << text << std::endl;
  };
  if (options.givesSeed && options.seed != index.seed)
    return Status(ExitCode::usage,
                  "'--seed' expects the seed of the checkpoint, " +
                      std::to_string(index.seed) + ", got " +
                      std::to_string(options.seed) + "; leave it out");
  options.seed = index.seed;
  const Expected<uint32_t> fingerprint = batches.fingerprint();
  if (!fingerprint)
    return fingerprint.status();
  if (*fingerprint != index.dataFingerprint)
    tell("the data differ from those of the checkpoint, --data=" + index.data +
         "; goes on at their step " + std::to_string(index.step + 1));
  if (const std::string text = comparePlans(index.plan, artifact.plan);
      !text.empty())
    tell("goes on with " + text);
  return {};
}
