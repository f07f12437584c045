//===- Verify.cpp - the partitioned program against the model -------------===//
//
// SPDX-License-Identifier: Apache-2.0
//
// The error of a tensor is |a - b| / max(|b|, 1e-6 |all|) with Euclidean norms,
// b the judge's tensor and `all` everything of its class together: a gradient
// that is zero up to rounding is measured by the others.
//
// Parameters after Adam in f32 are compared element by element, in units of the
// learning rate: Adam divides by the gradient's size, so that where a gradient
// happens to vanish its rounding is as large as any step. What the difference
// of the two gradients explains is not counted again; see AdamComparison.
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
  /// Parameters are compared by AdamComparison.
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

/// Adam's update of an element is u = m / sqrt(v), with m and v averages of its
/// gradients and their squares, at first plain ones. Gradients that differ by
/// at most d change m and sqrt(v) by at most d, and so u by about 2 d /
/// sqrt(v), never by more than 2. The rest of a difference is the update's own.
class AdamComparison {
public:
  /// The gradients of the next step. d is the largest difference in a tensor so
  /// far: programs that round differently may agree in an element by chance.
  void addGradients(const Values &ours, const Values &judged) {
    ++steps;
    for (const auto &[name, values] : judged) {
      const auto found = ours.find(name);
      if (found == ours.end() || found->second.size() != values.size())
        continue; // compareRelative() tells
      Tensor &tensor = tensors[name];
      tensor.squares.resize(values.size());
      tensor.explained.resize(values.size());
      for (double difference : subtract(found->second, values))
        tensor.difference = std::max(tensor.difference, std::abs(difference));
      for (size_t i = 0; i < values.size(); ++i) {
        tensor.squares[i] += values[i] * values[i];
        const double size = std::sqrt(tensor.squares[i] / double(steps));
        if (tensor.difference > 0)
          tensor.explained[i] += 2 * std::min(1.0, tensor.difference / size);
      }
    }
  }

  /// In units of the learning rate per step, beyond what gradients explain.
  void compare(const Values &ours, const Values &judged, double learningRate,
               Worst &worst) const {
    for (const auto &[name, values] : judged) {
      const auto found = ours.find(name);
      const std::vector<double> differences = subtract(
          found == ours.end() ? std::vector<double>() : found->second, values);
      const auto tensor = tensors.find(name);
      double largest = 0;
      for (size_t i = 0; i < differences.size(); ++i) {
        // Without a rate nothing moves, and 0 / 0 is no difference.
        double error =
            differences[i] == 0 ? 0.0 : std::abs(differences[i]) / learningRate;
        if (tensor != tensors.end() && differences.size() == values.size())
          error -= tensor->second.explained[i];
        error /= double(steps);
        largest = std::isnan(error) ? error : std::max(largest, error);
      }
      worst.add(largest, name);
    }
  }

private:
  struct Tensor {
    /// Sums over the steps, by element.
    std::vector<double> squares, explained;
    double difference = 0;
  };
  std::map<std::string, Tensor> tensors;
  uint64_t steps = 0;
};

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
  AdamComparison adam;
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
    adam.addGradients(t->gradients, b->gradients);
    if (bounds.byLearningRate)
      adam.compare(a->parameters, b->parameters, rule->learningRate,
                   parameters);
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
