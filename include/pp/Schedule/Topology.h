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
#include <optional>
#include <string_view>
#include <vector>

namespace pp::schedule {

/// What connects devices that are neighbours along an axis of the mesh.
struct Link {
  double bytesPerSecond = 1e10;
  /// What a message takes however short it is.
  double latency = 1e-5;

  double messageSeconds(double rounds, double bytes) const {
    return rounds * latency + bytes / bytesPerSecond;
  }
};

/// Of one device: arithmetic, memory, and what starting a kernel takes. The
/// default is a core of a recent server.
struct Rates {
  double flopsPerSecond = 1e11;
  double bytesPerSecond = 1e10;
  double launchSeconds = 1e-6;
};

/// Equal devices, each connected with each; by default with links of 10 GB/s.
struct Topology : Rates {
  /// Along the last axis of the mesh, whose devices are the closest, then along
  /// the one before it, and so on; beyond the list all are as its last.
  std::vector<Link> links = {Link()};

  /// A kernel computes and moves its bytes at the same time.
  double kernelSeconds(double flops, double bytes) const {
    return launchSeconds +
           std::max(flops / flopsPerSecond, bytes / bytesPerSecond);
  }
  /// Along the axis that has `behind` axes of devices behind it in the mesh.
  const Link &linkAt(size_t behind) const {
    return links[std::min(behind, links.size() - 1)];
  }
  /// Along the first of these axes of devices, which all others are behind; the
  /// parts of a divided axis are one.
  const Link &linkAlong(const std::vector<std::string_view> &axes) const;
};

/// The axis that a mesh's axis is a part of, `tp` of `tp.1`, or its own name.
std::string_view wholeAxisOf(std::string_view name);

/// `axes` of `mesh`, with all parts of a divided axis as that one: `dp`, `tp`
/// of `dp`, `tp.0`, `tp.1`.
std::vector<std::string_view>
joinParts(const std::vector<std::string_view> &axes,
          const std::vector<std::string_view> &mesh);

/// `BYTES_PER_SECOND:LATENCY`, separated by commas, as `3e11:1e-6,5e10:1e-5`;
/// nothing if the text is something else.
std::optional<std::vector<Link>> parseLinks(std::string_view text);

/// `OPERATIONS_PER_SECOND:BYTES_PER_SECOND:SECONDS_OF_A_LAUNCH`, as
/// `3e14:3e12:3e-6`; nothing if the text is something else.
std::optional<Rates> parseRates(std::string_view text);

} // namespace pp::schedule

#endif // PP_SCHEDULE_TOPOLOGY_H
