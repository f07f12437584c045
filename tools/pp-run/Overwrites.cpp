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
#include "pprt/Files.h"

#include <filesystem>
#include <vector>

using namespace pp::run;
using namespace pprt;

namespace {

struct File {
  /// The option that names it, or its kind.
  std::string what;
  std::string path;
};

} // namespace

/// The path of `--data=KIND:PATH`; empty for another kind.
static std::string pathOfData(const std::string &data,
                              const std::string &kind) {
  return data.compare(0, kind.size(), kind) == 0 ? data.substr(kind.size())
                                                 : "";
}

/// Whether `output` is an array of the directory that --data names.
static bool isArrayOf(const std::string &directory, const std::string &output) {
  const std::filesystem::path path(output);
  std::error_code error;
  return !directory.empty() && path.extension() == ".npy" &&
         std::filesystem::exists(path, error) &&
         std::filesystem::equivalent(path.has_parent_path() ? path.parent_path()
                                                            : ".",
                                     directory, error);
}

Status pp::run::checkOverwrites(const Options &options,
                                const std::string &planFile) {
  const std::vector<File> outputs = {{"--save", options.save},
                                     {"--report", options.report},
                                     {"--trace", options.trace},
                                     {"--metrics", options.metrics},
                                     {"--memory-report", options.memoryReport},
                                     {"--predict", options.predict},
                                     {"--code", options.code}};
  const std::vector<File> inputs = {
      {"the input", options.input},
      {"--reference", options.reference},
      {"--parameters", options.parameters},
      {"--data", pathOfData(options.data, "text:")},
      {"--eval-data", pathOfData(options.evalData, "text:")},
      {"--eval-program", options.evalProgram},
      {"the plan", planFile}};
  auto refuse = [](const File &output, const std::string &other) {
    return Status(ExitCode::usage, output.what +
                                       " expects another file, got '" +
                                       output.path + "', which is " + other);
  };
  for (size_t i = 0; i < outputs.size(); ++i) {
    const File &output = outputs[i];
    if (output.path.empty())
      continue;
    for (const File &input : inputs)
      if (!input.path.empty() && isSameFile(input.path, output.path) &&
          !(input.what == "--parameters" && output.what == "--save"))
        return refuse(output, input.what[0] == '-' ? "that of " + input.what
                                                   : input.what);
    if (isArrayOf(pathOfData(options.data, "npy:"), output.path))
      return refuse(output, "an array of --data");
    if (isArrayOf(pathOfData(options.evalData, "npy:"), output.path))
      return refuse(output, "an array of --eval-data");
    for (size_t other = 0; other < i; ++other)
      if (!outputs[other].path.empty() &&
          isSameFile(outputs[other].path, output.path))
        return refuse(output, "that of " + outputs[other].what);
  }
  return {};
}
