//===- Seeds.h - which seeds a plan has for an argument ---------*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0
//
// The more exact pattern has its way: `h.0.weight` before `h.*.weight` before
// `*`. Whether what is left can be merged, pp-annotate-shardings checks.
// Assumes nothing of the patterns.
//
//===----------------------------------------------------------------------===//
#ifndef PP_ANALYSIS_SEEDS_H
#define PP_ANALYSIS_SEEDS_H

#include "pp/IR/PP.h"
#include "llvm/ADT/StringMap.h"

namespace pp {

/// True if `name` is `pattern` with every `*` replaced by some text.
bool matchesPattern(llvm::StringRef pattern, llvm::StringRef name);

/// Whether `more` can stand where `less` does, and goes on behind it.
bool isPrefix(DimShardingAttr less, DimShardingAttr more);

/// A name in words that are the same for every layer: `h.3.attn.weight` becomes
/// `h.*.attn.weight`.
std::string generalize(llvm::StringRef name);

/// Whether `size` elements can lie over more devices than they are, all equally
/// often, as 4 key-value heads over tp=8 do twice.
inline bool canRepeat(int64_t size, int64_t shards) {
  return size > 1 && shards % size == 0;
}

/// How large the last of `axes` may be, beside the others, to split a dimension
/// of `size` elements: `tp=4 is the most`, or of what may lie there several
/// times `tp=4 fits, a multiple of 4 where another dimension takes the rest`.
std::string spellMost(MeshAttr mesh, llvm::ArrayRef<mlir::StringAttr> axes,
                      int64_t size, bool mayRepeat);

/// A seed that names something.
struct MatchedSeed {
  unsigned number; ///< in the plan
  SeedAttr seed;
  /// What it says there: a dimension is open where the seed does not fit one
  /// whose pattern is more exact.
  llvm::SmallVector<DimShardingAttr> dims;
  /// Nothing of it is left.
  bool isOverruled = false;
};

/// Finds the seeds of a name without a look at every seed: most patterns of a
/// long plan are names.
class SeedTable {
public:
  explicit SeedTable(PlanAttr plan);

  /// The seeds that match, in the order of the plan.
  llvm::SmallVector<MatchedSeed, 2> lookup(llvm::StringRef name) const;

  /// The seed that put an axis on one dimension of the argument `name`, of
  /// several that of the lowest priority; or null.
  SeedAttr findSeed(llvm::StringRef name, unsigned dim,
                    mlir::StringAttr axis) const;

private:
  PlanAttr plan;
  llvm::StringMap<llvm::SmallVector<unsigned, 1>> names;
  llvm::SmallVector<unsigned> patterns;
};

} // namespace pp

#endif // PP_ANALYSIS_SEEDS_H
