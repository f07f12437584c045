//===- Verify.cpp - the partitioned program against the model -------------===//
//
// SPDX-License-Identifier: Apache-2.0
//
//===----------------------------------------------------------------------===//
#include "Verify.h"
#include "Run.h"
#include "pprt/host/Compare.h"
#include "pprt/host/Parameters.h"

#include <algorithm>
#include <cstdio>
#include <optional>
#include <utility>

using namespace pp::run;
using namespace pprt;
using namespace pprt::host;

// Enough for states to matter.
static constexpr uint64_t comparedSteps = 3;
// The interpreter does about 1e8 operations a second; beyond a few seconds a
// step, the compiled program for one device judges.
static constexpr double interpretedFlops = 5e8;

namespace {

/// The measure of errors.
enum class Yardstick {
  any,       ///< what any model may have
  oneDevice, ///< the unpartitioned program in the type of the model
  shaken     ///< the model in f64, its parameters rounded to that type
};

bool isLowPrecision(double roundoff) { return roundoff > 0x1p-24; }
bool isDouble(double roundoff) { return roundoff < 0x1p-24; }

/// The roundoff of a step's values, or of factors that its products round. The
/// yardstick runs on processors, which round no factors.
double roundoffOf(double ofModule, const Compiled &program) {
  constexpr double tf32 = 0x1p-11;
  for (const auto &kernel : program.artifact->kernels)
    if (const ppx::ContractionT *product = kernel->body.AsContraction();
        product && product->tf32)
      return std::max(ofModule, tf32);
  return ofModule;
}

Bounds boundsFor(double roundoff, const UpdateRule &rule) {
  if (isDouble(roundoff))
    return {1e-10, 1e-10, 1e-10};
  const bool isByRate = rule.isAdam && !isLowPrecision(roundoff);
  return {1e-4, 1e-4, isByRate ? 0.05 : 1e-4, isByRate};
}

/// How many roundings of the parameters a step is worth: half the root of how
/// many it has one behind the other, for they add up as chance does. In less
/// than f32 only results are rounded, not sums.
double shakesOfStep(double roundoff) {
  return isLowPrecision(roundoff) ? 4 : 16;
}

/// An error beyond any rounding: a completely wrong tensor, such as zeros, has
/// a relative error of 1.
constexpr double kLoose = 0.1;

/// A model that one rounding changes by more is judged by nothing.
double mostOfShaken(double roundoff, const UpdateRule &rule) {
  if (isDouble(roundoff))
    return boundsFor(0x1p-24, rule).gradients;
  return isLowPrecision(roundoff) ? 2 * kLoose : kLoose;
}

/// How many steps loss scaling has skipped so far.
double countSkipped(const StepValues &values) {
  auto found = values.metrics.find("skipped_steps");
  return found == values.metrics.end() ? 0 : found->second.front();
}

/// The unpartitioned program, by itself and in its own type, from the first
/// step on.
class Alone {
public:
  enum class Outcome { finite, skipped, diverged };

  Alone(std::unique_ptr<Session> session, const Batches &batches)
      : session(std::move(session)),
        stepper(makeSessionStepper(*this->session)), batches(batches) {}

  /// What became of the first `steps` steps.
  Expected<std::vector<Outcome>> run(uint64_t steps) {
    Batch batch;
    while (outcomes.size() < steps) {
      if (Status status = batches.read(outcomes.size(), batch); !status.ok())
        return status;
      Expected<StepValues> values = stepper->step(batch);
      if (!values)
        return values.status();
      const double before = std::exchange(skipped, countSkipped(*values));
      outcomes.push_back(findNonFinite(*values).empty() ? Outcome::finite
                         : skipped > before             ? Outcome::skipped
                                                        : Outcome::diverged);
    }
    return outcomes;
  }

private:
  std::unique_ptr<Session> session;
  std::unique_ptr<Stepper> stepper;
  const Batches &batches;
  std::vector<Outcome> outcomes;
  double skipped = 0;
};

void printRow(std::ostream &out, const char *name, const Worst &worst,
              double bound) {
  char line[64];
  std::snprintf(line, sizeof(line), "  %-12s %9.2e %9.2e  ", name, worst.error,
                bound);
  out << line << (worst.error <= bound ? "ok    " : "DIFFERS  ")
      << (worst.error == 0 ? "-" : worst.tensor) << "\n";
}

/// Of parameters after Adam, whose errors leave out what the gradients explain.
void printWhole(std::ostream &out, const char *name, double error,
                const std::string &tensor) {
  char line[160];
  std::snprintf(line, sizeof(line),
                "  the error of %s is what the gradients' rounding does not "
                "explain; the whole error is %.2e  ",
                name, error);
  out << line << tensor << "\n";
}

void printTable(std::ostream &out, const Comparison &errors) {
  const Bounds &bounds = errors.bounds;
  out << "                   error     bound        worst\n";
  printRow(out, "loss", errors.loss, bounds.loss);
  if (errors.metrics.tensor != "-")
    printRow(out, "metrics", errors.metrics, bounds.loss);
  if (errors.gradients.tensor != "-")
    printRow(out, "gradients", errors.gradients, bounds.gradients);
  const char *parameters = bounds.byLearningRate ? "params / lr" : "parameters";
  printRow(out, parameters, errors.parameters, bounds.parameters);
  if (errors.states.tensor != "-")
    printRow(out, "states", errors.states, bounds.states());
  if (errors.wholeUpdates.tensor != "-")
    printWhole(out, parameters, errors.wholeUpdates.error,
               errors.wholeUpdates.tensor);
  out << std::flush;
}

void printTable(std::ostream &out, const LowPrecisionComparison &errors,
                bool isByRate, Yardstick yardstick, double roundoff) {
  const char *parameters = isByRate ? "params / lr" : "parameters";
  out << "                   error     bound        worst\n";
  for (auto [name, bounded] : {std::pair("loss", &errors.loss),
                               {"metrics", &errors.metrics},
                               {"gradients", &errors.gradients},
                               {parameters, &errors.parameters},
                               {"states", &errors.states}})
    if (bounded->tensor != "-")
      printRow(out, name, {bounded->error, bounded->tensor}, bounded->bound);
  if (errors.wholeUpdates.tensor != "-")
    printWhole(out, parameters, errors.wholeUpdates.error,
               errors.wholeUpdates.tensor);
  out << "  a bound is the fixed bound of the type, or "
      << (yardstick == Yardstick::shaken
              ? std::to_string(int(2 * shakesOfStep(roundoff))) +
                    " times the effect on the model of the last digit of each "
                    "parameter"
              : std::string("twice the error of the program for one device"))
      << " if that is larger\n";
  if (!isDouble(roundoff) && errors.loosestBound() >= kLoose)
    out << "  rounding alone changes this model by as much as a bound: verify "
           "it in "
        << (isLowPrecision(roundoff) ? "f32 or f64" : "f64")
        << ", which shows more\n";
  out << std::flush;
}

template <typename T> std::optional<double> errorOf(const T &worst) {
  return worst.tensor == "-" ? std::nullopt : std::optional(worst.error);
}

/// For either comparison.
template <typename T> VerifyReport makeReport(const T &errors, bool isByRate) {
  VerifyReport report;
  report.loss = errorOf(errors.loss);
  report.metrics = errorOf(errors.metrics);
  report.gradients = errorOf(errors.gradients);
  report.parameters = errorOf(errors.parameters);
  report.states = errorOf(errors.states);
  report.byLearningRate = isByRate;
  report.ok = errors.isWithinBounds();
  return report;
}

} // namespace

static Status agreeOn(const Start &start, const Status &mine) {
  return start.world && !start.leads ? start.world->agree(mine).first : mine;
}

uint64_t pp::run::stepsBefore(const Start &start) {
  return start.checkpoint && !start.options.resumesParametersOnly
             ? start.checkpoint->index().step
             : 0;
}

Status pp::run::setInitial(Session &session, const Start &start) {
  const Options &options = start.options;
  const bool hasAll = start.checkpoint && !options.resumesParametersOnly;
  if (!hasAll)
    if (Status status = session.initialize(options.seed); !status.ok())
      return status;
  if (start.from)
    return makeSessionStepper(session)->follow(*start.from, /*rounding=*/0);
  if (start.parameters)
    return agreeOn(start, loadParameters(*start.parameters, session));
  if (start.checkpoint)
    return agreeOn(start, start.checkpoint->load(session, !hasAll));
  return {};
}

Expected<std::unique_ptr<Session>>
pp::run::createSession(const Compiled &program, const Start &start) {
  SessionOptions sessionOptions;
  if (!start.judges)
    sessionOptions.device = start.options.device;
  sessionOptions.resolver = program.resolver;
  sessionOptions.world = start.world;
  sessionOptions.leads = start.leads;
  sessionOptions.hangTimeoutSeconds = double(start.options.hangTimeoutSeconds);
  sessionOptions.isInterrupted = interrupted;
  const Options &its = start.options;
  sessionOptions.graph = its.graph.value_or(
      its.trace.empty() && its.draw.empty() && its.report.empty());
  Expected<std::unique_ptr<Session>> session =
      Session::create(program.artifact, sessionOptions);
  if (!session)
    return session;
  if (!(*session)->keepsValues())
    return Status(
        ExitCode::usage,
        "--device expects a device that keeps values, such as cpu, got '" +
            (*session)->device() + "'");
  return session;
}

Expected<std::unique_ptr<Session>>
pp::run::startSession(const Compiled &program, const Start &start) {
  Expected<std::unique_ptr<Session>> session = createSession(program, start);
  if (!session)
    return session;
  if (Status status = setInitial(**session, start); !status.ok())
    return status;
  const uint64_t before = stepsBefore(start);
  if (start.options.steps <= before)
    return session;
  // A setup may read the first batch.
  Batch first;
  if (Status status = agreeOn(start, start.batches.read(before, first));
      !status.ok())
    return status;
  if (Status status = setBatch(**session, first, start.batches.rows());
      !status.ok())
    return status;
  if (Status status = (*session)->begin(before); !status.ok())
    return status;
  return session;
}

/// Whether the comparison is possible. Prepares a reference, of that file.
static Status prepare(const Compared &compared, const std::string &reference) {
  if (!compared.reference) {
    if (compared.module && compared.module->takesPlan())
      return {};
    return Status(
        ExitCode::usage,
        "--verify expects a model, or --reference=MODEL to compare with, got " +
            std::string(compared.module ? "a module with a plan"
                                        : "an artifact"));
  }
  const ppx::ArtifactT &program = *compared.program.artifact;
  const auto inFile = [&](const Status &status) {
    return status.ok()
               ? status
               : Status(status.code(), reference + ": " + status.message());
  };
  if (Status status =
          matchParameters(program, compared.reference->parameterTypes());
      !status.ok())
    return inFile(status);
  // A reference whose step is still to be made gets the program's optimizer.
  if (compared.reference->isModel())
    if (Status status = compared.reference->adoptPlan(program.plan);
        !status.ok())
      return status;
  Expected<Compiled> compiled =
      compared.reference->compile("", Variant::oneDevice, Kernels::none);
  if (!compiled)
    return compiled.status();
  return inFile(matchReference(program, *compiled->artifact));
}

/// Compares the first steps. Prints differences only if `isLast`.
static Expected<VerifyReport> compareSteps(const Compared &compared,
                                           const Start &start, Yardstick bound,
                                           bool isLast, std::ostream &out) {
  const bool isMeasured = bound != Yardstick::any;
  const Options &options = start.options;
  const Compiled &program = compared.program;
  const bool hasTwin = !compared.reference;
  SourceModule &module = hasTwin ? *compared.module : *compared.reference;
  const std::string parallelize = hasTwin ? options.parallelize : "";
  Expected<UpdateRule> rule = module.updateRule(parallelize);
  if (!rule)
    return rule.status();
  auto startVariant =
      [&](Variant variant) -> Expected<std::unique_ptr<Session>> {
    // Only the twin is partitioned.
    const bool isShared = start.leads && variant == Variant::withGradients;
    Expected<Compiled> compiled = module.compile(
        parallelize, variant, isShared ? Kernels::linked : Kernels::loaded);
    if (!compiled)
      return compiled.status();
    // A file in low precision fits no parameters in f64, which follow others.
    const bool fitsFile = variant != Variant::oneDeviceInF64;
    return startSession(
        *compiled,
        {options, start.batches, fitsFile ? start.parameters : nullptr,
         fitsFile ? start.checkpoint : nullptr,
         isShared ? start.world : nullptr, isShared,
         /*judges=*/variant != Variant::withGradients, start.from});
  };
  Expected<std::unique_ptr<Session>> session = startSession(program, start);
  if (!session)
    return session.status();
  std::unique_ptr<Session> twinSession;
  std::unique_ptr<Stepper> twin;
  if (hasTwin) {
    Expected<std::unique_ptr<Session>> created =
        startVariant(Variant::withGradients);
    if (!created)
      return created.status();
    twinSession = std::move(*created);
    twin = makeSessionStepper(*twinSession);
  }

  // Measured programs are compared with f64, and so is their yardstick.
  const Expected<double> ofModule = module.roundoff(parallelize);
  if (!ofModule)
    return ofModule.status();
  const double roundoff = roundoffOf(*ofModule, program);
  const bool isInterpreted = module.stepFlops() <= interpretedFlops;
  std::unique_ptr<Session> judgeSession, yardstickSession;
  std::unique_ptr<Stepper> yardstick, rounding;
  // The unpartitioned model in f64: interpreted, or in a session of its own.
  auto startJudge = [&](std::unique_ptr<Session> &session)
      -> Expected<std::unique_ptr<Stepper>> {
    if (isInterpreted)
      return module.interpret(parallelize, start.batches.names());
    Expected<std::unique_ptr<Session>> created =
        startVariant(isMeasured ? Variant::oneDeviceInF64 : Variant::oneDevice);
    if (!created)
      return created.status();
    session = std::move(*created);
    return makeSessionStepper(*session);
  };
  Expected<std::unique_ptr<Stepper>> judge = startJudge(judgeSession);
  if (!judge)
    return judge.status();
  if (bound == Yardstick::shaken) {
    Expected<std::unique_ptr<Stepper>> shaken = startJudge(yardstickSession);
    if (!shaken)
      return shaken.status();
    yardstick = std::move(*shaken);
  } else if (bound == Yardstick::oneDevice) {
    Expected<std::unique_ptr<Session>> created =
        startVariant(Variant::oneDevice);
    if (!created)
      return created.status();
    yardstickSession = std::move(*created);
    yardstick = makeSessionStepper(*yardstickSession);
    // The yardstick comes from the same compiler, so f32 is bounded by rounding
    // alone. In less than f32, sums round otherwise than results.
    if (isInterpreted && !isLowPrecision(roundoff)) {
      Expected<std::unique_ptr<Stepper>> interpreter = module.interpret(
          parallelize, start.batches.names(), /*isRounded=*/true);
      if (!interpreter)
        return interpreter.status();
      rounding = std::move(*interpreter);
    }
  }

  const std::unique_ptr<Stepper> ours = makeSessionStepper(**session);
  const std::optional<Adam> adam =
      rule->isAdam ? std::optional(Adam{rule->eps, 2 * roundoff})
                   : std::nullopt;
  Comparison comparison(boundsFor(roundoff, *rule), adam.value_or(Adam()));
  const bool isByRate = comparison.bounds.byLearningRate;
  // Bounds of a model that rounds more include those of any model.
  LowPrecisionComparison lowComparison(
      isLowPrecision(roundoff) ? roundoff : comparison.bounds.gradients / 2,
      adam,
      /*scale=*/
      bound == Yardstick::shaken ? shakesOfStep(roundoff)
                                 : roundoff / *ofModule,
      bound == Yardstick::shaken ? mostOfShaken(roundoff, *rule)
                                 : std::numeric_limits<double>::infinity());
  uint64_t steps = 0, leftOut = 0;
  double skipped = 0;
  std::optional<Alone> alone;
  Batch batch;
  for (uint64_t step = stepsBefore(start);
       step < options.steps && steps < comparedSteps; ++step) {
    if (Status status = start.batches.read(step, batch); !status.ok())
      return status;
    // Else rounding would grow from step to step, and fastest where an
    // optimizer divides by small gradients.
    std::vector<StepValues> values;
    Expected<StepValues> before = StepValues();
    if (!twin)
      before = readArguments(**session);
    if (!before)
      return before.status();
    for (Stepper *stepper :
         {twin.get(), judge->get(), yardstick.get(), rounding.get()})
      if (stepper) {
        const bool isShaken =
            bound == Yardstick::shaken && stepper == yardstick.get();
        if (Status status =
                stepper->follow(**session, isShaken ? 2 * roundoff : 0);
            !status.ok())
          return status;
      }
    for (Stepper *stepper : {ours.get(), twin.get(), judge->get(),
                             yardstick.get(), rounding.get()}) {
      if (!stepper)
        continue;
      Expected<StepValues> result = stepper->step(batch);
      if (!result)
        return result.status();
      values.push_back(std::move(*result));
    }
    if (!twin) {
      values.insert(values.begin() + 1, values[0]);
      // A program without gradients may have Adam's averages of them. In low
      // precision these round too much.
      if (adam && !isLowPrecision(roundoff))
        for (StepValues &its : values)
          its.gradients = gradientsOf(its.states, before->states, rule->beta1);
      const Values told = values[0].gradients;
      for (StepValues &its : values)
        its.gradients = keepCommon(std::move(its.gradients), told);
    }
    const std::string name = "step " + std::to_string(step + 1);
    const bool isSkipped = countSkipped(values[0]) > skipped;
    skipped = countSkipped(values[0]);
    std::string found = findNonFinite(values[0]);
    if (found.empty())
      found = findNonFinite(values[1]);
    if (!found.empty()) {
      // A model that diverges by itself says nothing about its partition; a
      // step that it skips, too, is followed by one with a smaller scale.
      if (!alone) {
        Expected<std::unique_ptr<Session>> created =
            startVariant(Variant::oneDevice);
        if (!created)
          return created.status();
        alone.emplace(std::move(*created), start.batches);
      }
      Expected<std::vector<Alone::Outcome>> outcomes = alone->run(
          std::max(step + 1, std::min(options.steps, comparedSteps)));
      if (!outcomes)
        return outcomes.status();
      const bool isAlike = isSkipped
                               ? (*outcomes)[step] == Alone::Outcome::skipped
                               : std::count(outcomes->begin(), outcomes->end(),
                                            Alone::Outcome::diverged) > 0;
      if (isAlike && isSkipped && step + 1 < options.steps) {
        ++leftOut;
        continue;
      }
      if (isAlike)
        return Status(ExitCode::nonFinite,
                      name +
                          ": --verify expects finite values, got others in "
                          "the " +
                          found + ", as in the unpartitioned program");
    }
    ++steps;
    const double rate = rule->isAdam ? rule->rate(steps - 1) : 0;
    if (isMeasured)
      lowComparison.add(values[0], values[1], values[3], values[2], rate,
                        rounding ? &values[4] : nullptr);
    if (!isMeasured || isByRate)
      comparison.add(name, values[0], values[1], values[2], rate);
  }
  lowComparison.finish();
  // The part that the gradients explain is measured already.
  if (isMeasured && isByRate) {
    lowComparison.parameters = {comparison.parameters.error,
                                comparison.bounds.parameters,
                                comparison.parameters.tensor};
    lowComparison.wholeUpdates = comparison.wholeUpdates;
  }

  VerifyReport report = isMeasured ? makeReport(lowComparison, isByRate)
                                   : makeReport(comparison, isByRate);
  report.errorClass = !isMeasured                     ? "exact"
                      : bound == Yardstick::oneDevice ? "low precision"
                                                      : "measured";
  report.judge = isInterpreted ? "interpreter" : "one device";
  if (report.ok ? !options.quiet : isLast) {
    out << "verify: " << steps << (steps == 1 ? " step" : " steps")
        << " against "
        << (isInterpreted ? "the reference interpreter in f64"
            : isMeasured  ? "the program for one device in f64"
                          : "the program for one device");
    if (leftOut > 0)
      out << "; " << leftOut << " more overflowed and "
          << (leftOut == 1 ? "was" : "were") << " skipped by both";
    out << "\n";
    if (isMeasured)
      printTable(out, lowComparison, isByRate, bound, roundoff);
    else
      printTable(out, comparison);
  }
  return report;
}

Expected<VerifyReport> pp::run::verify(const Compared &compared,
                                       const Start &start, std::ostream &out) {
  if (Status status = prepare(compared, start.options.reference); !status.ok())
    return status;
  SourceModule &module =
      compared.reference ? *compared.reference : *compared.module;
  const bool isPlanned = !compared.reference;
  const Expected<double> ofModule =
      module.roundoff(isPlanned ? start.options.parallelize : "");
  if (!ofModule)
    return ofModule.status();
  const double roundoff = roundoffOf(*ofModule, compared.program);
  // Saturated activations, sums that cancel and norms of few samples may cost
  // as many digits before anything is partitioned.
  std::vector<Yardstick> tighter;
  if (!isLowPrecision(roundoff))
    tighter.push_back(Yardstick::any);
  if (!isDouble(roundoff))
    tighter.push_back(Yardstick::oneDevice);
  for (Yardstick bound : tighter) {
    Expected<VerifyReport> report =
        compareSteps(compared, start, bound, /*isLast=*/false, out);
    if (!report || report->ok)
      return report;
  }
  return compareSteps(compared, start, Yardstick::shaken, /*isLast=*/true, out);
}
