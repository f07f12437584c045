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
#include "pprt/RankTimes.h"
#include "pprt/Status.h"

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#pragma GCC visibility push(default)
namespace pprt::host {

/// Results of a model on data that it does not train on: the means over some
/// batches.
struct EvaluationReport {
  double loss = 0, ms = 0;
  /// As those of a step.
  std::vector<std::pair<std::string, std::vector<double>>> metrics = {};
};

struct StepReport {
  /// Number of steps so far, including this one: the first is 1.
  uint64_t step = 0;
  double loss = 0, ms = 0;
  /// Results of the model beyond the loss, by name, row-major.
  std::vector<std::pair<std::string, std::vector<double>>> metrics = {};
  /// Time without a step under way because its batch was not ready.
  double dataMs = 0;
  /// Tokens or samples per second, with that time; 0: unknown.
  double itemsPerSecond = 0;
  /// Memory of process 0 in the machine's RAM; 0: unknown.
  uint64_t residentBytes = 0;
  /// After the step, if it was evaluated then.
  std::optional<EvaluationReport> evaluation = {};
};

/// A metric of one element.
std::optional<double> findMetric(const StepReport &step, std::string_view name);

/// All numbers of a step by name: loss, metrics (`NAME/0`, `NAME/1`, ... if
/// they have several elements; behind `eval/` those of an evaluation), and what
/// printStep() has beside them.
std::vector<std::pair<std::string, double>> scalarsOf(const StepReport &step);

/// Bytes of one rank: predicted, and the peak of a run.
struct MemoryReport {
  uint32_t rank = 0;
  MemoryUse predicted;
  std::optional<uint64_t> measuredPeak;
};

/// Communication of one rank in a step.
struct CommunicationReport {
  uint32_t rank = 0;
  std::vector<Traffic> traffic;
};

/// How ranks spend the seconds of a step.
struct TimesReport {
  /// Of the mean of all ranks.
  RankTimes predicted;
  std::optional<RankTimes> measured;
  /// By rank; without measured ones if nothing was measured.
  std::vector<RankTimes> predictedOf, measuredOf;
};

/// The common data of all ranks of one program.
struct StageReport {
  std::string name;
  std::vector<uint32_t> ranks;
  std::vector<std::string> parameters;
  /// Predicted time of one step.
  double computeMs = 0;
  /// Actions in order: `0F0 0F1 0B0 ...`.
  std::string schedule;
  /// The most micro-batches whose residuals a rank holds at once.
  unsigned setsInFlight = 0;
};

/// Largest errors of each kind of value, relative to the largest value of its
/// class; nothing for kinds that were not compared.
struct VerifyReport {
  bool ok = false;
  std::string errorClass;
  /// Reference of the comparison: "interpreter" or "one device".
  std::string judge;
  std::optional<double> loss, gradients, parameters, states, metrics;
  /// Whether that of parameters is the part that the gradients' rounding does
  /// not explain, in units of the step's learning rate.
  bool byLearningRate = false;
};

/// Bytes that checkpoints take.
struct CheckpointNeeds {
  uint64_t bytes = 0;       ///< of one, on disk
  uint64_t largestCopy = 0; ///< in the host's memory, of one rank
};

struct CheckpointReport {
  uint64_t step = 0; ///< steps done
  double waitMs = 0; ///< time that the next step waited
  /// Time until it was whole; nothing if it never was.
  std::optional<double> wholeMs = {};
  int64_t begin = 0; ///< nanoseconds of the monotonic clock; not reported
};

struct Report {
  uint32_t world = 1;
  /// 0: by the number of cores, which only a run knows; or a GPU, without any.
  uint32_t threadsPerRank = 0;
  /// One of deviceNames().
  std::string device = "cpu";
  std::optional<bool> isOversubscribed;
  std::vector<StepReport> steps;
  /// Without any step.
  std::optional<EvaluationReport> evaluation;
  std::vector<CheckpointReport> checkpoints;
  std::optional<CheckpointNeeds> checkpointNeeds; ///< if there are any
  /// Tokens or samples per step.
  uint64_t itemsPerStep = 0;
  /// From a program to a session that can step: parameters are made or read.
  double startMs = 0;
  double compileMs = 0, passesMs = 0, kernelsMs = 0;
  std::vector<MemoryReport> memory;
  /// Memory of devices that report it.
  std::vector<DeviceMemory> deviceMemory;
  /// Unfused products on process 0's devices.
  std::vector<UnfusedProduct> unfusedProducts;
  std::vector<CommunicationReport> communication;
  TimesReport times;
  /// Largest error of times of one device against those of another, in seconds.
  std::optional<double> clockError;
  double predictedStepMs = 0;
  /// The largest part first; they add up to the predicted step.
  std::vector<pprt::PathPart> criticalPath;
  /// Forward ops at which stages 1, 2, ... begin, as the plan counts them.
  std::vector<uint64_t> cuts;
  std::vector<StageReport> stages;
  std::optional<VerifyReport> verify;
};

/// Returns the value below which a share `q` of `values` lies, interpolated
/// between neighbours; 0 without values.
double quantile(std::vector<double> values, double q);

/// Returns the JSON text of a step, on one line.
std::string printStep(const StepReport &step);
/// Reads what printStep() wrote. Fails (badParameters) on other text.
Expected<StepReport> parseStep(const std::string &line);

/// Adds an evaluation to what printStep() wrote. Fails (badParameters) on other
/// text.
Expected<std::string> addEvaluation(const std::string &line,
                                    const EvaluationReport &evaluation);
/// The same of an evaluation after `step` steps, none of which it has.
std::string printEvaluation(uint64_t step, const EvaluationReport &evaluation);

/// Returns the JSON text. Median, 95th percentile and items per second are over
/// all steps but the first, which also warms up, if there is more than one.
std::string printReport(const Report &report);

Status writeReport(const std::string &path, const Report &report);

} // namespace pprt::host
#pragma GCC visibility pop

#endif // PPRT_HOST_REPORT_H
