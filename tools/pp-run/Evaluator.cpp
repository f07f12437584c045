//===- Evaluator.cpp - a model on data that it does not train on ----------===//
//
// SPDX-License-Identifier: Apache-2.0
//
//===----------------------------------------------------------------------===//
#include "Evaluator.h"
#include "Data.h"
#include "EvalProgram.h"
#include "Launch.h"
#include "Run.h"
#include "Saver.h"
#include "pprt/Files.h"
#include "pprt/Program.h"

#include <algorithm>
#include <chrono>
#include <cmath>
#include <iostream>

using namespace pp::run;
using namespace pprt;
using namespace pprt::host;

using Clock = std::chrono::steady_clock;

/// Of large data.
static constexpr uint64_t kMostSteps = 20;

static uint64_t stepsOf(const Options &options, const Batches &batches) {
  const uint64_t pass = batches.stepsOfPass();
  return options.evalSteps > 0 ? options.evalSteps
         : pass > 0            ? std::min(pass, kMostSteps)
                               : kMostSteps;
}

uint64_t Evaluator::steps() const { return stepsOf(options, *batches); }

/// Sums over the batches so far.
struct Evaluator::Sums {
  double loss = 0;
  Values metrics;
};

static std::optional<uint32_t> findPrediction(const ppx::ArtifactT &artifact) {
  for (uint32_t i = 0; i < artifact.outputs.size(); ++i)
    if (artifact.outputs[i]->role == ppx::OutputRole_prediction)
      return i;
  return std::nullopt;
}

Evaluator::Evaluator(const Options &options, Session &session,
                     const Batches &batches, std::shared_ptr<World> world)
    : options(options), world(std::move(world)), batches(&batches),
      session(&session), hasBegun(true) {}

Status pp::run::ofEvalData(const Status &status) {
  std::string text = status.message();
  const std::string data = "--data", evalData = "--eval-data";
  for (size_t at = text.find(data); at != text.npos;
       at = text.find(data, at + evalData.size()))
    text.replace(at, data.size(), evalData);
  return Status(status.code(), text);
}

Expected<std::unique_ptr<Evaluator>>
Evaluator::open(const Options &options, const Compiled &program,
                std::shared_ptr<World> world, uint64_t seed, Saver *saver) {
  const ppx::ArtifactT &artifact = *program.artifact;
  Options ofEvaluation = options;
  if (!options.evaluatesHeldOut()) {
    ofEvaluation.data = options.evalData;
    ofEvaluation.holdOut = 0;
  }
  Expected<Batches> batches =
      openData(ofEvaluation, *world, artifact, seed, /*evaluates=*/true);
  Status status = ofEvalData(batches.status());
  if (status.ok() && !options.predict.empty() && world->process() == 0)
    status = checkPrediction(options, artifact);
  if (status = world->agree(status).first; !status.ok())
    return status;
  if (world->processCount() > 1) {
    const Mesh mesh = *Mesh::create(artifact.axes); // was checked
    batches->keepFor(artifact, mesh,
                     world->ranksOf(world->process(), mesh.worldSize()));
  }
  Expected<std::unique_ptr<Session>> session =
      createSession(program, {options, *batches, nullptr, nullptr, world});
  if (!session)
    return session.status();
  auto evaluator =
      std::make_unique<Evaluator>(options, **session, *batches, world);
  evaluator->ownBatches.emplace(std::move(*batches));
  evaluator->batches = &*evaluator->ownBatches;
  evaluator->ownSession = std::move(*session);
  evaluator->hasBegun = false;
  evaluator->saver = saver;
  return evaluator;
}

Status pp::run::checkPrediction(const Options &options,
                                const ppx::ArtifactT &artifact) {
  const std::optional<uint32_t> output = findPrediction(artifact);
  if (output && artifact.outputs[*output]->name == options.predictValues)
    return checkWritable(options.predict);
  return Status(
      ExitCode::usage,
      "--predict expects a program that predicts '" + options.predictValues +
          "', as pp-opt --evaluate "
          "--predict-values=" +
          options.predictValues + " makes it, got one that predicts " +
          (output ? "'" + artifact.outputs[*output]->name + "'"
                  : std::string("nothing")));
}

/// Begins the session, whose setup may read the first batch, and the file.
Status Evaluator::prepare(bool isLast) {
  Status status;
  if (!hasBegun) {
    if (status = world->agree(batches->read(0, batch)).first; !status.ok())
      return status;
    if (status = setBatch(*session, batch, batches->rows()); !status.ok())
      return status;
    if (status = session->begin(); !status.ok())
      return status;
    hasBegun = true;
  }
  if (!isLast || options.predict.empty())
    return {};
  if (isFirst()) {
    const ppx::OutputT &output =
        *session->artifact().outputs[*findPrediction(session->artifact())];
    // One batch behind the other.
    TensorToStore tensor = {output.name, output.element, output.shape};
    if (tensor.shape.empty())
      tensor.shape.push_back(1);
    tensor.shape.front() *= steps();
    Expected<TensorFile> created = TensorFile::create(options.predict, tensor);
    status = created.status();
    if (created)
      file.emplace(std::move(*created));
  }
  return world->agree(status).first;
}

/// Evaluates `batch`.
Status Evaluator::step(Sums &sums) {
  if (Status status = setBatch(*session, batch, batches->rows()); !status.ok())
    return status;
  if (Status status = session->step(); !status.ok())
    return status;
  sums.loss += session->scalar(*findLoss(session->artifact()));
  for (auto &[name, values] : readMetrics(*session)) {
    std::vector<double> &sum = sums.metrics[name];
    sum.resize(values.size());
    for (size_t i = 0; i < values.size(); ++i)
      sum[i] += values[i];
  }
  return {};
}

/// The largest distance, relative to the largest value of the judge.
static double errorOf(const std::vector<double> &values,
                      const std::vector<double> &right) {
  double most = 0, error = values.size() == right.size() ? 0 : INFINITY;
  for (double value : right)
    most = std::max(most, std::abs(value));
  for (size_t i = 0; i < std::min(values.size(), right.size()); ++i) {
    // NaN counts as the largest, unless the judge has it as well.
    const bool isSame = values[i] == right[i] ||
                        (std::isnan(values[i]) && std::isnan(right[i]));
    const double distance = isSame ? 0 : std::abs(values[i] - right[i]);
    error = std::isnan(distance) ? INFINITY : std::max(error, distance);
  }
  return error == 0 ? 0 : error / std::max(most, 1e-300);
}

static void add(std::optional<double> &worst, double error) {
  worst = std::max(worst.value_or(0), error);
}

Status Evaluator::compare(Stepper &judge, const Batch &its,
                          VerifyReport &verified) const {
  Expected<StepValues> right = judge.step(its);
  if (!right)
    return right.status();
  const ppx::ArtifactT &artifact = session->artifact();
  for (uint32_t i = 0; i < artifact.outputs.size(); ++i) {
    const ppx::OutputT &output = *artifact.outputs[i];
    const std::vector<double> values =
        asDoubles(output.element, session->output(i),
                  session->outputBytes(i) / elementSize(output.element));
    if (output.role == ppx::OutputRole_loss)
      add(verified.loss, errorOf(values, {right->loss}));
    if (output.role == ppx::OutputRole_metric)
      add(verified.metrics, errorOf(values, right->metrics[output.name]));
    if (output.role == ppx::OutputRole_prediction)
      add(verified.metrics, errorOf(values, right->predictions[output.name]));
  }
  return {};
}

Expected<std::optional<EvaluationReport>>
Evaluator::run(const Session &training, bool isLast) {
  if (Status status = session->copyArguments(training); !status.ok())
    return status;
  return run(isLast);
}

/// Prints a line.
static void tellEvaluation(const EvaluationReport &evaluation,
                           uint64_t batches) {
  std::cout << "eval loss " << evaluation.loss;
  for (const auto &[name, values] : evaluation.metrics)
    if (values.size() == 1)
      std::cout << " | " << name << " " << values.front();
  std::cout << " | " << batches << " batches" << std::endl;
}

Expected<std::optional<EvaluationReport>>
Evaluator::makeUp(const Session &training, uint64_t step, std::string &lines) {
  const bool isLast = step == options.steps;
  const size_t begin =
      lines.size() > 1 ? lines.rfind('\n', lines.size() - 2) + 1 : 0;
  bool isDueStill = false;
  if (isFirst() && isDue(step)) {
    const Expected<StepReport> last = parseStep(lines.substr(begin));
    isDueStill = last && std::isfinite(last->loss) &&
                 (!last->evaluation || (isLast && !options.predict.empty()));
  }
  if (!world->agree({}, isDueStill).votes)
    return std::optional<EvaluationReport>();
  Expected<std::optional<EvaluationReport>> evaluated = run(training, isLast);
  if (evaluated && !*evaluated)
    return Status(ExitCode::interrupted, "interrupted while it evaluates");
  if (!evaluated || !isFirst())
    return evaluated;
  // It was read before.
  lines = lines.substr(0, begin) +
          *addEvaluation(lines.substr(begin), **evaluated) + "\n";
  if (!options.quiet) {
    std::cout << "after step " << step << ": ";
    tellEvaluation(**evaluated, steps());
  }
  return evaluated;
}

Expected<std::optional<EvaluationReport>>
Evaluator::run(bool isLast, Stepper *judge, VerifyReport *verified) {
  const auto start = Clock::now();
  if (Status status = prepare(isLast); !status.ok())
    return status;
  Sums sums;
  Status mine;
  for (uint64_t number = 0; number <= steps(); ++number) {
    const bool isEnd = number == steps();
    if (mine.ok() && !isEnd)
      mine = batches->read(number, batch);
    if (mine.ok() && isEnd && file)
      mine = file->commit();
    const Verdict verdict =
        world->agree(mine, voteIf(!isEnd && interrupted(), Vote::stops) |
                               (saver ? saver->votes() : 0));
    const bool isStopped = verdict.votes & Vote::stops;
    if (!verdict.first.ok() || isStopped || isEnd)
      file.reset();
    if (!verdict.first.ok())
      return verdict.first;
    // An evaluation may take long.
    if (saver)
      saver->settle(verdict.votes);
    if (isStopped)
      return std::optional<EvaluationReport>();
    if (isEnd)
      break;
    if (Status status = step(sums); !status.ok())
      return status;
    if (file) {
      const uint32_t output = *findPrediction(session->artifact());
      mine = file->write(session->output(output), session->outputBytes(output));
    }
    if (judge && mine.ok())
      mine = compare(*judge, batch, *verified);
  }
  const auto count = double(steps());
  EvaluationReport report;
  report.loss = sums.loss / count;
  for (auto &[name, values] : sums.metrics) {
    for (double &value : values)
      value /= count;
    report.metrics.emplace_back(name, values);
  }
  report.ms =
      std::chrono::duration<double, std::milli>(Clock::now() - start).count();
  return std::optional(report);
}

Status Evaluator::end() { return hasBegun ? session->end() : Status(); }

/// Bounds relative errors of a program that rounds by `roundoff`.
static double boundFor(double roundoff) {
  if (roundoff < 1e-15)
    return 1e-12;
  return roundoff < 1e-6 ? 200 * roundoff : 16 * roundoff;
}

/// Says how far the evaluation is from the judge's.
static void tellErrors(uint64_t steps, const VerifyReport &verified,
                       double bound) {
  std::cout << "verify: " << steps
            << " batches against the reference interpreter in f64: ";
  const auto tell = [](const char *name, double error) {
    char text[64];
    std::snprintf(text, sizeof(text), "%s %.1e", name, error);
    std::cout << text;
  };
  tell("loss", verified.loss.value_or(0));
  if (verified.metrics)
    tell(", other values", *verified.metrics);
  tell("; relative errors of at most", bound);
  std::cout << " expected" << std::endl;
}

Status pp::run::evaluateOnly(const Options &options, SourceModule *module,
                             Session &session, const Batches &batches,
                             std::shared_ptr<World> world, uint64_t step,
                             Report &report) {
  const bool tells = world->process() == 0;
  const uint64_t steps = stepsOf(options, batches);
  std::unique_ptr<Stepper> judge;
  VerifyReport verified;
  double roundoff = 0;
  if (options.verify) {
    Status status;
    if (tells && (!module || !module->isModel()))
      status = Status(ExitCode::usage, "--verify expects a model to evaluate, "
                                       "got " +
                                           options.input);
    if (tells && status.ok()) {
      const Expected<double> its = module->roundoff(options.parallelize);
      Expected<std::unique_ptr<Stepper>> made =
          module->interpretEvaluation(evaluationOf(options), batches.names());
      status = its ? made.status() : its.status();
      roundoff = its ? *its : 0;
      if (made)
        judge = std::move(*made);
    }
    if (status = world->agree(status).first; !status.ok())
      return status;
    verified.judge = "interpreter";
    verified.errorClass = roundoff < 1e-6 ? "exact" : "low precision";
    // All give what their ranks hold.
    status =
        judge ? judge->follow(session, 0) : readArguments(session).status();
    if (status = world->agree(status).first; !status.ok())
      return status;
  }
  const double bound = boundFor(roundoff);
  Evaluator evaluator(options, session, batches, world);
  Expected<std::optional<EvaluationReport>> evaluated =
      evaluator.run(/*isLast=*/true, judge.get(), &verified);
  if (!evaluated)
    return evaluated.status();
  if (!*evaluated)
    return Status(ExitCode::interrupted, "interrupted while it evaluates");
  report.evaluation = **evaluated;
  Status status;
  if (tells && !options.quiet)
    tellEvaluation(*report.evaluation, steps);
  if (tells && !options.metrics.empty()) {
    const std::string line = printEvaluation(step, *report.evaluation) + "\n";
    status = writeFile(options.metrics, line.data(), line.size());
  }
  if (options.verify && tells) {
    verified.ok = std::max(verified.loss.value_or(0),
                           verified.metrics.value_or(0)) <= bound;
    if (!verified.ok || !options.quiet)
      tellErrors(steps, verified, bound);
    report.verify = verified;
    if (!verified.ok && status.ok())
      status = Status(ExitCode::verifyDiffers,
                      "--verify expects the program that evaluates to compute "
                      "what the model does, got the differences above");
  }
  if (status = world->agree(status).first; !status.ok())
    return status;
  return evaluator.end();
}
