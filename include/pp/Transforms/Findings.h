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
#include <string>
#include <vector>

namespace pp {

struct Finding {
  /// Where it is, or empty; what is found; what would avoid it.
  std::string at, what, avoid;
  /// What each device holds or sends for it; 0 if that is not the point.
  int64_t bytes = 0;
  /// What it costs, by which findings are told; not kept.
  double seconds = 0;
};

void setFindings(mlir::func::FuncOp main, const std::vector<Finding> &findings);
std::vector<Finding> getFindings(mlir::func::FuncOp main);

} // namespace pp

#endif // PP_TRANSFORMS_FINDINGS_H
