//===- Findings.h - possible improvements of a plan -------------*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0
//
// Observations of a pass about the whole program, kept in the location of
// @main, as causes are in those of collectives.
//
//===----------------------------------------------------------------------===//
#ifndef PP_TRANSFORMS_FINDINGS_H
#define PP_TRANSFORMS_FINDINGS_H

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include <map>
#include <string>
#include <vector>

namespace pp {

struct Finding {
  /// Its place, or empty; what is found; advice in words if no change of the
  /// plan avoids it.
  std::string at, what, avoid;
  /// Changes, as withChange() reads them, each of which avoids it.
  std::vector<std::string> changes = {};
  /// What each device holds or sends for it; 0 if that does not matter.
  int64_t bytes = 0;
  /// Its cost, by which findings are ordered; not kept.
  double seconds = 0;

  /// All ways to avoid it, in one line.
  std::string printWays() const;
};

/// The ops of a finding, counted by kind and place.
class Subjects {
public:
  void add(mlir::Operation *op, double cost);
  int64_t count() const;
  /// The costliest kinds, as `pp.dot_general at h.*.mlp x12, pp.add and 2 more
  /// kinds`.
  std::string print() const;

private:
  /// Number and cost by kind.
  std::map<std::string, std::pair<int64_t, double>> kinds;
};

void setFindings(mlir::func::FuncOp main, const std::vector<Finding> &findings);
std::vector<Finding> getFindings(mlir::func::FuncOp main);

} // namespace pp

#endif // PP_TRANSFORMS_FINDINGS_H
