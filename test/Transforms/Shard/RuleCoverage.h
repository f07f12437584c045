//===- RuleCoverage.h - which parts of sharding rules were met --*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0
//
// Counts, per op and kind of factor, how often random programs split a
// dimension with such a factor: one that divides or is padded, of one factor or
// merged of several. A rule that no program meets is not tested.
//
//===----------------------------------------------------------------------===//
#ifndef PP_TEST_TRANSFORMS_SHARD_RULECOVERAGE_H
#define PP_TEST_TRANSFORMS_SHARD_RULECOVERAGE_H

#include "mlir/IR/BuiltinOps.h"
#include <array>
#include <map>
#include <string>

namespace pp::testing {

class RuleCoverage {
public:
  /// Adds a propagated module that is not padded yet.
  void add(mlir::ModuleOp module);
  /// A row per op and kind of factor.
  void print(llvm::raw_ostream &os) const;
  /// What was never met: ops of level 1, and parts of rules that there are.
  std::vector<std::string> findMissing(mlir::MLIRContext &context) const;

private:
  /// How often: whole or padded, times plain or merged.
  using Counts = std::array<int64_t, 4>;
  /// By op and kind of factor.
  std::map<std::pair<std::string, std::string>, Counts> rows;
};

} // namespace pp::testing

#endif // PP_TEST_TRANSFORMS_SHARD_RULECOVERAGE_H
