//===- Source.cpp - the program of a run ----------------------------------===//
//
// SPDX-License-Identifier: Apache-2.0
//
//===----------------------------------------------------------------------===//
#include "Source.h"
#include "EvalProgram.h"
#include "Launch.h"
#include "pp/Predict/Table.h"
#include "pprt/Artifact.h"
#include "pprt/Bytes.h"
#include "pprt/Files.h"
#include "pprt/Processor.h"
#include "pprt/Target.h"
#include "pprt/host/WaitingLine.h"

#include <iostream>

using namespace pp::run;
using namespace pprt;
using pprt::host::WaitingLine;

namespace {

/// The whole of a file, or of standard input for `-`.
Expected<std::string> readInput(const std::string &path) {
  if (path == "-")
    return std::string(std::istreambuf_iterator<char>(std::cin),
                       std::istreambuf_iterator<char>());
  return readFile(path, FLATBUFFERS_MAX_BUFFER_SIZE);
}

/// The bytes that isArtifact() reads.
constexpr uint64_t kHeadBytes = 8;

bool isArtifact(const std::string &path, const std::string &content) {
  // The letter behind it is the version, which reading compares.
  const bool hasIdentifier =
      content.size() >= kHeadBytes && content.compare(4, 3, "PPX") == 0;
  const bool hasSuffix =
      path.size() > 4 && path.compare(path.size() - 4, 4, ".ppx") == 0;
  return hasIdentifier || hasSuffix;
}

/// The image that --target names has to run on the devices of this run, which
/// are of `level`. `instead`: the image without --target; null if there is
/// none.
Status checkTargetRuns(const Options &options, const std::string &needed,
                       const std::string &level, const std::string *instead) {
  if (options.target.empty() || options.dryRun || options.device == "null" ||
      runsOn(needed, level))
    return {};
  return Status(
      ExitCode::device,
      options.input + ": --target=" + options.target + " expects a " +
          (options.device == "cpu" ? "processor" : "GPU") + " of " + needed +
          " or newer, got one of " +
          (level.empty() ? "another architecture" : level) +
          (instead ? "; leave out --target, which takes " + *instead : ""));
}

/// Checks a file with several images.
Status checkImageRuns(const Options &options, const ppx::ArtifactT &artifact,
                      const InputFile &file, const std::string &level) {
  const Expected<ppx::HeadT> head = loadHead(file);
  if (!head)
    return head.status();
  const Expected<size_t> best = chooseImage(head->images, {"", level});
  const std::string *instead = best ? &head->images[*best]->target : nullptr;
  return checkTargetRuns(options, artifact.processor, level, instead);
}

/// A table of a file's images, of which `choice` takes one.
Expected<std::string> describeImages(const InputFile &file,
                                     const ImageChoice &choice) {
  Expected<ppx::HeadT> head = loadHead(file);
  if (!head)
    return head.status();
  Expected<size_t> taken = chooseImage(head->images, choice);
  if (!taken)
    return taken.status();
  pp::predict::Table table({"image", "size", ""});
  for (size_t i = 0; i < head->images.size(); ++i) {
    const ppx::ImageEntryT &image = *head->images[i];
    table.add({image.target, printBytes(double(image.bytes)),
               i == *taken ? "this one" : ""});
  }
  return table.print() + "\n";
}

/// Loads the best image that processors of `level` run, or the one that the
/// options name, and reads nothing else of a file; without a file, `content` is
/// everything.
Expected<Source> loadImage(const Options &options, const std::string &level,
                           const std::optional<InputFile> &file,
                           const std::string &content) {
  if (!options.parallelize.empty())
    return Status(ExitCode::usage,
                  "--parallelize expects a module, got the artifact " +
                      options.input);
  if (options.fit)
    return Status(ExitCode::usage,
                  "--fit expects keys that it may change, got the artifact " +
                      options.input + ": make another of its model");
  if (options.givesCacheLimit && options.reference.empty())
    return Status(ExitCode::usage,
                  "--cache-limit expects a module, since an artifact has its "
                  "kernels, got the artifact " +
                      options.input);
  ImageChoice choice = {options.target, level};
  // A dry run is not for this machine: it can describe any image, unless a
  // device is given.
  if (options.dryRun && file && options.target.empty() && !options.givesDevice)
    if (Expected<ppx::HeadT> head = loadHead(*file);
        head && !head->images.empty() && !chooseImage(head->images, choice))
      choice.target = head->images.front()->target;
  Expected<ppx::ArtifactT> artifact =
      file ? loadArtifact(*file, choice)
           : parseArtifact(reinterpret_cast<const uint8_t *>(content.data()),
                           content.size(), options.input, choice);
  if (!artifact)
    return artifact.status();
  Source source;
  source.program.artifact =
      std::make_shared<const ppx::ArtifactT>(std::move(*artifact));
  if (file)
    if (Status status =
            checkImageRuns(options, *source.program.artifact, *file, level);
        !status.ok())
      return status;
  if (!options.dryRun || !file)
    return source;
  Expected<std::string> images = describeImages(*file, choice);
  if (!images)
    return images.status();
  source.images = std::move(*images);
  return source;
}

} // namespace

Kernels pp::run::kernelsFor(const Options &options, const World &world) {
  return options.dryRun || options.device == "null" ? Kernels::none
         : world.processCount() == 1                ? Kernels::loaded
                                                    : Kernels::linked;
}

Expected<Source> pp::run::loadSource(const Options &options, const World &world,
                                     const std::string &level) {
  std::optional<InputFile> file;
  std::string content;
  if (options.input == "-") {
    content = std::string(std::istreambuf_iterator<char>(std::cin),
                          std::istreambuf_iterator<char>());
  } else {
    Expected<InputFile> opened = InputFile::open(options.input);
    if (!opened)
      return opened.status();
    content.resize(std::min<uint64_t>(kHeadBytes, opened->size()));
    if (Status status = opened->read(0, content.data(), content.size());
        !status.ok())
      return status;
    file.emplace(std::move(*opened));
  }
  if (isArtifact(options.input, content))
    return loadImage(options, level, file, content);
  if (file) {
    Expected<std::string> text = readFile(*file, FLATBUFFERS_MAX_BUFFER_SIZE);
    if (!text)
      return text.status();
    content = std::move(*text);
  }
  if (const Target *asked = findTarget(options.target)) {
    const Target *best = bestTarget(level);
    if (Status status = checkTargetRuns(options, asked->processor(), level,
                                        best ? &best->name() : nullptr);
        !status.ok())
      return status;
  }
  std::string target = options.target;
  const bool isForOthers =
      world.processCount() > 1 || level != processorLevel();
  if (const Target *best = bestTarget(level);
      best && isForOthers && target.empty())
    target = best->name();
  const WaitingLine line(std::cout, "compiling",
                         drawsOnTerminal(options, world));
  Expected<std::unique_ptr<SourceModule>> module =
      SourceModule::parse(file ? options.input : "<stdin>", content,
                          options.cacheLimit.value_or(0), target);
  if (!module)
    return module.status();
  if (options.fit)
    if (Status status = (*module)->checkHasKeys(options.parallelize);
        !status.ok())
      return status;
  Source source;
  source.module = std::move(*module);
  const Kernels kernels = kernelsFor(options, world);
  Expected<Compiled> program =
      options.evalOnly && source.module->isModel()
          ? source.module->compileEvaluation(evaluationOf(options), kernels)
          : source.module->compile(options.parallelize, Variant::asAsked,
                                   kernels);
  if (program)
    source.program = std::move(*program);
  else if (options.fit && program.status().code() == ExitCode::outOfMemory)
    source.unmet = program.status();
  else
    return program.status();
  return source;
}

Expected<std::unique_ptr<SourceModule>>
pp::run::loadReference(const Options &options) {
  if (options.reference.empty())
    return std::unique_ptr<SourceModule>();
  Expected<std::string> content = readInput(options.reference);
  if (!content)
    return content.status();
  if (isArtifact(options.reference, *content))
    return Status(ExitCode::usage,
                  "--reference expects a module, got the artifact " +
                      options.reference);
  Expected<std::unique_ptr<SourceModule>> module =
      SourceModule::parse(options.reference, *content,
                          options.cacheLimit.value_or(0), options.target);
  if (!module)
    return module.status();
  if (!(*module)->isUnpartitioned())
    return Status(ExitCode::usage,
                  "--reference expects a model, or its training step of level "
                  "graph, got the partitioned module " +
                      options.reference);
  return std::move(*module);
}
