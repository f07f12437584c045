//===- Run.cpp - runs the options of pp-run -------------------------------===//
//
// SPDX-License-Identifier: Apache-2.0
//
// In: the options. In order: the program is loaded or compiled, checked,
// verified if requested, and trained, then parameters and measurements are
// written. Nothing is written before all earlier steps have succeeded. Several
// processes do all of it together, and agree after each step that may fail in
// one of them.
//
//===----------------------------------------------------------------------===//
#include "Run.h"
#include "../Process.h"
#include "Compile.h"
#include "Data.h"
#include "EvalProgram.h"
#include "Evaluator.h"
#include "Fit.h"
#include "Launch.h"
#include "Results.h"
#include "Resume.h"
#include "Saver.h"
#include "Sinks.h"
#include "Source.h"
#include "Verify.h"
#include "pp/Predict/Prediction.h"
#include "pprt/Artifact.h"
#include "pprt/Backend.h"
#include "pprt/Bytes.h"
#include "pprt/Checks.h"
#include "pprt/Processor.h"
#include "pprt/host/Batches.h"
#include "pprt/host/Measure.h"
#include "pprt/host/Parameters.h"
#include "pprt/host/WaitingLine.h"

#include <chrono>
#include <iostream>

using namespace pp::run;
using namespace pprt;
using namespace pprt::host;

namespace {

/// Whether the memory of each GPU is within the limit.
Status checkGpus(const Options &options, bool isShared,
                 const ppx::ArtifactT &artifact,
                 const std::vector<uint64_t> &staging) {
  const Mesh mesh = *Mesh::create(artifact.axes); // was checked
  const GpuUse use = findLargestGpu(options, isShared, artifact, mesh, staging);
  const uint64_t bytes = use.needs.allocated();
  if (bytes <= *options.memoryLimit)
    return {};
  return Status(ExitCode::outOfMemory,
                options.input + ": expects at most the memory limit of " +
                    printLimit(*options.memoryLimit) + " on a GPU, got " +
                    printLimit(bytes) + " for " +
                    (use.ranks.size() == 1
                         ? "rank " + std::to_string(use.ranks.begin)
                         : "ranks 0-" + std::to_string(use.ranks.end - 1) +
                               ", which share it"));
}

/// Whether what is beside the arenas fits into the memory as well.
Status checkBeside(const Options &options, const World &world,
                   const ppx::ArtifactT &artifact) {
  const std::vector<uint64_t> beside = besideArenas(options, world, artifact);
  if (beside.empty())
    return {};
  for (const std::unique_ptr<ppx::ProgramT> &program : artifact.programs)
    for (uint32_t rank : program->ranks)
      if (const uint64_t bytes = program->arena_bytes + beside[rank];
          bytes > *options.memoryLimit)
        return Status(ExitCode::outOfMemory,
                      options.input + ": rank " + std::to_string(rank) +
                          " expects an arena within the memory limit of " +
                          printLimit(*options.memoryLimit) + ", got " +
                          printLimit(bytes) + " with " +
                          (copiesOf(options, artifact).empty()
                               ? "messages between processes"
                               : "what --checkpoint copies"));
  return {};
}

/// Whether the program may run. A module that is not well-formed does not
/// compile: there is no artifact that could be bad.
Status checkProgram(const Options &options, const World &world,
                    Source &source) {
  CheckOptions checks;
  checks.memoryLimit = options.memoryLimit;
  const Status status =
      checkArtifact(*source.program.artifact, checks).status();
  if (status.ok() || status.code() == ExitCode::outOfMemory)
    source.staging = stagingOf(options, world, *source.program.artifact);
  if (status.ok() && !options.memoryLimit)
    return {};
  if (status.ok())
    return findBackend(options.device)->hasStreams
               ? checkGpus(options, shareGpu(options, world),
                           *source.program.artifact, source.staging)
               : checkBeside(options, world, *source.program.artifact);
  if (source.module && status.code() == ExitCode::badArtifact)
    return Status(ExitCode::doesNotCompile,
                  options.input + ": error: " + status.message());
  return Status(status.code(), options.input + ": " + status.message());
}

/// Bytes that a rank, or its GPU, needs beside the arena.
uint64_t bytesBeside(const Options &options, const World &world,
                     const ppx::ArtifactT &artifact) {
  const std::vector<uint64_t> beside = besideArenas(options, world, artifact);
  if (!findBackend(options.device)->hasStreams)
    return beside.empty() ? 0 : *std::max_element(beside.begin(), beside.end());
  const Mesh mesh = *Mesh::create(artifact.axes); // was checked
  const uint64_t bytes =
      findLargestGpu(options, shareGpu(options, world), artifact, mesh, beside)
          .needs.allocated();
  return bytes - std::min(bytes, largestArena(artifact));
}

/// Lets --fit change the keys, with which `now` would be needed. False if it
/// finds none that fit.
Expected<bool> applyFit(Options &options, const World &world, Source &source,
                        const std::string &now,
                        const MeasureBeside &measureBeside) {
  const std::optional<PlanTrial> fit = [&] {
    const WaitingLine line(std::cout, "trying plans",
                           drawsOnTerminal(options, world));
    return findFit(options, *source.module, measureBeside);
  }();
  if (!fit)
    return false;
  options.parallelize = fit->keys;
  Expected<Compiled> program = source.module->compile(
      fit->keys, Variant::asAsked, kernelsFor(options, world));
  if (!program)
    return program.status();
  source.program = std::move(*program);
  (options.quiet ? std::cerr : std::cout)
      << describeFit(options, *fit, now) << std::endl;
  return true;
}

Status withoutFit(const Status &failure) {
  return Status(failure.code(), failure.message() +
                                    "; --fit finds no keys of --parallelize "
                                    "with which it does");
}

/// For keys with a `memory-limit` that no program meets, so that there is none.
Status fitOtherKeys(Options &options, const World &world, Source &source) {
  const auto measureBeside = [&](const ppx::ArtifactT &artifact) {
    return bytesBeside(options, world, artifact);
  };
  Expected<bool> fits =
      applyFit(options, world, source, "more than the limit", measureBeside);
  return !fits ? fits.status() : *fits ? Status() : withoutFit(source.unmet);
}

/// For a model whose program does not fit: lets --fit change the plan, or says
/// what would save memory.
Status saveMemory(Options &options, const World &world, Source &source,
                  Status &checked) {
  const ppx::ArtifactT &artifact = *source.program.artifact;
  const uint64_t beside = bytesBeside(options, world, artifact);
  const uint64_t bytes = largestArena(artifact) + beside;
  const uint64_t ranks = Mesh::create(artifact.axes)->worldSize();
  // Processes are those of this plan.
  const auto measureBeside = [&](const ppx::ArtifactT &other) {
    return Mesh::create(other.axes)->worldSize() == ranks
               ? bytesBeside(options, world, other)
               : beside;
  };
  if (options.fit) {
    Expected<bool> fits = applyFit(options, world, source,
                                   printBytes(double(bytes)), measureBeside);
    if (!fits)
      return fits.status();
    if (*fits) {
      checked = checkProgram(options, world, source);
      return {};
    }
    checked = withoutFit(checked);
  }
  if (!options.quiet)
    source.advice =
        adviseOnMemory(options, *source.module, bytes, measureBeside);
  return {};
}

/// A dry run is of the device that the program is for.
void adoptDevice(const ppx::ArtifactT &artifact, Options &options) {
  if (options.dryRun && !options.givesDevice &&
      pp::predict::isForGpus(artifact))
    options.device = backendFor(Code::ptx).name;
}

/// The program, checked; of all processes the first loads or compiles it.
Status prepareProgram(Options &options, World &world, Source &source,
                      Status &checked) {
  Expected<std::string> own = deviceProcessor(options.device);
  if (!own && options.dryRun) // which wants no device, but what it would be
    own = options.target.empty()
              ? Status(own.status().code(), own.status().message() +
                                                "; without a GPU, --dry-run "
                                                "expects --target=, as sm_80")
              : Expected<std::string>(processorLevel());
  if (Status status = world.agree(own.status()).first; !status.ok())
    return status;
  const Expected<std::string> level = commonLevel(world, *own);
  if (!level)
    return level.status();
  Status status;
  if (world.process() == 0) {
    Expected<std::string> planFile =
        SourceModule::planFileOf(options.parallelize);
    status = planFile ? checkOverwrites(options, {"the plan", *planFile})
                      : planFile.status();
    Expected<Source> loaded = status.ok() ? loadSource(options, world, *level)
                                          : Expected<Source>(status);
    status = loaded.status();
    if (loaded) {
      source = std::move(*loaded);
      if (source.module && source.program.artifact)
        status =
            checkOverwrites(options, tableOf(source.program.artifact->plan));
      if (status.ok() && !source.unmet.ok())
        status = fitOtherKeys(options, world, source);
    }
    if (status.ok()) {
      adoptDevice(*source.program.artifact, options);
      if (!options.quiet)
        std::cerr << source.program.warnings << std::flush;
      checked = checkProgram(options, world, source);
      if (checked.code() == ExitCode::outOfMemory && source.module &&
          !options.evalOnly)
        status = saveMemory(options, world, source, checked);
      if (checked.ok() && options.evalOnly)
        checked = checkEvaluates(options.input, *source.program.artifact);
      else if (checked.ok() && !options.evalData.empty())
        checked = addEvaluation(options, world, *level, source);
    }
  }
  if (status = world.agree(status).first; !status.ok())
    return status;
  if (options.dryRun)
    return {};
  if (status = world.agree(checked).first; !status.ok())
    return status;
  if (status = share(world, options, *level, source.program); !status.ok())
    return status;
  return options.evalOnly || options.evalData.empty()
             ? Status()
             : share(world, options, *level, source.evaluation);
}

/// Compares with the model. With several processes the first one does, while
/// the others repeat its calls to the shared sessions.
Expected<VerifyReport> verifyIn(std::shared_ptr<World> world,
                                const Source &source, const Start &start) {
  Expected<VerifyReport> verified = VerifyReport();
  if (world->process() == 0) {
    Start leading = start;
    leading.leads = world->processCount() > 1;
    Expected<std::unique_ptr<SourceModule>> reference =
        loadReference(start.options);
    verified =
        reference
            ? verify({source.module.get(), reference->get(), source.program},
                     leading, std::cout)
            : Expected<VerifyReport>(reference.status());
  }
  Status status =
      world->process() == 0 ? endFollowing(*world) : followSessions(world);
  if (status.ok())
    status = verified.status();
  if (status = world->agree(status).first; !status.ok())
    return status;
  std::vector<std::byte> isRight = {std::byte(verified->ok)};
  if (status = world->broadcast(isRight); !status.ok())
    return status;
  verified->ok = isRight[0] != std::byte(0);
  return verified;
}

/// Why, the report has at length.
void tellOfUnfused(const std::vector<UnfusedProduct> &products) {
  if (products.empty())
    return;
  std::cout << "cublasLt refuses the epilogues of these products on this GPU, "
               "so kernels compute them:";
  for (const UnfusedProduct &product : products)
    std::cout << ' ' << product.kernel;
  std::cout << std::endl;
}

/// Threads are planned, with the memory that each needs, so a run cannot add
/// any. No hint if the user named them.
void tellOfIdleCores(const Options &options, const World &world,
                     const Session &session) {
  const uint64_t ranks =
      world.ranksOf(world.process(), session.mesh().worldSize()).size();
  const unsigned threads = session.threadsPerRank(), cores = world.coreCount();
  if (options.quiet || !options.parallelize.empty() || threads == 0 ||
      2 * ranks * threads > cores)
    return;
  std::cerr << "pp-run: note: uses " << ranks * threads << " of " << cores
            << " cores, as the program was made with threads=" << threads
            << " for each rank; threads=" << cores / ranks
            << " in pp-opt --pp-parallelize uses more" << std::endl;
}

Status runIn(std::shared_ptr<World> world, Options options) {
  const bool tells = world->process() == 0;
  const auto agree = [&](const Status &mine) {
    return world->agree(mine).first;
  };
  if (Status status = compareProcesses(*world); !status.ok())
    return status;
  Sinks sinks;
  if (Status status = agree(tells ? sinks.listen(options) : Status());
      !status.ok())
    return status;
  if (options.evalOnly) {
    options.data = options.evalData;
    options.resumesParametersOnly = true;
  }
  Source source;
  Status checked;
  if (Status status = prepareProgram(options, *world, source, checked);
      !status.ok()) {
    std::cout << source.advice << std::flush;
    return status;
  }
  const Compiled &program = source.program;
  if (options.dryRun && tells && !options.quiet)
    std::cout << source.images;
  if (options.dryRun) {
    const Status status =
        tells ? dryRun(options, *program.artifact, checked, source.staging,
                       program.passesMs, std::cout)
              : Status();
    if (!source.advice.empty())
      std::cout << "\n" << source.advice << std::flush;
    if (source.evaluationBytes > 0 && !options.quiet)
      std::cout << "\nevaluation: " << printBytes(source.evaluationBytes)
                << " more\n"
                << std::flush;
    return agree(status);
  }
  if (options.device == "null")
    return nullRun(options, program.artifact, world, std::cout);
  Expected<Resumed> resumed =
      openCheckpoint(options, *world, *program.artifact);
  if (!resumed)
    return resumed.status();
  const bool goesOn = resumed->checkpoint && !options.resumesParametersOnly;
  // The seed makes random data, and orders others.
  const uint64_t seed =
      goesOn ? resumed->checkpoint->index().seed : options.seed;
  Expected<Batches> batches =
      openData(options, *world, *program.artifact, seed, options.evalOnly);
  if (!batches)
    return options.evalOnly ? ofEvalData(batches.status()) : batches.status();

  // A pipe can be read but once.
  std::optional<SafeTensors> parameters;
  if (!options.parameters.empty()) {
    Expected<SafeTensors> file = SafeTensors::open(options.parameters);
    if (Status status = agree(file.status()); !status.ok())
      return status;
    parameters.emplace(std::move(*file));
    if (Status status =
            compareFiles(*world, parameters->fingerprint(), "--parameters");
        !status.ok())
      return status;
  }
  if (goesOn)
    if (Status status =
            agree(adoptCheckpoint(options, *world, *resumed->checkpoint,
                                  *program.artifact, *batches));
        !status.ok())
      return status;
  const Start start = {options, *batches, parameters ? &*parameters : nullptr,
                       resumed->checkpoint ? &*resumed->checkpoint : nullptr,
                       world};
  const uint64_t before = stepsBefore(start);
  const bool isDone = before > 0 && before == options.steps;
  if (before > options.steps || (isDone && options.verify))
    return agree(Status(
        ExitCode::usage,
        "'--steps' counts the steps of the checkpoint, too, and "
        "expects " +
            std::string(options.verify ? "more than" : "at least") + " its " +
            std::to_string(before) + ", got " + std::to_string(options.steps)));
  if (isDone && tells && !options.quiet)
    std::cout << "all " << before << " steps are done" << std::endl;
  if (Status status =
          agree(tells ? checkResults(options, *program.artifact) : Status());
      !status.ok())
    return status;
  if (options.evalOnly && !options.predict.empty())
    if (Status status = agree(
            tells ? checkPrediction(options, *program.artifact) : Status());
        !status.ok())
      return status;
  if (const std::string text = batches->describe(
          options.evalOnly ? std::max<uint64_t>(1, options.evalSteps)
                           : options.steps);
      tells && !options.quiet && !text.empty())
    std::cout << text << std::endl;

  Report report;
  report.compileMs = program.passesMs + program.kernelsMs;
  report.passesMs = program.passesMs;
  report.kernelsMs = program.kernelsMs;
  if (options.verify && !options.evalOnly) {
    Expected<VerifyReport> verified = verifyIn(world, source, start);
    if (!verified)
      return verified.status();
    report.verify = *verified;
  }

  // The judge has to see all.
  if (world->processCount() > 1 && !(options.evalOnly && options.verify)) {
    const Mesh mesh = *Mesh::create(program.artifact->axes); // was checked
    batches->keepFor(*program.artifact, mesh,
                     world->ranksOf(world->process(), mesh.worldSize()));
  }
  const auto begin = std::chrono::steady_clock::now();
  Expected<std::unique_ptr<Session>> session = startSession(program, start);
  if (!session)
    return session.status();
  report.startMs = std::chrono::duration<double, std::milli>(
                       std::chrono::steady_clock::now() - begin)
                       .count();
  if (tells)
    tellOfIdleCores(options, *world, **session);
  // Distinguishes emulated devices from real ones.
  if (const std::string &name = (*session)->device();
      tells && !options.quiet && name != options.device)
    std::cout << "on " << name << ", emulated libraries: times mean nothing"
              << std::endl;
  if (tells && !options.quiet)
    tellOfUnfused((*session)->unfusedProducts());
  catchInterrupts();
  std::unique_ptr<Saver> saver;
  if (!options.checkpoint.empty()) {
    Expected<std::unique_ptr<Saver>> opened =
        Saver::open(options, **session, *batches, *world, before,
                    goesOn ? resumed->checkpoint->path() : "",
                    [&] { return setInitial(**session, start); });
    if (!opened)
      return opened.status();
    saver = std::move(*opened);
  }
  std::unique_ptr<Evaluator> evaluator;
  if (!options.evalData.empty() && !options.evalOnly) {
    Expected<std::unique_ptr<Evaluator>> opened =
        Evaluator::open(options, source.evaluation, world, seed, saver.get());
    if (!opened)
      return opened.status();
    evaluator = std::move(*opened);
  }
  if (evaluator && before > 0) {
    auto missed = evaluator->makeUp(**session, before, resumed->metrics);
    if (!missed)
      return missed.status();
    if (isDone)
      report.evaluation = std::move(*missed);
  }
  const bool isRight = !report.verify || report.verify->ok;
  std::optional<LastSteps> lastSteps;
  if (options.traceSteps > 1)
    lastSteps.emplace(options.traceSteps);
  LastSteps *kept = lastSteps ? &*lastSteps : nullptr;
  if (Status status =
          agree(isRight && tells
                    ? sinks.open(options, *program.artifact, resumed->metrics)
                    : Status());
      !status.ok())
    return status;
  // A long run has many lines.
  std::string lines = std::exchange(resumed->metrics, {});
  if (!saver)
    lines = {};
  bool keeps = false;
  const uint64_t stepOfParameters =
      resumed->checkpoint ? resumed->checkpoint->index().step : 0;
  Status trained =
      options.evalOnly ? evaluateOnly(options, source.module.get(), **session,
                                      *batches, world, stepOfParameters, report)
      : isRight ? train(**session, *batches, options, *world, report,
                        {before, std::move(lines), saver.get(), evaluator.get(),
                         kept, sinks},
                        keeps)
                : Status(ExitCode::verifyDiffers,
                         "--verify expects the partitioned program "
                         "to compute what the model "
                         "does, got the differences above");
  if (std::vector<NamedCount> counts = (*session)->counters();
      trained.ok() && !counts.empty()) {
    const auto all = sumCounts(*world, std::move(counts));
    if (all && tells && !options.quiet)
      std::cout << options.device << " counted " << printCounts(*all) << "\n";
  }
  if (saver)
    report.checkpoints = saver->endReports();
  // A run that ended between steps saves its parameters, like one with fewer
  // steps; one that failed within a step only reports its measurements.
  Options results = options;
  if (!keeps)
    results.save.clear();
  const bool isMeasured = (*session)->collect().ok();
  if (!isMeasured) {
    results.trace.clear();
    results.draw.clear();
  }
  pp::predict::Prediction prediction(
      pp::predict::Durations((*session)->artifact(), (*session)->mesh()));
  if (tells) {
    prediction =
        pp::predict::predict((*session)->artifact(), (*session)->mesh());
    prediction.staging =
        stagingOf((*session)->transportModel(), (*session)->artifact());
    reportPrediction((*session)->artifact(), (*session)->mesh(), prediction,
                     report);
  }
  if (tells && isMeasured)
    measure(**session, report);
  if (report.clockError && kept)
    report.clockError = std::max(*report.clockError, kept->clockError());
  std::vector<std::string> written;
  const Status wrote = agree(writeResults(results, **session, *world, report,
                                          kept, prediction, sinks, written));
  const bool hasPredicted =
      report.evaluation ||
      (!report.steps.empty() && report.steps.back().step == options.steps &&
       report.steps.back().evaluation);
  if (!options.predict.empty() && hasPredicted)
    written.push_back(options.predict);
  if (saver && !saver->file().empty())
    written.push_back(saver->file());
  if (tells && !options.quiet)
    std::cout << printWritten(written) << std::flush;
  return join(trained, wrote);
}

} // namespace

Status pp::run::run(const Options &options) {
  Expected<std::shared_ptr<World>> world = launch(options);
  if (!world)
    return world.status();
  if ((*world)->processCount() > 1)
    pp::tellOfShortage(
        [its = std::weak_ptr<World>(*world)](const Status &status) {
          if (const std::shared_ptr<World> open = its.lock())
            open->abort(status);
        });
  const Status status = runIn(*world, options);
  if (status.ok() || (*world)->processCount() == 1)
    return status;
  // All agree on it, and one prints it. The first to leave ends the others.
  if ((*world)->process() == 0)
    printError(status);
  (void)(*world)->agree(status);
  return Status(status.code(), "");
}

void pp::run::printError(const Status &failure) {
  // Diagnostics of the compiler come with their locations.
  const bool isDiagnostic = failure.code() == ExitCode::doesNotCompile;
  std::cerr << (isDiagnostic ? "" : "pp-run: error: ") << failure.message()
            << std::endl;
  pp::tellsOfSignals = 0;
}
