//===- Compare.h - how far two sets of tensors are apart --------*- C++ -*-===//
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
#ifndef PP_RUN_SUPPORT_COMPARE_H
#define PP_RUN_SUPPORT_COMPARE_H

#include <cstdint>
#include <map>
#include <string>
#include <vector>

namespace pp::run {

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

/// The relative errors of all that `judged` holds. A tensor that `ours` lacks,
/// or has in another size, is infinitely wrong.
void compareRelative(const Values &ours, const Values &judged, Worst &worst);

/// Adam's update of an element is u = m / sqrt(v), with m and v averages of its
/// gradients and their squares, at first plain ones. A gradient that differs by
/// d changes m and sqrt(v) by at most d, and so u by about 2 d / sqrt(v), never
/// by more than 2. The rest of a difference is the update's own.
class AdamComparison {
public:
  explicit AdamComparison(double learningRate) : learningRate(learningRate) {}

  /// The next step's gradients. A tensor's d is its largest difference:
  /// programs that round differently may agree in an element by chance.
  void addGradients(const Values &ours, const Values &judged);

  /// Parameters after that step, if both took it from equal parameters and
  /// states: the largest difference of an element in units of the learning
  /// rate, all of it, and what the gradients do not explain.
  void compare(const Values &ours, const Values &judged, Worst &whole,
               Worst &unexplained) const;

private:
  struct Tensor {
    std::vector<double> squares; ///< summed over the steps, by element
    double difference = 0;
  };
  double explained(const std::string &name, size_t element) const;

  const double learningRate;
  std::map<std::string, Tensor> tensors;
  uint64_t steps = 0;
};

/// The largest errors that are accepted; that of the loss holds for metrics,
/// that of gradients for states.
struct Bounds {
  double loss, gradients, parameters;
  /// Parameters are compared by AdamComparison.
  bool byLearningRate = false;
};

/// Compares step after step, each taken from equal parameters and states.
class Comparison {
public:
  Comparison(const Bounds &bounds, double learningRate)
      : bounds(bounds), adam(learningRate) {}

  /// `name` is the step's; `twin` tells the gradients of `ours`.
  void add(const std::string &name, const StepValues &ours,
           const StepValues &twin, const StepValues &judged);
  bool isWithinBounds() const;

  const Bounds bounds;
  Worst loss, metrics, gradients, parameters, states;
  /// By the learning rate, with what the gradients' differences explain.
  Worst wholeUpdates;

private:
  AdamComparison adam;
};

} // namespace pp::run

#endif // PP_RUN_SUPPORT_COMPARE_H
