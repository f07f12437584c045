//===- Verify.cpp - the partitioned program against the model -------------===//
//
// SPDX-License-Identifier: Apache-2.0
//
//===----------------------------------------------------------------------===//
#include "Verify.h"
#include "Compare.h"
#include "Parameters.h"

#include <cstdio>

using namespace pp::run;
using namespace pprt;

// Enough for states to matter.
static constexpr uint64_t comparedSteps = 3;
// The interpreter does about 1e8 operations a second; beyond a few seconds a
// step, the compiled program for one device judges.
static constexpr double interpretedFlops = 5e8;

namespace {

Bounds boundsFor(const ppx::ArtifactT &artifact, const UpdateRule &rule) {
  bool isDouble = true;
  for (const auto &argument : artifact.arguments)
    if (argument->role == ppx::Role_param)
      isDouble &= argument->element == ppx::ElementType_f64;
  for (const auto &output : artifact.outputs)
    if (output->role == ppx::OutputRole_loss)
      isDouble &= output->element == ppx::ElementType_f64;
  if (isDouble)
    return {1e-10, 1e-10, 1e-10};
  return {1e-4, 1e-4, rule.isAdam ? 0.05 : 1e-4, rule.isAdam};
}

/// Whether the unpartitioned program, by itself and in its own type, makes
/// values that are not finite in one of the first `steps` steps.
Expected<bool> diverges(Session &session, const Batches &batches,
                        uint64_t steps) {
  const std::unique_ptr<Stepper> stepper = makeSessionStepper(session);
  Batch batch;
  for (uint64_t step = 0; step < steps; ++step) {
    if (Status status = batches.read(step, batch); !status.ok())
      return status;
    Expected<StepValues> values = stepper->step(batch);
    if (!values)
      return values.status();
    if (!findNonFinite(*values).empty())
      return true;
  }
  return false;
}

void printRow(std::ostream &out, const char *name, const Worst &worst,
              double bound) {
  char line[64];
  std::snprintf(line, sizeof(line), "  %-12s %9.2e %9.0e  ", name, worst.error,
                bound);
  out << line << (worst.error <= bound ? "ok    " : "DIFFERS  ") << worst.tensor
      << "\n";
}

void printTable(std::ostream &out, const Comparison &errors) {
  const Bounds &bounds = errors.bounds;
  out << "                   error     bound        worst\n";
  printRow(out, "loss", errors.loss, bounds.loss);
  if (errors.metrics.tensor != "-")
    printRow(out, "metrics", errors.metrics, bounds.loss);
  printRow(out, "gradients", errors.gradients, bounds.gradients);
  printRow(out, bounds.byLearningRate ? "params / lr" : "parameters",
           errors.parameters, bounds.parameters);
  if (errors.states.tensor != "-")
    printRow(out, "states", errors.states, bounds.gradients);
  if (bounds.byLearningRate) {
    char line[128];
    std::snprintf(line, sizeof(line),
                  "  params / lr is what the gradients' rounding does not "
                  "explain; with it %.2e  ",
                  errors.wholeUpdates.error);
    out << line << errors.wholeUpdates.tensor << "\n";
  }
  out << std::flush;
}

VerifyReport makeReport(const Comparison &errors) {
  VerifyReport report;
  report.errorClass = "exact";
  report.loss = errors.loss.error;
  report.metrics = errors.metrics.error;
  report.gradients = errors.gradients.error;
  report.parameters = errors.parameters.error;
  report.states = errors.states.error;
  report.ok = errors.isWithinBounds();
  return report;
}

} // namespace

Expected<std::unique_ptr<Session>>
pp::run::startSession(const Compiled &program, const Start &start) {
  SessionOptions sessionOptions;
  sessionOptions.resolver = program.resolver;
  Expected<std::unique_ptr<Session>> session =
      Session::create(program.artifact, sessionOptions);
  if (!session)
    return session;
  (*session)->initialize(start.options.seed);
  if (start.parameters)
    if (Status status = loadParameters(*start.parameters, **session);
        !status.ok())
      return status;
  if (start.options.steps == 0)
    return session;
  // A prologue may read the first batch.
  Batch first;
  if (Status status = start.batches.read(0, first); !status.ok())
    return status;
  if (Status status = setBatch(**session, first); !status.ok())
    return status;
  if (Status status = (*session)->begin(); !status.ok())
    return status;
  return session;
}

Expected<VerifyReport> pp::run::verify(SourceModule &module,
                                       const Compiled &program,
                                       const Start &start, std::ostream &out) {
  const Options &options = start.options;
  if (!module.isModel())
    return Status(ExitCode::usage,
                  "--verify expects a model whose training step is still to be "
                  "made, got a module that has one");
  Expected<UpdateRule> rule = module.updateRule(options.parallelize);
  if (!rule)
    return rule.status();
  auto startVariant =
      [&](Variant variant) -> Expected<std::unique_ptr<Session>> {
    Expected<Compiled> compiled = module.compile(options.parallelize, variant);
    if (!compiled)
      return compiled.status();
    return startSession(*compiled, start);
  };
  Expected<std::unique_ptr<Session>> session = startSession(program, start);
  if (!session)
    return session.status();
  Expected<std::unique_ptr<Session>> twinSession =
      startVariant(Variant::withGradients);
  if (!twinSession)
    return twinSession.status();

  const bool isInterpreted = module.stepFlops() <= interpretedFlops;
  std::unique_ptr<Session> oneDevice;
  std::unique_ptr<Stepper> judge;
  if (isInterpreted) {
    Expected<std::unique_ptr<Stepper>> interpreter =
        module.interpret(options.parallelize, start.batches.names());
    if (!interpreter)
      return interpreter.status();
    judge = std::move(*interpreter);
  } else {
    Expected<std::unique_ptr<Session>> created =
        startVariant(Variant::oneDevice);
    if (!created)
      return created.status();
    oneDevice = std::move(*created);
    judge = makeSessionStepper(*oneDevice);
  }

  const std::unique_ptr<Stepper> ours = makeSessionStepper(**session);
  const std::unique_ptr<Stepper> twin = makeSessionStepper(**twinSession);
  Comparison comparison(boundsFor(*program.artifact, *rule),
                        rule->learningRate);
  const uint64_t steps = std::min(options.steps, comparedSteps);
  Batch batch;
  for (uint64_t step = 0; step < steps; ++step) {
    if (Status status = start.batches.read(step, batch); !status.ok())
      return status;
    // Else rounding would grow from step to step, and fastest where an
    // optimizer divides by small gradients.
    for (Stepper *stepper : {twin.get(), judge.get()})
      if (Status status = stepper->follow(**session); !status.ok())
        return status;
    Expected<StepValues> a = ours->step(batch), t = twin->step(batch),
                         b = judge->step(batch);
    for (const Expected<StepValues> *result : {&a, &t, &b})
      if (!*result)
        return result->status();
    const std::string name = "step " + std::to_string(step + 1);
    // A model that diverges by itself tells nothing about its partition.
    for (const StepValues *values : {&*a, &*t}) {
      const std::string found = findNonFinite(*values);
      if (found.empty())
        continue;
      Expected<std::unique_ptr<Session>> alone =
          startVariant(Variant::oneDevice);
      if (!alone)
        return alone.status();
      Expected<bool> isAlike = diverges(**alone, start.batches, steps);
      if (!isAlike)
        return isAlike.status();
      if (*isAlike)
        return Status(ExitCode::nonFinite,
                      name +
                          ": --verify expects finite values, got others in "
                          "the " +
                          found + ", as in the unpartitioned program");
      break;
    }
    comparison.add(name, *a, *t, *b);
  }

  VerifyReport report = makeReport(comparison);
  report.judge = isInterpreted ? "interpreter" : "one device";
  if (!options.quiet || !report.ok) {
    out << "verify: " << steps << (steps == 1 ? " step" : " steps")
        << " against "
        << (isInterpreted ? "the reference interpreter in f64"
                          : "the program for one device")
        << "\n";
    printTable(out, comparison);
  }
  return report;
}
