//===- Compare.cpp - how far two sets of tensors are apart ----------------===//
//
// SPDX-License-Identifier: Apache-2.0
//
//===----------------------------------------------------------------------===//
#include "pprt/host/Compare.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <vector>

using namespace pprt::host;

namespace {

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

/// Returns the differences of the two; NaN if `tensors` has no tensor of that
/// name and size.
std::vector<double> subtract(const Values &tensors, const std::string &name,
                             const std::vector<double> &values) {
  const auto found = tensors.find(name);
  if (found == tensors.end() || found->second.size() != values.size())
    return {std::numeric_limits<double>::quiet_NaN()};
  std::vector<double> result(values.size());
  for (size_t i = 0; i < values.size(); ++i)
    result[i] = found->second[i] - values[i];
  return result;
}

} // namespace

std::string pprt::host::findNonFinite(const StepValues &values) {
  if (!std::isfinite(values.loss))
    return "loss";
  for (const auto &[what, tensors] :
       {std::pair("gradient of", &values.gradients),
        std::pair("parameter", &values.parameters),
        std::pair("state", &values.states),
        std::pair("metric", &values.metrics)})
    for (const auto &[name, elements] : *tensors)
      for (double element : elements)
        if (!std::isfinite(element))
          return std::string(what) + " '" + name + "'";
  return "";
}

void Worst::add(double found, const std::string &name) {
  if (std::isnan(found))
    found = std::numeric_limits<double>::infinity();
  if (found < error || (found == error && tensor != "-"))
    return;
  error = found;
  tensor = name;
}

void pprt::host::compareRelative(const Values &ours, const Values &judged,
                                 Worst &worst, const AdamComparison *adam) {
  // For f64, whose bound is 1e-10, some 50 roundings of `all`.
  const double floor =
      std::max(1e-4 * norm(judged), std::numeric_limits<double>::min());
  for (const auto &[name, values] : judged) {
    std::vector<double> differences = subtract(ours, name, values);
    if (adam)
      adam->reduce(name, differences);
    worst.add(norm(differences) / std::max(norm(values), floor), name);
  }
}

void AdamComparison::addGradients(const Values &ours, const Values &judged,
                                  double rate) {
  ++steps;
  learningRate = rate;
  for (const auto &[name, values] : judged) {
    Tensor &tensor = tensors[name];
    tensor.squares.resize(values.size());
    for (size_t i = 0; i < values.size(); ++i)
      tensor.squares[i] += values[i] * values[i];
    tensor.difference = 0;
    for (double difference : subtract(ours, name, values))
      tensor.difference = std::max(tensor.difference, std::abs(difference));
  }
}

double AdamComparison::explained(const std::string &name,
                                 size_t element) const {
  const auto tensor = tensors.find(name);
  if (tensor == tensors.end() || tensor->second.difference == 0)
    return 0;
  const double size =
      std::sqrt(tensor->second.squares.at(element) / double(steps));
  return 2 * std::min(1.0, tensor->second.difference / (size + adam.eps));
}

void AdamComparison::reduce(const std::string &name,
                            std::vector<double> &differences) const {
  for (size_t i = 0; i < differences.size(); ++i) {
    const double size = std::abs(differences[i]);
    // A NaN stays a NaN.
    differences[i] =
        size > 0 ? std::max(0.0, size - learningRate * explained(name, i))
                 : size;
  }
}

void AdamComparison::compare(const Values &ours, const Values &judged,
                             Worst &whole, Worst &unexplained) const {
  for (const auto &[name, values] : judged) {
    const std::vector<double> differences = subtract(ours, name, values);
    for (size_t i = 0; i < differences.size(); ++i) {
      const double size = std::abs(differences[i]);
      // Without a learning rate nothing moves, and 0 / 0 is no difference.
      whole.add(size == 0 ? 0 : size / learningRate, name);
      const double explains = learningRate * explained(name, i) +
                              adam.spacing * std::abs(values[i]);
      // A NaN stays a NaN.
      unexplained.add(size <= explains ? 0 : (size - explains) / learningRate,
                      name);
    }
  }
}

/// A kind of state, such as exp_avg of all parameters, is a class of tensors.
static std::map<std::string, Values> stateKinds(const Values &states) {
  std::map<std::string, Values> kinds;
  for (const auto &[name, values] : states)
    kinds[name.substr(0, name.find('.'))][name] = values;
  return kinds;
}

void Comparison::add(const std::string &name, const StepValues &ours,
                     const StepValues &twin, const StepValues &judged,
                     double learningRate) {
  compareRelative({{name, {ours.loss}}}, {{name, {judged.loss}}}, loss);
  // Each metric is a class of its own.
  for (const auto &[metric, values] : judged.metrics)
    compareRelative(ours.metrics, {{metric, values}}, metrics);
  compareRelative(twin.gradients, judged.gradients, gradients);
  adam.addGradients(twin.gradients, judged.gradients, learningRate);
  if (bounds.byLearningRate)
    adam.compare(ours.parameters, judged.parameters, wholeUpdates, parameters);
  else
    compareRelative(ours.parameters, judged.parameters, parameters, &adam);
  if (!bounds.byLearningRate && learningRate > 0)
    compareRelative(ours.parameters, judged.parameters, wholeUpdates);
  for (const auto &[kind, tensors] : stateKinds(judged.states))
    compareRelative(ours.states, tensors, states);
}

bool Comparison::isWithinBounds() const {
  return loss.error <= bounds.loss && metrics.error <= bounds.loss &&
         gradients.error <= bounds.gradients &&
         parameters.error <= bounds.parameters &&
         states.error <= bounds.states();
}

void Bounded::add(double found, double allowed, const std::string &name) {
  if (std::isnan(found))
    found = std::numeric_limits<double>::infinity();
  if (tensor != "-" && found * bound <= error * allowed)
    return;
  error = found;
  bound = allowed;
  tensor = name;
}

LowPrecisionComparison::LowPrecisionComparison(double least,
                                               std::optional<Adam> adam,
                                               double scale, double most)
    : least(least), scale(scale), most(most) {
  if (!adam)
    return;
  ourAdam.emplace(*adam);
  yardsticksAdam.emplace(*adam);
}

static double squareOf(const std::vector<double> &values) {
  return norm(values) * norm(values);
}

void LowPrecisionComparison::compare(const Values &ours,
                                     const Values &yardstick,
                                     const Values &judged,
                                     const Values *rounded, Class &sums,
                                     bool isUpdate) const {
  for (const auto &[name, values] : judged) {
    std::vector<double> our = subtract(ours, name, values),
                        yardsticks = subtract(yardstick, name, values);
    if (isUpdate && ourAdam) {
      ourAdam->reduce(name, our);
      yardsticksAdam->reduce(name, yardsticks);
    }
    Sums &tensor = sums[name];
    tensor.ours += squareOf(our);
    tensor.yardstick += squareOf(yardsticks);
    tensor.judged += squareOf(values);
    if (rounded)
      tensor.rounded = tensor.rounded.value_or(0) +
                       squareOf(subtract(*rounded, name, values));
  }
}

void LowPrecisionComparison::add(const StepValues &ours, const StepValues &twin,
                                 const StepValues &yardstick,
                                 const StepValues &judged, double learningRate,
                                 const StepValues *rounded) {
  if (ourAdam) {
    ourAdam->addGradients(twin.gradients, judged.gradients, learningRate);
    yardsticksAdam->addGradients(yardstick.gradients, judged.gradients,
                                 learningRate);
  }
  auto part = [&](Values StepValues::*its) {
    return rounded ? &(rounded->*its) : nullptr;
  };
  const Values loss{{"loss", {rounded ? rounded->loss : 0}}};
  compare({{"loss", {ours.loss}}}, {{"loss", {yardstick.loss}}},
          {{"loss", {judged.loss}}}, rounded ? &loss : nullptr, losses);
  compare(ours.metrics, yardstick.metrics, judged.metrics,
          part(&StepValues::metrics), metricSums);
  compare(twin.gradients, yardstick.gradients, judged.gradients,
          part(&StepValues::gradients), gradientSums);
  compare(ours.parameters, yardstick.parameters, judged.parameters,
          part(&StepValues::parameters), parameterSums, /*isUpdate=*/true);
  if (ourAdam)
    compare(ours.parameters, yardstick.parameters, judged.parameters,
            /*rounded=*/nullptr, wholeSums);
  for (const auto &[kind, tensors] : stateKinds(judged.states))
    compare(ours.states, yardstick.states, tensors, part(&StepValues::states),
            stateSums[kind]);
}

void LowPrecisionComparison::finish(const Class &sums, Bounded &worst,
                                    double scaleOfLeast) const {
  double all = 0;
  for (const auto &[name, tensor] : sums)
    all += tensor.judged;
  const double floor =
      std::max(1e-6 * std::sqrt(all), std::numeric_limits<double>::min());
  auto relative = [&](double square, const Sums &tensor) {
    return std::sqrt(square) / std::max(std::sqrt(tensor.judged), floor);
  };
  auto ownOf = [&](const Sums &tensor) {
    const double error = scale * relative(tensor.yardstick, tensor);
    return tensor.rounded
               ? std::min(error, kRoundings * relative(*tensor.rounded, tensor))
               : error;
  };
  std::vector<double> usual;
  for (const auto &[name, tensor] : sums)
    if (const double error = ownOf(tensor); std::isfinite(error))
      usual.push_back(error);
  std::sort(usual.begin(), usual.end());
  const double granted =
      std::max(scaleOfLeast * least,
               usual.empty() ? 0 : usual[(usual.size() - 1) * 3 / 4]);
  for (const auto &[name, tensor] : sums) {
    // A yardstick that is NaN measures nothing.
    const double own = ownOf(tensor);
    worst.add(relative(tensor.ours, tensor),
              std::min(most, 2 * (std::isfinite(own) ? std::max(own, granted)
                                                     : granted)),
              name);
  }
}

void LowPrecisionComparison::finish() {
  finish(losses, loss);
  finish(metricSums, metrics);
  finish(gradientSums, gradients);
  finish(parameterSums, parameters);
  Bounded whole;
  finish(wholeSums, whole);
  wholeUpdates = {whole.error, whole.tensor};
  for (const auto &[kind, sums] : stateSums)
    finish(sums, states, kStatesOverGradients);
}

double LowPrecisionComparison::loosestBound() const {
  return std::max({loss.bound, metrics.bound, gradients.bound, parameters.bound,
                   states.bound});
}

bool LowPrecisionComparison::isWithinBounds() const {
  return loss.isWithinBound() && metrics.isWithinBound() &&
         gradients.isWithinBound() && parameters.isWithinBound() &&
         states.isWithinBound();
}
