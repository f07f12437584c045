//===- Trace.h - Timelines for Chrome and Perfetto --------------*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0
//
// Writes the JSON format of chrome://tracing, which ui.perfetto.dev opens as
// well: a process per rank, a thread per queue, a slice per instruction, an
// arrow from each send to its receive. Predicted and measured timelines use the
// same names and may share a file.
//
//===----------------------------------------------------------------------===//
#ifndef PPRT_HOST_TRACE_H
#define PPRT_HOST_TRACE_H

#include "pprt/Status.h"

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#pragma GCC visibility push(default)
namespace pprt::host {

/// A row: one queue of one rank. Rows of a process are shown together.
struct TraceTrack {
  uint32_t process = 0;
  std::string processName;
  uint32_t thread = 0;
  std::string threadName;
};

/// An action that took time. Times are microseconds.
struct TraceSlice {
  size_t track = 0;
  std::string name;
  /// Colour group: forward, backward, communication, ...
  std::string category;
  double start = 0, duration = 0;
  /// Text for the selected slice; may be empty.
  std::string detail;
  /// Work done meanwhile, shown as rates; 0: not shown.
  double flops = 0, bytes = 0;
  /// Of `duration`, what the rank's own thread was on a processor, where ranks
  /// share cores.
  std::optional<double> processor = {};
};

/// An arrow from the start of one slice to the end of another: a receive may be
/// posted before its data is sent, but cannot end before.
struct TraceArrow {
  size_t from = 0, to = 0;
};

struct Trace {
  std::string device; ///< name in reports; empty: unknown
  std::string model;  ///< digest of what it computes; empty: unknown
  std::string plan;   ///< as text; empty: unknown
  std::vector<TraceTrack> tracks;
  std::vector<TraceSlice> slices;
  std::vector<TraceArrow> arrows;
};

/// Returns the JSON text, one event per line.
std::string printTrace(const Trace &trace);

Status writeTrace(const std::string &path, const Trace &trace);

} // namespace pprt::host
#pragma GCC visibility pop

#endif // PPRT_HOST_TRACE_H
