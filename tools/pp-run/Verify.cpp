//===- Verify.cpp - the partitioned program against the model -------------===//
//
// SPDX-License-Identifier: Apache-2.0
//
// The error of a tensor is |a - b| / max(|b|, 1e-6 |all|) with Euclidean norms,
// b the judge's tensor and `all` everything of its class together: a gradient
// that is zero up to rounding is measured by the others.
//
//===----------------------------------------------------------------------===//
#include "Verify.h"
#include "Parameters.h"

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <limits>

using namespace pp::run;
using namespace pprt;

// More steps would compare how rounding grows, not what is computed.
static constexpr uint64_t comparedSteps = 3;
// The interpreter does about 1e8 operations a second; beyond a few seconds a
// step, the compiled program for one device judges.
static constexpr double interpretedFlops = 5e8;

namespace {

/// The largest error of a class of tensors, and where it was found.
struct Worst {
  double error = 0;
  std::string tensor = "-";

  void add(double found, const std::string &name) {
    // Not a number counts as the largest.
    if (std::isnan(found))
      found = std::numeric_limits<double>::infinity();
    if (found < error || (found == error && tensor != "-"))
      return;
    error = found;
    tensor = name;
  }
};

struct Bounds {
  double loss, gradients, parameters;
  /// Parameters are compared by their largest difference, in units of the
  /// learning rate per step: Adam divides by the gradient's size, so that the
  /// rounding of a zero gradient is as large as any step.
  bool byLearningRate = false;
};

double norm(const std::vector<double> &values) {
  double sum = 0;
  for (double value : values)
    sum += value * value;
  return std::sqrt(sum);
}

double norm(const Values &tensors) {
  double sum = 0;
  for (const auto &[name, values] : tensors)
    sum += norm(values) * norm(values);
  return std::sqrt(sum);
}

/// The differences of the two; not a number everywhere if sizes differ.
std::vector<double> subtract(const std::vector<double> &a,
                             const std::vector<double> &b) {
  if (a.size() != b.size())
    return {std::numeric_limits<double>::quiet_NaN()};
  std::vector<double> result(a.size());
  for (size_t i = 0; i < a.size(); ++i)
    result[i] = a[i] - b[i];
  return result;
}

void compareRelative(const Values &ours, const Values &judged, Worst &worst) {
  const double floor =
      std::max(1e-6 * norm(judged), std::numeric_limits<double>::min());
  for (const auto &[name, values] : judged) {
    const auto found = ours.find(name);
    const std::vector<double> none;
    const std::vector<double> difference =
        subtract(found == ours.end() ? none : found->second, values);
    worst.add(norm(difference) / std::max(norm(values), floor), name);
  }
}

void compareAbsolute(const Values &ours, const Values &judged, double unit,
                     Worst &worst) {
  for (const auto &[name, values] : judged) {
    const auto found = ours.find(name);
    const std::vector<double> none;
    double largest = 0;
    for (double d :
         subtract(found == ours.end() ? none : found->second, values))
      largest = std::isnan(d) ? d : std::max(largest, std::abs(d));
    worst.add(largest / unit, name);
  }
}

Bounds boundsFor(const ppx::ArtifactT &artifact, const UpdateRule &rule) {
  bool isDouble = true;
  for (const auto &argument : artifact.arguments)
    if (argument->role == ppx::Role_param)
      isDouble &= argument->element == ppx::ElementType_f64;
  if (isDouble)
    return {1e-10, 1e-10, 1e-10};
  return {1e-4, 1e-4, rule.isAdam ? 0.05 : 1e-4, rule.isAdam};
}

void printRow(std::ostream &out, const char *name, const Worst &worst,
              double bound) {
  char line[64];
  std::snprintf(line, sizeof(line), "  %-12s %9.2e %9.0e  ", name, worst.error,
                bound);
  out << line << (worst.error <= bound ? "ok    " : "DIFFERS  ") << worst.tensor
      << "\n";
}

} // namespace

Expected<std::unique_ptr<Session>>
pp::run::startSession(const Compiled &program, const Options &options,
                      const Batches &batches) {
  SessionOptions sessionOptions;
  sessionOptions.resolver = program.resolver;
  Expected<std::unique_ptr<Session>> session =
      Session::create(program.artifact, sessionOptions);
  if (!session)
    return session;
  (*session)->initialize(options.seed);
  if (!options.parameters.empty())
    if (Status status = loadParameters(options.parameters, **session);
        !status.ok())
      return status;
  if (options.steps == 0)
    return session;
  // A prologue may read the first batch.
  Batch first;
  if (Status status = batches.read(0, first); !status.ok())
    return status;
  if (Status status = setBatch(**session, first); !status.ok())
    return status;
  if (Status status = (*session)->begin(); !status.ok())
    return status;
  return session;
}

Expected<VerifyReport> pp::run::verify(SourceModule &module,
                                       const Compiled &program,
                                       const Batches &batches,
                                       const Options &options,
                                       std::ostream &out) {
  if (!module.isModel())
    return Status(ExitCode::usage,
                  "--verify expects a model whose training step is still to be "
                  "made, got a module that has one");
  Expected<UpdateRule> rule = module.updateRule(options.parallelize);
  if (!rule)
    return rule.status();
  auto start = [&](Variant variant) -> Expected<std::unique_ptr<Session>> {
    Expected<Compiled> compiled = module.compile(options.parallelize, variant);
    if (!compiled)
      return compiled.status();
    return startSession(*compiled, options, batches);
  };
  Expected<std::unique_ptr<Session>> session =
      startSession(program, options, batches);
  if (!session)
    return session.status();
  Expected<std::unique_ptr<Session>> twinSession =
      start(Variant::withGradients);
  if (!twinSession)
    return twinSession.status();

  const bool isInterpreted = module.stepFlops() <= interpretedFlops;
  std::unique_ptr<Session> oneDevice;
  std::unique_ptr<Stepper> judge;
  if (isInterpreted) {
    Expected<Values> initial = readArguments(**session);
    if (!initial)
      return initial.status();
    Expected<std::unique_ptr<Stepper>> interpreter =
        module.interpret(options.parallelize, *initial, batches.names());
    if (!interpreter)
      return interpreter.status();
    judge = std::move(*interpreter);
  } else {
    Expected<std::unique_ptr<Session>> created = start(Variant::oneDevice);
    if (!created)
      return created.status();
    oneDevice = std::move(*created);
    judge = makeSessionStepper(*oneDevice);
  }

  const std::unique_ptr<Stepper> ours = makeSessionStepper(**session);
  const std::unique_ptr<Stepper> twin = makeSessionStepper(**twinSession);
  const Bounds bounds = boundsFor(*program.artifact, *rule);
  const uint64_t steps = std::min(options.steps, comparedSteps);
  Worst loss, gradients, parameters;
  Batch batch;
  for (uint64_t step = 0; step < steps; ++step) {
    if (Status status = batches.read(step, batch); !status.ok())
      return status;
    Expected<StepValues> a = ours->step(batch), t = twin->step(batch),
                         b = judge->step(batch);
    for (const Expected<StepValues> *result : {&a, &t, &b})
      if (!*result)
        return result->status();
    loss.add(std::abs(a->loss - b->loss) / std::abs(b->loss),
             "step " + std::to_string(step + 1));
    compareRelative(t->gradients, b->gradients, gradients);
    if (bounds.byLearningRate)
      compareAbsolute(a->parameters, b->parameters,
                      rule->learningRate * double(step + 1), parameters);
    else
      compareRelative(a->parameters, b->parameters, parameters);
  }

  VerifyReport report;
  report.errorClass = "exact";
  report.judge = isInterpreted ? "interpreter" : "one device";
  report.loss = loss.error;
  report.gradients = gradients.error;
  report.parameters = parameters.error;
  report.ok = loss.error <= bounds.loss &&
              gradients.error <= bounds.gradients &&
              parameters.error <= bounds.parameters;
  if (!options.quiet || !report.ok) {
    out << "verify: " << steps << (steps == 1 ? " step" : " steps")
        << " against "
        << (isInterpreted ? "the reference interpreter in f64"
                          : "the program for one device")
        << "\n                   error     bound        worst\n";
    printRow(out, "loss", loss, bounds.loss);
    printRow(out, "gradients", gradients, bounds.gradients);
    printRow(out, bounds.byLearningRate ? "params / lr" : "parameters",
             parameters, bounds.parameters);
    out << std::flush;
  }
  return report;
}
