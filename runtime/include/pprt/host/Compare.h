//===- Compare.h - how far two sets of tensors are apart --------*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0
//
// The error of a tensor is |a - b| / max(|b|, 1e-4 |all|) with Euclidean norms,
// b the judge's tensor and `all` everything of its class together: a gradient
// that is zero up to rounding is measured by the others, for it is a sum of
// terms of their size.
//
// Adam divides by the gradient's size, so that where a gradient happens to
// vanish its rounding is as large as any step. What the difference of the two
// gradients explains is not counted again in parameters; see AdamComparison. In
// f32 these are compared element by element, in units of the learning rate.
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

/// What a training step tells.
struct StepValues {
  double loss = 0;
  /// By the parameter's name; empty if the step does not tell them.
  Values gradients;
  /// After the step.
  Values parameters, states;
  /// Results beyond loss and gradients.
  Values metrics = {};
};

/// The largest error of a class of tensors, and where it was found.
struct Worst {
  double error = 0;
  std::string tensor = "-";

  /// What is not a number counts as the largest.
  void add(double found, const std::string &name);
};

/// The first value of a step that is not finite, as `gradient of "w"`; empty if
/// all are.
std::string findNonFinite(const StepValues &values);

struct Adam {
  double eps = 0; ///< what keeps it from dividing by zero
  /// The largest distance of neighbouring values of a parameter's type,
  /// relative to them: two programs that round differently may store either.
  double spacing = 0;
};

/// Adam's update of an element is u = m / (sqrt(v) + eps), with m and v
/// averages of its gradients and their squares, at first plain ones. A gradient
/// that differs by d changes m and sqrt(v) by at most d, and so u by about 2 d
/// / (sqrt(v) + eps), never by more than 2. The rest of a difference is the
/// update's own.
class AdamComparison {
public:
  explicit AdamComparison(Adam adam) : adam(adam) {}

  /// The next step's gradients, and its learning rate: a schedule changes it. A
  /// tensor's d is its largest difference: programs that round differently may
  /// agree in an element by chance.
  void addGradients(const Values &ours, const Values &judged,
                    double learningRate);

  /// Parameters after that step, if both took it from equal parameters and
  /// states: the largest difference of an element in units of the step's
  /// learning rate, all of it, and what neither the gradients nor the
  /// parameter's own rounding explain.
  void compare(const Values &ours, const Values &judged, Worst &whole,
               Worst &unexplained) const;

  /// Takes from the differences of a tensor's elements what the gradients
  /// explain, and their signs.
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
  double learningRate = 0; ///< of the last of them
};

/// The relative errors of all that `judged` holds, less what `adam` explains. A
/// tensor that `ours` lacks, or has in another size, is infinitely wrong.
void compareRelative(const Values &ours, const Values &judged, Worst &worst,
                     const AdamComparison *adam = nullptr);

/// A state may average squares of gradients (Adam), which are relatively off by
/// twice what gradients are.
constexpr double kStatesOverGradients = 2;

/// The largest errors that are accepted; that of the loss holds for metrics.
struct Bounds {
  double loss, gradients, parameters;
  /// That of parameters is in units of the learning rate, not relative.
  bool byLearningRate = false;

  double states() const { return kStatesOverGradients * gradients; }
};

/// Compares step after step, each taken from equal parameters and states.
class Comparison {
public:
  Comparison(const Bounds &bounds, Adam adam) : bounds(bounds), adam(adam) {}

  /// `name` is the step's; `twin` tells the gradients of `ours`. The learning
  /// rate of another optimizer than Adam is 0: none of this explains it.
  void add(const std::string &name, const StepValues &ours,
           const StepValues &twin, const StepValues &judged,
           double learningRate);
  bool isWithinBounds() const;

  const Bounds bounds;
  Worst loss, metrics, gradients, parameters, states;
  /// By the learning rate, with what the gradients' differences explain.
  Worst wholeUpdates;

private:
  AdamComparison adam;
};

/// An error beside what it may be.
struct Bounded {
  double error = 0, bound = 0;
  std::string tensor = "-";

  bool isWithinBound() const { return error <= bound; }
  /// Keeps the error that is nearest to its bound, or farthest beyond.
  void add(double found, double allowed, const std::string &name);
};

/// Compares steps of low precision with those of f64. A tensor's error, over
/// all steps together, may be twice that of unpartitioned steps of the same
/// precision, the yardstick: these add in another order, and so round
/// differently. A tensor on which the yardstick happens to be right may have
/// twice the error of its class's upper quartile, or twice `least`, of states
/// kStatesOverGradients as much. What Adam makes of the gradients' errors is
/// left out on both sides (see AdamComparison).
///
/// The yardstick is compiled as the program is, and may be as wrong. Where it
/// is known what rounding alone does, after every op of an interpreter, it
/// counts up to kRoundings times that.
class LowPrecisionComparison {
public:
  /// Another optimizer has no `adam`. A yardstick that rounds less has a
  /// `scale` of how much less: errors grow in proportion. No bound is above
  /// `most`.
  LowPrecisionComparison(double least, std::optional<Adam> adam,
                         double scale = 1,
                         double most = std::numeric_limits<double>::infinity());

  /// Where an op rounds once, a kernel rounds at every addend of a sum, and
  /// approximates functions.
  static constexpr double kRoundings = 1000;

  /// As Comparison::add; `rounded` is null if it is not known.
  void add(const StepValues &ours, const StepValues &twin,
           const StepValues &yardstick, const StepValues &judged,
           double learningRate, const StepValues *rounded = nullptr);
  /// What the steps so far amount to.
  void finish();
  bool isWithinBounds() const;
  /// Of those that judge the worst of each kind.
  double loosestBound() const;

  Bounded loss, metrics, gradients, parameters, states;

private:
  /// Sums of squares over elements and steps: of the errors, and of the values.
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
  Class losses, metricSums, gradientSums, parameterSums;
  std::map<std::string, Class> stateSums; ///< by kind
};

} // namespace pprt::host
#pragma GCC visibility pop

#endif // PPRT_HOST_COMPARE_H
