//===- Report.h - What a run measured ---------------------------*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0
//
// The machine-readable result of a run. The keys of the JSON text are stable
// within a version.
//
//===----------------------------------------------------------------------===//
#ifndef PPRT_HOST_REPORT_H
#define PPRT_HOST_REPORT_H

#include "pprt/Communication.h"
#include "pprt/DeviceMemory.h"
#include "pprt/Execution.h"
#include "pprt/MemoryUse.h"
#include "pprt/Replay.h"
#include "pprt/Status.h"

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#pragma GCC visibility push(default)
namespace pprt::host {

struct StepReport {
  /// How many have been made, with this one: the first is 1.
  uint64_t step = 0;
  double loss = 0, ms = 0;
  /// Results of the model beyond the loss, by name, row-major.
  std::vector<std::pair<std::string, std::vector<double>>> metrics = {};
  /// How long no step was under way because the batch was not there.
  double dataMs = 0;
};

/// Bytes of one rank: what was predicted, and the peak of a run.
struct MemoryReport {
  uint32_t rank = 0;
  MemoryUse predicted;
  std::optional<uint64_t> measuredPeak;
};

/// What one rank sends and receives in a step.
struct CommunicationReport {
  uint32_t rank = 0;
  std::vector<Traffic> traffic;
};

/// Idle shares of the compute queues.
struct BubbleReport {
  double predicted = 0;
  std::optional<double> measured;
};

/// Time in which messages travel, the mean of all ranks.
struct TravelReport {
  TravelTime predicted;
  std::optional<TravelTime> measured;
};

/// What all ranks of one program do.
struct StageReport {
  std::string name;
  std::vector<uint32_t> ranks;
  std::vector<std::string> parameters;
  /// Predicted, of one step.
  double computeMs = 0;
  /// Actions in their order: `0F0 0F1 0B0 ...`.
  std::string schedule;
};

/// Largest errors of each kind of value, relative to the largest value of its
/// class; nothing where none was compared.
struct VerifyReport {
  bool ok = false;
  std::string errorClass;
  /// What was compared with: "interpreter" or "one device".
  std::string judge;
  std::optional<double> loss, gradients, parameters, states, metrics;
  /// Whether that of parameters is what the gradients' rounding does not
  /// explain, in units of the step's learning rate.
  bool byLearningRate = false;
};

struct Report {
  uint32_t world = 1;
  /// 0: what the cores give, which only a run knows, or of a GPU, without any.
  uint32_t threadsPerRank = 0;
  /// One of deviceNames().
  std::string device = "cpu";
  std::optional<bool> isOversubscribed;
  std::vector<StepReport> steps;
  /// Tokens or samples per step.
  uint64_t itemsPerStep = 0;
  double compileMs = 0, passesMs = 0, kernelsMs = 0;
  std::vector<MemoryReport> memory;
  /// Of devices that tell it.
  std::vector<DeviceMemory> deviceMemory;
  /// Of process 0's devices.
  std::vector<UnfusedProduct> unfusedProducts;
  std::vector<CommunicationReport> communication;
  BubbleReport bubble;
  TravelReport travel;
  /// The most by which times of one device may be wrong against those of
  /// another one, in seconds.
  std::optional<double> clockError;
  double predictedStepMs = 0;
  /// Where stages 1, 2, ... begin, as the plan counts.
  std::vector<uint64_t> cuts;
  std::vector<StageReport> stages;
  std::optional<VerifyReport> verify;
};

/// The value below which a share `q` of `values` lies, interpolated between
/// neighbours; 0 without values.
double quantile(std::vector<double> values, double q);

/// The JSON text of a step, on one line.
std::string printStep(const StepReport &step);

/// The JSON text. Median, 95th percentile and items per second are taken over
/// all steps but the first, which also warms up, if there is more than one.
std::string printReport(const Report &report);

Status writeReport(const std::string &path, const Report &report);

} // namespace pprt::host
#pragma GCC visibility pop

#endif // PPRT_HOST_REPORT_H
