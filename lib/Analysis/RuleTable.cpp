//===- RuleTable.cpp - the different rules of a function ------------------===//
//
// SPDX-License-Identifier: Apache-2.0
//
//===----------------------------------------------------------------------===//
#include "pp/Analysis/RuleTable.h"
#include "llvm/ADT/Hashing.h"

using namespace pp;

static llvm::hash_code hash(llvm::ArrayRef<TensorFactors> tensors) {
  llvm::hash_code code(tensors.size());
  for (const TensorFactors &tensor : tensors)
    for (const DimFactors &dim : tensor)
      code = llvm::hash_combine(
          code, llvm::hash_combine_range(dim.begin(), dim.end()));
  return code;
}

/// Rules that differ in nothing else are rare.
size_t RuleTable::Hash::operator()(const ShardingRule &rule) const {
  llvm::hash_code code =
      llvm::hash_combine(hash(rule.results), hash(rule.operands));
  for (const Factor &factor : rule.factors)
    code = llvm::hash_combine(code, factor.size, factor.kind);
  return code;
}
