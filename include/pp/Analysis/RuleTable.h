//===- RuleTable.h - the different rules of a function ----------*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0
//
// Layers are alike: a deep model has hundreds of thousands of ops and a few
// hundred rules. This table stores each rule once.
//
//===----------------------------------------------------------------------===//
#ifndef PP_ANALYSIS_RULETABLE_H
#define PP_ANALYSIS_RULETABLE_H

#include "pp/IR/ShardingRule.h"
#include <unordered_set>

namespace pp {

class RuleTable {
public:
  /// The stored rule that equals `rule`; it lives as long as the table.
  const ShardingRule *add(ShardingRule rule) {
    return &*rules.insert(std::move(rule)).first;
  }
  size_t size() const { return rules.size(); }

private:
  struct Hash {
    size_t operator()(const ShardingRule &rule) const;
  };

  std::unordered_set<ShardingRule, Hash> rules;
};

} // namespace pp

#endif // PP_ANALYSIS_RULETABLE_H
