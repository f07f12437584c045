//===- Topology.h - what a machine does in a second -------------*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0
//
// The figures behind every prediction of time: of the planner, which cuts
// stages, of the partitioner, which chooses collectives, and of whoever draws a
// timeline before a run. They are data; what depends on them is proportions, so
// that an order of magnitude serves.
//
//===----------------------------------------------------------------------===//
#ifndef PP_SCHEDULE_TOPOLOGY_H
#define PP_SCHEDULE_TOPOLOGY_H

#include <algorithm>

namespace pp::schedule {

/// Equal devices, each connected with each. The default is a core of a recent
/// server and a link of 10 GB/s.
struct Topology {
  /// Of one device: arithmetic, memory, and what starting a kernel takes.
  double flopsPerSecond = 1e11;
  double bytesPerSecond = 1e10;
  double launchSeconds = 1e-6;
  /// Of a link: what a message takes however short it is, and its bytes.
  double linkLatency = 1e-5;
  double linkBytesPerSecond = 1e10;

  /// A kernel computes and moves its bytes at the same time.
  double kernelSeconds(double flops, double bytes) const {
    return launchSeconds +
           std::max(flops / flopsPerSecond, bytes / bytesPerSecond);
  }
  double messageSeconds(double rounds, double bytes) const {
    return rounds * linkLatency + bytes / linkBytesPerSecond;
  }
};

} // namespace pp::schedule

#endif // PP_SCHEDULE_TOPOLOGY_H
