//===- Findings.h - what a plan could do better -----------------*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0
//
// What a pass notices of the whole program, kept in the location of @main as
// causes are in those of collectives.
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
  /// Where it is, or empty; what is found; what would avoid it, in words where
  /// no change of the plan does.
  std::string at, what, avoid;
  /// Of which each would avoid it, as withChange() reads them.
  std::vector<std::string> changes = {};
  /// What each device holds or sends for it; 0 if that is not the point.
  int64_t bytes = 0;
  /// What it costs, by which findings are told; not kept.
  double seconds = 0;

  /// What would avoid it, in one line.
  std::string printWays() const;
};

/// The ops that a finding is about: those of one kind and place are counted.
class Subjects {
public:
  void add(mlir::Operation *op, double cost);
  int64_t count() const;
  /// The costliest kinds, as `pp.dot_general at h.*.mlp x12, pp.add and 2 more
  /// kinds`.
  std::string print() const;

private:
  /// How many there are, and what they cost.
  std::map<std::string, std::pair<int64_t, double>> kinds;
};

void setFindings(mlir::func::FuncOp main, const std::vector<Finding> &findings);
std::vector<Finding> getFindings(mlir::func::FuncOp main);

} // namespace pp

#endif // PP_TRANSFORMS_FINDINGS_H
