//===- Topology.h - links and rates of a machine ----------------*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0
//
// The figures behind all predicted times: the planner cuts stages, the
// partitioner chooses collectives, and pp-run draws a timeline with them.
// Decisions depend on their proportions, so an order of magnitude suffices.
//
//===----------------------------------------------------------------------===//
#ifndef PP_SCHEDULE_TOPOLOGY_H
#define PP_SCHEDULE_TOPOLOGY_H

#include <algorithm>
#include <optional>
#include <string_view>
#include <vector>

namespace pp::schedule {

/// The connection between neighbours along an axis of the mesh.
struct Link {
  double bytesPerSecond = 1e10;
  /// Time of the shortest message.
  double latency = 1e-5;

  double messageSeconds(double rounds, double bytes) const {
    return rounds * latency + bytes / bytesPerSecond;
  }
};

/// Arithmetic, memory and launch time of one device. The default is a core of a
/// recent server.
struct Rates {
  double flopsPerSecond = 1e11;
  double bytesPerSecond = 1e10;
  double launchSeconds = 1e-6;
};

/// Equal devices, all connected; by default with links of 10 GB/s.
struct Topology : Rates {
  /// The links along the last axis of the mesh, whose devices are closest, then
  /// along the one before it, and so on; the last entry holds for all further
  /// axes.
  std::vector<Link> links = {Link()};

  /// A kernel computes and moves its bytes at the same time.
  double kernelSeconds(double flops, double bytes) const {
    return launchSeconds +
           std::max(flops / flopsPerSecond, bytes / bytesPerSecond);
  }
  /// The link along the axis that has `behind` axes of devices behind it in the
  /// mesh.
  const Link &linkAt(size_t behind) const {
    return links[std::min(behind, links.size() - 1)];
  }
  /// The link along the first of these axes of devices (the others are behind
  /// it); the parts of a divided axis are one axis.
  const Link &linkAlong(const std::vector<std::string_view> &axes) const;
};

/// The whole axis of a part: `tp` for `tp.1`; otherwise the name itself.
std::string_view wholeAxisOf(std::string_view name);

/// `axes` of `mesh`, with all parts of a divided axis as one: `dp`, `tp` for
/// `dp`, `tp.0`, `tp.1`.
std::vector<std::string_view>
joinParts(const std::vector<std::string_view> &axes,
          const std::vector<std::string_view> &mesh);

/// Reads `BYTES_PER_SECOND:LATENCY`, separated by commas, such as
/// `3e11:1e-6,5e10:1e-5`; nothing for other text.
std::optional<std::vector<Link>> parseLinks(std::string_view text);

/// Reads `OPERATIONS_PER_SECOND:BYTES_PER_SECOND:SECONDS_OF_A_LAUNCH`, such as
/// `3e14:3e12:3e-6`; nothing for other text.
std::optional<Rates> parseRates(std::string_view text);

} // namespace pp::schedule

#endif // PP_SCHEDULE_TOPOLOGY_H
