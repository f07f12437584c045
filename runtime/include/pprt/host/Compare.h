//===- Compare.h - how far two sets of tensors are apart --------*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0
//
// The error of a tensor is |a - b| / max(|b|, 1e-4 |all|) with Euclidean norms,
// b the judge's tensor and `all` all tensors of its class together: a gradient
// that is zero up to rounding is measured by the others, for it is a sum of
// terms of their size.
//
// Adam divides by the gradient's size, so where a gradient happens to vanish
// its rounding error is as large as any step. Errors of parameters do not count
// again what the difference of the gradients explains; see AdamComparison. In
// f32 they are compared element by element, in units of the learning rate.
//
//===----------------------------------------------------------------------===//
#ifndef PPRT_HOST_COMPARE_H
#define PPRT_HOST_COMPARE_H

#include <cstdint>
#include <limits>
#include <map>
#include <optional>
#include <string>
#include <vector>

#pragma GCC visibility push(default)
namespace pprt::host {

/// Tensors by name, as doubles, row-major.
using Values = std::map<std::string, std::vector<double>>;

/// Results of a training step.
struct StepValues {
  double loss = 0;
  /// By the parameter's name; empty if the step does not return them.
  Values gradients;
  /// Values after the step.
  Values parameters, states;
  /// Results beyond loss and gradients.
  Values metrics = {};
  /// What a program that evaluates returns for each sample.
  Values predictions = {};
};

/// The largest error of a class of tensors, and where it was found.
struct Worst {
  double error = 0;
  std::string tensor = "-";

  /// Treats a NaN as the largest.
  void add(double found, const std::string &name);
};

/// Describes the first non-finite value of a step, as `gradient of "w"`; empty
/// if all are finite.
std::string findNonFinite(const StepValues &values);

struct Adam {
  double eps = 0; ///< keeps it from dividing by zero
  /// Largest relative distance of neighbouring values of a parameter's type:
  /// two programs that round differently may store either.
  double spacing = 0;
};

/// Adam's update of an element is u = m / (sqrt(v) + eps), with m and v
/// averages of its gradients and their squares, plain averages at first. A
/// gradient that differs by d changes m and sqrt(v) by at most d, and so u by
/// about 2 d / (sqrt(v) + eps), never by more than 2. The rest of a difference
/// is the update's own.
class AdamComparison {
public:
  explicit AdamComparison(Adam adam) : adam(adam) {}

  /// Adds the next step's gradients and its learning rate, which a schedule
  /// changes. A tensor's d is its largest difference: programs that round
  /// differently may agree in an element by chance.
  void addGradients(const Values &ours, const Values &judged,
                    double learningRate);

  /// Compares parameters after that step, if both took it from equal parameters
  /// and states: the largest difference of an element in units of the step's
  /// learning rate, as a whole, and without the part that the gradients and the
  /// parameter's own rounding explain.
  void compare(const Values &ours, const Values &judged, Worst &whole,
               Worst &unexplained) const;

  /// Subtracts the part that the gradients explain from the differences of a
  /// tensor's elements, and drops their signs.
  void reduce(const std::string &name, std::vector<double> &differences) const;

private:
  struct Tensor {
    std::vector<double> squares; ///< summed over the steps, by element
    double difference = 0;
  };
  double explained(const std::string &name, size_t element) const;

  const Adam adam;
  std::map<std::string, Tensor> tensors;
  uint64_t steps = 0;
  double learningRate = 0; ///< of the last step
};

/// The relative errors of all that `judged` holds, less what `adam` explains. A
/// tensor that `ours` lacks, or has in another size, is infinitely wrong.
void compareRelative(const Values &ours, const Values &judged, Worst &worst,
                     const AdamComparison *adam = nullptr);

/// A state may average squares of gradients (Adam), whose relative errors are
/// twice those of gradients.
constexpr double kStatesOverGradients = 2;

/// The largest accepted errors; that of the loss also holds for metrics.
struct Bounds {
  double loss, gradients, parameters;
  /// Whether that of parameters is in units of the learning rate, not relative.
  bool byLearningRate = false;

  double states() const { return kStatesOverGradients * gradients; }
};

/// Compares step after step, each taken from equal parameters and states.
class Comparison {
public:
  Comparison(const Bounds &bounds, Adam adam) : bounds(bounds), adam(adam) {}

  /// `name` is the step's; `twin` returns the gradients of `ours`. The learning
  /// rate is 0 for optimizers other than Adam: gradients then explain nothing.
  void add(const std::string &name, const StepValues &ours,
           const StepValues &twin, const StepValues &judged,
           double learningRate);
  bool isWithinBounds() const;

  const Bounds bounds;
  Worst loss, metrics, gradients, parameters, states;
  /// After Adam: as those of parameters, with what the gradients' differences
  /// explain.
  Worst wholeUpdates;

private:
  AdamComparison adam;
};

/// An error and its bound.
struct Bounded {
  double error = 0, bound = 0;
  std::string tensor = "-";

  bool isWithinBound() const { return error <= bound; }
  /// Keeps the error that is nearest to its bound, or farthest beyond.
  void add(double found, double allowed, const std::string &name);
};

/// Compares steps of low precision with those of f64. A tensor's error, over
/// all steps together, may be twice that of the yardstick: unpartitioned steps
/// of the same precision, which add in another order and so round differently.
/// A tensor on which the yardstick happens to be right may have twice the error
/// of its class's upper quartile, or twice `least`, for states
/// kStatesOverGradients times as much. Both sides leave out the part of an
/// error that Adam makes of the gradients' errors (see AdamComparison).
///
/// The yardstick is compiled as the program is, and may be as wrong. If the
/// errors of rounding alone are known, from an interpreter that rounds after
/// every op, its error counts only up to kRoundings times those.
class LowPrecisionComparison {
public:
  /// `adam` is absent for other optimizers. A yardstick that rounds less has a
  /// `scale` of how much less: errors grow in proportion. No bound is above
  /// `most`.
  LowPrecisionComparison(double least, std::optional<Adam> adam,
                         double scale = 1,
                         double most = std::numeric_limits<double>::infinity());

  /// An op rounds once, but a kernel rounds at every addend of a sum, and
  /// approximates functions.
  static constexpr double kRoundings = 1000;

  /// Like Comparison::add; `rounded` is null if it is not known.
  void add(const StepValues &ours, const StepValues &twin,
           const StepValues &yardstick, const StepValues &judged,
           double learningRate, const StepValues *rounded = nullptr);
  /// Computes the errors and bounds of the steps so far.
  void finish();
  bool isWithinBounds() const;
  /// Returns the loosest of the bounds that judge the worst of each kind.
  double loosestBound() const;

  Bounded loss, metrics, gradients, parameters, states;
  /// After Adam: as parameters, with what the gradients' differences explain.
  Worst wholeUpdates;

private:
  /// Sums of squares of the errors and of the values, over elements and steps.
  struct Sums {
    double ours = 0, yardstick = 0, judged = 0;
    std::optional<double> rounded = std::nullopt;
  };
  using Class = std::map<std::string, Sums>;

  void compare(const Values &ours, const Values &yardstick,
               const Values &judged, const Values *rounded, Class &sums,
               bool isUpdate = false) const;
  void finish(const Class &sums, Bounded &worst, double scaleOfLeast = 1) const;

  const double least, scale, most;
  std::optional<AdamComparison> ourAdam, yardsticksAdam;
  Class losses, metricSums, gradientSums, parameterSums, wholeSums;
  std::map<std::string, Class> stateSums; ///< by kind
};

} // namespace pprt::host
#pragma GCC visibility pop

#endif // PPRT_HOST_COMPARE_H
