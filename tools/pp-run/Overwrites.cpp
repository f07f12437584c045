//===- Overwrites.cpp - refuses to overwrite inputs -----------------------===//
//
// SPDX-License-Identifier: Apache-2.0
//
// A typing error must not cost a model or a corpus. Parameters are the
// exception: continuing from a file and saving to it is intended, and the file
// is replaced only when the new one is complete.
//
//===----------------------------------------------------------------------===//
#include "Run.h"
#include "pp/Predict/PlanText.h"
#include "pprt/Files.h"
#include "pprt/host/Checkpoint.h"

#include <algorithm>
#include <filesystem>
#include <initializer_list>
#include <vector>

using namespace pp::run;
using namespace pprt;

/// The path of `--data=KIND:PATH`; empty for another kind.
static std::string pathOfData(const std::string &data,
                              const std::string &kind) {
  return data.compare(0, kind.size(), kind) == 0 ? data.substr(kind.size())
                                                 : "";
}

std::vector<NamedFile> pp::run::inputsOf(const Options &options) {
  std::vector<NamedFile> inputs = {
      {"the input", options.input},
      {"--reference", options.reference},
      {"--parameters", options.parameters},
      {"--data", pathOfData(options.data, "text:")},
      {"--data", pathOfData(options.data, "tokens:")},
      {"--eval-data", pathOfData(options.evalData, "text:")},
      {"--eval-data", pathOfData(options.evalData, "tokens:")},
      {"--eval-program", options.evalProgram},
      {"--durations", options.durations},
      {"--tokenizer", options.tokenizer == "bytes" ? "" : options.tokenizer}};
  inputs.erase(
      std::remove_if(inputs.begin(), inputs.end(),
                     [](const NamedFile &its) { return its.path.empty(); }),
      inputs.end());
  return inputs;
}

/// Whether `output` is a file with such a name in the folder that --data names.
static bool isOneOf(const std::string &folder,
                    std::initializer_list<const char *> extensions,
                    const std::string &output) {
  const std::filesystem::path path(output);
  std::error_code error;
  return !folder.empty() &&
         std::find(extensions.begin(), extensions.end(), path.extension()) !=
             extensions.end() &&
         std::filesystem::exists(path, error) &&
         std::filesystem::equivalent(
             path.has_parent_path() ? path.parent_path() : ".", folder, error);
}

/// Whether the file is in a checkpoint: `folder` is one, or has some.
static bool isInCheckpoint(const std::string &folder,
                           const std::string &output) {
  std::error_code error;
  if (folder.empty() || output == "-")
    return false;
  const auto resolve = [&](const std::string &path) {
    return std::filesystem::weakly_canonical(path, error);
  };
  const std::filesystem::path whole = resolve(folder), file = resolve(output),
                              its = file.parent_path();
  return file == resolve(pprt::host::lockFile(folder)) ||
         (pprt::host::isCheckpoint(its.string()) &&
          (its == whole || its.parent_path() == whole));
}

NamedFile pp::run::tableOf(const std::string &plan) {
  NamedFile table{"the schedule", pp::predict::quotedInPlan(plan, "schedule")};
  const std::string suffix = ".csv";
  if (table.path.size() < suffix.size() ||
      table.path.compare(table.path.size() - suffix.size(), suffix.npos,
                         suffix) != 0)
    table.path.clear();
  return table;
}

Status pp::run::checkOverwrites(const Options &options,
                                const NamedFile &other) {
  const std::vector<NamedFile> outputs = {
      {"--save", options.save},       {"--report", options.report},
      {"--trace", options.trace},     {"--metrics", options.metrics},
      {"--plot", options.plot},       {"--memory-report", options.memoryReport},
      {"--predict", options.predict}, {"--code", options.code},
      {"--draw", options.draw}};
  std::vector<NamedFile> inputs = inputsOf(options);
  inputs.push_back(other);
  auto refuse = [](const NamedFile &output, const std::string &what) {
    return Status(ExitCode::usage, output.what +
                                       " expects another file, got '" +
                                       output.path + "', which is " + what);
  };
  for (size_t i = 0; i < outputs.size(); ++i) {
    const NamedFile &output = outputs[i];
    if (output.path.empty())
      continue;
    for (const NamedFile &input : inputs)
      if (!input.path.empty() && isSameFile(input.path, output.path) &&
          !(input.what == "--parameters" && output.what == "--save"))
        return refuse(output, input.what[0] == '-' ? "that of " + input.what
                                                   : input.what);
    for (const auto &[option, data] : {std::pair("--data", options.data),
                                       {"--eval-data", options.evalData}}) {
      if (isOneOf(pathOfData(data, "npy:"), {".npy"}, output.path))
        return refuse(output, "an array of " + std::string(option));
      if (isOneOf(pathOfData(data, "tokens:"), {".bin", ".u16", ".u32", ".npy"},
                  output.path))
        return refuse(output, "a file of " + std::string(option));
    }
    for (const std::string &folder : {options.checkpoint, options.resume})
      if (isInCheckpoint(folder, output.path))
        return refuse(output, "of the checkpoints");
    for (size_t before = 0; before < i; ++before)
      if (!outputs[before].path.empty() &&
          isSameFile(outputs[before].path, output.path))
        return refuse(output, "that of " + outputs[before].what);
  }
  return {};
}
