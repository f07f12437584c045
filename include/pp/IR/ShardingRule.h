//===- ShardingRule.h - an op as an einsum over factors ---------*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0
//
// A rule names the factors an op iterates over and says which dimension of
// which operand and result each of them indexes. dot_general is
// `([b,i,k],[b,k,j]) -> [b,i,j]` with k a sum; a reshape maps several factors
// to one dimension (major to minor). Propagation and the partitioner know ops
// by their rules alone.
//
//===----------------------------------------------------------------------===//
#ifndef PP_IR_SHARDINGRULE_H
#define PP_IR_SHARDINGRULE_H

#include "pp/IR/Enums.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/SmallVector.h"
#include <algorithm>
#include <cstdint>

namespace pp {

enum class FactorKind {
  /// Indexes results; shards compute separately.
  Parallel,
  /// Absent from results, which are partial where it is sharded.
  Reduction,
  /// May not be sharded: the op needs the whole dimension.
  Replicated,
  /// The same, because an element of the result needs its neighbours, which
  /// adjacent shards would hold.
  Neighbours,
};

struct Factor {
  int64_t size = 1;
  FactorKind kind = FactorKind::Parallel;
  /// How partial results of a reduction factor combine.
  Reduction reduction = Reduction::Sum;
  /// Its elements know their global index, so sharding it needs the op's
  /// `localize`, and nothing may be padded in between.
  bool needsLocalize = false;

  bool mayBeSplit() const {
    return kind == FactorKind::Parallel || kind == FactorKind::Reduction;
  }
  bool operator==(const Factor &other) const {
    return size == other.size && kind == other.kind &&
           reduction == other.reduction && needsLocalize == other.needsLocalize;
  }
};

/// Factors of one dimension, major to minor; their sizes multiply to its size.
using DimFactors = llvm::SmallVector<int64_t, 2>;
/// For one tensor, per dimension.
using TensorFactors = llvm::SmallVector<DimFactors, 4>;

struct ShardingRule {
  llvm::SmallVector<Factor> factors;
  llvm::SmallVector<TensorFactors> operands;
  llvm::SmallVector<TensorFactors> results;
  /// Sets of operands in which the op is jointly additive: if all operands of a
  /// set are partial sums over an axis and no other operand is, so are the
  /// results. add: {{0, 1}}; mul: {{0}, {1}}; transpose: {{0}}; exp: none.
  llvm::SmallVector<llvm::SmallVector<unsigned, 2>> additive;

  /// Operands whose padding along reduction factors does not matter, because
  /// other operands select the elements to read (as in a look-up). The padding
  /// of all others must be the identity of the factor's reduction.
  llvm::SmallVector<unsigned, 2> selected;

  /// True if every operand has the result's dimensions, in any order: a part of
  /// the result depends on the same parts of all operands.
  bool keepsDims() const {
    if (results.size() != 1)
      return false;
    auto isDim = [](const DimFactors &factors) { return factors.size() == 1; };
    return llvm::all_of(results.front(), isDim) &&
           llvm::all_of(factors,
                        [](const Factor &factor) {
                          return factor.kind == FactorKind::Parallel &&
                                 !factor.needsLocalize;
                        }) &&
           llvm::all_of(operands, [&](const TensorFactors &tensor) {
             return std::is_permutation(tensor.begin(), tensor.end(),
                                        results.front().begin(),
                                        results.front().end());
           });
  }

  int64_t addFactor(int64_t size, FactorKind kind = FactorKind::Parallel,
                    Reduction reduction = Reduction::Sum) {
    factors.push_back({size, kind, reduction, false});
    return static_cast<int64_t>(factors.size()) - 1;
  }
  bool operator==(const ShardingRule &other) const {
    return factors == other.factors && operands == other.operands &&
           results == other.results && additive == other.additive &&
           selected == other.selected;
  }
};

/// The elements that an op with two rules sums or gathers.
struct ShardSum {
  int64_t summed, gathered;
};

} // namespace pp

#endif // PP_IR_SHARDINGRULE_H
