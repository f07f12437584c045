//===- Report.h - What a run measured ---------------------------*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0
//
// The machine-readable result of a run. The keys of the JSON text are stable
// within a version.
//
//===----------------------------------------------------------------------===//
#ifndef PP_RUN_SUPPORT_REPORT_H
#define PP_RUN_SUPPORT_REPORT_H

#include "pprt/Status.h"

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

namespace pp::run {

struct StepReport {
  uint64_t step = 0;
  double loss = 0, ms = 0;
};

/// Bytes of one rank. The columns after the peaks are predicted, at the peak.
struct MemoryReport {
  uint32_t rank = 0;
  uint64_t predictedPeak = 0, measuredPeak = 0;
  uint64_t parameters = 0, gradients = 0, optimizer = 0, activations = 0,
           workspace = 0, communication = 0;
};

/// One kind of communication of one rank, per step.
struct Traffic {
  uint64_t count = 0;
  /// As nccl-tests counts the size of the operation.
  uint64_t bytes = 0;
  /// What the rank sends.
  double wireBytes = 0;
};

struct CommunicationReport {
  uint32_t rank = 0;
  /// all_reduce, all_gather, reduce_scatter, all_to_all, permute, send, recv,
  /// host_copy; kinds that do not occur may be left out.
  std::map<std::string, Traffic> kinds;
};

/// Idle shares of the compute queues.
struct BubbleReport {
  double predicted = 0, measured = 0;
};

/// Largest relative errors.
struct VerifyReport {
  bool ok = false;
  std::string errorClass;
  /// What was compared with: "interpreter" or "one device".
  std::string judge;
  double loss = 0, gradients = 0, parameters = 0, states = 0;
};

struct Report {
  uint32_t world = 1;
  std::string device = "cpu";
  bool isOversubscribed = false;
  std::vector<StepReport> steps;
  /// Tokens or samples per step.
  uint64_t itemsPerStep = 0;
  double compileMs = 0, passesMs = 0, kernelsMs = 0;
  std::vector<MemoryReport> memory;
  std::vector<CommunicationReport> communication;
  std::optional<BubbleReport> bubble;
  std::optional<VerifyReport> verify;
};

/// The value below which a share `q` of `values` lies, interpolated between
/// neighbours; 0 without values.
double quantile(std::vector<double> values, double q);

/// The JSON text. Median, 95th percentile and items per second are taken over
/// all steps but the first, which also warms up, if there is more than one.
std::string printReport(const Report &report);

pprt::Status writeReport(const std::string &path, const Report &report);

} // namespace pp::run

#endif // PP_RUN_SUPPORT_REPORT_H
