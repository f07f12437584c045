//===- Residuals.h - what forward keeps for backward ------------*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0
//
// Which values of a forward fragment are kept in memory for the backward one,
// and which are computed again from those (Chen et al., "Training Deep Nets
// with Sublinear Memory Cost", 2016). A graph of values without MLIR and LLVM;
// pp-choose-residuals builds it.
//
// For given prices of memory and work the cheapest choice is a minimum cut. A
// choice that has to fit into a number of bytes is found by raising the price
// of memory until it does.
//
//===----------------------------------------------------------------------===//
#ifndef PP_PLANNER_RESIDUALS_H
#define PP_PLANNER_RESIDUALS_H

#include <cstdint>
#include <optional>
#include <vector>

namespace pp {

/// A value that backward reads, or that such a value can be computed from.
struct ResidualNode {
  /// The bytes of a value that must not be kept if that is possible.
  static constexpr int64_t kNever = INT64_MAX;

  /// What keeping it costs: its bytes.
  int64_t bytes = 0;
  /// What computing it again costs, in FLOPs; nothing if that is impossible.
  std::optional<int64_t> work;
  /// The values that it is computed from, except those in memory anyway. They
  /// have smaller numbers.
  std::vector<unsigned> operands;
  bool isNeeded = false; ///< backward reads it
};

struct ResidualChoice {
  explicit ResidualChoice(unsigned count = 0)
      : kept(count), recomputed(count) {}

  std::vector<bool> kept, recomputed;
  int64_t bytes = 0; ///< of what is kept
  int64_t work = 0;  ///< of what is computed again
};

/// The choice that costs least, where a byte costs `bytePrice` FLOPs. Of equal
/// choices the one that computes least again.
ResidualChoice chooseResiduals(const std::vector<ResidualNode> &nodes,
                               double bytePrice);

/// A choice that keeps at most so many bytes.
struct FittingResiduals {
  ResidualChoice choice;
  /// No choice that fits computes less again; the work of `choice` if it is
  /// known to be the least.
  int64_t leastWork = 0;
};

/// The choice that keeps at most `budget` bytes and computes least again, by
/// branch and bound (Land and Doig, 1960) over the minimum cuts of Lagrange's
/// relaxation; after `steps` branches the best one found. Nothing if none fits.
std::optional<FittingResiduals>
fitResiduals(const std::vector<ResidualNode> &nodes, int64_t budget,
             unsigned steps = 100);

} // namespace pp

#endif // PP_PLANNER_RESIDUALS_H
