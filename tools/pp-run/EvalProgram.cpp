//===- EvalProgram.cpp - the program that evaluates -----------------------===//
//
// SPDX-License-Identifier: Apache-2.0
//
//===----------------------------------------------------------------------===//
#include "EvalProgram.h"
#include "Launch.h"
#include "pprt/Artifact.h"
#include "pprt/Backend.h"
#include "pprt/Bytes.h"
#include "pprt/Checks.h"
#include "pprt/Files.h"
#include "pprt/Program.h"
#include "pprt/SlotAccesses.h"

#include <set>

using namespace pp::run;
using namespace pprt;

/// `dp=2 tp=2`.
static std::string printAxes(const ppx::ArtifactT &artifact) {
  std::string text;
  for (const auto &axis : artifact.axes)
    text += (text.empty() ? "" : " ") + axis->name + "=" +
            std::to_string(axis->size);
  return text.empty() ? "one device" : text;
}

static std::string nameOf(const Options &options) {
  return options.evalProgram.empty() ? options.input : options.evalProgram;
}

Evaluation pp::run::evaluationOf(const Options &options,
                                 const std::string &plan) {
  return {options.parallelize, plan,
          options.predict.empty() ? "" : options.predictValues};
}

static Expected<Compiled> load(const Options &options, const World &world,
                               const std::string &level, Source &source) {
  if (!options.evalProgram.empty()) {
    Expected<InputFile> file = InputFile::open(options.evalProgram);
    if (!file)
      return file.status();
    Expected<ppx::ArtifactT> artifact =
        loadArtifact(*file, {options.target, level});
    if (!artifact)
      return artifact.status();
    Compiled result;
    result.artifact =
        std::make_shared<const ppx::ArtifactT>(std::move(*artifact));
    return result;
  }
  if (source.module && source.module->isModel())
    return source.module->compileEvaluation(
        evaluationOf(options, source.program.artifact->plan),
        kernelsFor(options, world));
  return Status(
      ExitCode::usage,
      "--eval-data expects a model, or --eval-program=FILE.ppx, "
      "which pp-opt --evaluate --emit=ppx makes of the model, got " +
          std::string(source.module ? "the training step " : "the artifact ") +
          options.input);
}

Status pp::run::checkEvaluates(const std::string &name,
                               const ppx::ArtifactT &artifact) {
  for (const auto &program : artifact.programs) {
    std::set<uint32_t> held;
    for (size_t i = 0; i < artifact.arguments.size(); ++i) {
      const ppx::Role role = artifact.arguments[i]->role;
      if ((role == ppx::Role_param || role == ppx::Role_state) &&
          program->argument_slots[i] >= 0)
        held.insert(uint32_t(program->argument_slots[i]));
    }
    for (Section section : kSections)
      for (const Instruction instruction : InstructionList(*program, section))
        for (const SlotAccess &access : accessesOf(artifact, instruction))
          if (access.writes && held.count(access.slot))
            return Status(ExitCode::usage,
                          name +
                              ": expects a program that evaluates, which "
                              "pp-opt --evaluate makes, got one that "
                              "changes '" +
                              program->slots[access.slot]->name + "'");
  }
  return {};
}

/// Whether both are of one mesh and model.
static Status match(const std::string &name, const ppx::ArtifactT &training,
                    const ppx::ArtifactT &evaluation) {
  if (printAxes(training) != printAxes(evaluation))
    return Status(ExitCode::usage,
                  name + ": expects a program for " + printAxes(training) +
                      ", as the one that trains, got one for " +
                      printAxes(evaluation));
  const auto differs = [&](const ppx::ArgumentT &argument,
                           const std::string &got) {
    return Status(ExitCode::usage, name + ": expects '" + argument.name +
                                       "' as the program that trains has it, "
                                       "got " +
                                       got);
  };
  const auto find = [](const ppx::ArtifactT &artifact,
                       const std::string &argument) {
    const ppx::ArgumentT *found = nullptr;
    for (const auto &its : artifact.arguments)
      if (its->name == argument)
        found = its.get();
    return found;
  };
  for (const auto &argument : evaluation.arguments) {
    const ppx::ArgumentT *its = find(training, argument->name);
    if (!its)
      return Status(ExitCode::usage, name +
                                         ": expects what the program that "
                                         "trains has, got '" +
                                         argument->name + "' besides");
    const bool isBatch =
        argument->role == ppx::Role_input || argument->role == ppx::Role_label;
    if (its->role != argument->role || its->element != argument->element ||
        (!isBatch && its->shape != argument->shape))
      return differs(*its, "it in another type or shape");
  }
  for (const auto &argument : training.arguments)
    if (argument->role == ppx::Role_param && !find(evaluation, argument->name))
      return differs(*argument, "none");
  return {};
}

/// Bytes of the rank, or GPU, that needs most.
static uint64_t needs(const Options &options, const World &world,
                      const ppx::ArtifactT &artifact,
                      const std::vector<uint64_t> &beside) {
  const Mesh mesh = *Mesh::create(artifact.axes); // was checked
  if (findBackend(options.device)->hasStreams)
    return findLargestGpu(options, shareGpu(options, world), artifact, mesh,
                          beside)
        .needs.allocated();
  uint64_t most = 0;
  for (const auto &program : artifact.programs)
    for (uint32_t rank : program->ranks)
      most = std::max(most, program->arena_bytes +
                                (beside.empty() ? 0 : beside[rank]));
  return most;
}

Status pp::run::addEvaluation(const Options &options, const World &world,
                              const std::string &level, Source &source) {
  Expected<Compiled> loaded = load(options, world, level, source);
  if (!loaded)
    return loaded.status();
  const ppx::ArtifactT &training = *source.program.artifact,
                       &evaluation = *loaded->artifact;
  const std::string name = nameOf(options);
  if (Status status = checkArtifact(evaluation, {}).status(); !status.ok())
    return Status(status.code(), name + ": " + status.message());
  if (Status status = checkEvaluates(name, evaluation); !status.ok())
    return status;
  if (Status status = match(name, training, evaluation); !status.ok())
    return status;
  source.evaluation = std::move(*loaded);
  // Evaluation changes nothing that --checkpoint would copy.
  source.evaluationBytes =
      needs(options, world, evaluation, stagingOf(options, world, evaluation));
  const uint64_t bytes =
      needs(options, world, training, besideArenas(options, world, training)) +
      source.evaluationBytes;
  if (!options.memoryLimit || bytes <= *options.memoryLimit)
    return {};
  return Status(ExitCode::outOfMemory,
                options.input + ": expects at most the memory limit of " +
                    printLimit(*options.memoryLimit) + ", got " +
                    printLimit(bytes) + ", " +
                    printLimit(source.evaluationBytes) +
                    " of which the program that evaluates needs");
}
