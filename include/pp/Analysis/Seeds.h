//===- Seeds.h - the seeds of a name ----------------------------*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0
//
// The more exact pattern wins: `h.0.weight` before `h.*.weight` before `*`.
// pp-annotate-shardings checks whether the remaining seeds can be merged.
//
//===----------------------------------------------------------------------===//
#ifndef PP_ANALYSIS_SEEDS_H
#define PP_ANALYSIS_SEEDS_H

#include "pp/IR/PP.h"
#include "llvm/ADT/StringMap.h"

namespace pp {

/// True if `name` is `pattern` with every `*` replaced by some text.
bool matchesPattern(llvm::StringRef pattern, llvm::StringRef name);

/// Whether `more` extends `less`, or equals it.
bool isPrefix(DimShardingAttr less, DimShardingAttr more);

/// A name that is the same for every layer: `h.*.attn.weight` for
/// `h.3.attn.weight`.
std::string generalize(llvm::StringRef name);

/// Whether `size` elements can be repeated over more devices, all equally
/// often, as 4 key-value heads twice over tp=8.
inline bool canRepeat(int64_t size, int64_t shards) {
  return size > 1 && shards % size == 0;
}

/// How large the last of `axes` may be, beside the others, to split a dimension
/// of `size` elements: `tp=4 is the most`, or, for elements that may be
/// repeated, `tp=4 fits, a multiple of 4 where another dimension takes the
/// rest`.
std::string spellMost(MeshAttr mesh, llvm::ArrayRef<mlir::StringAttr> axes,
                      int64_t size, bool mayRepeat);

/// A seed that matches a name.
struct MatchedSeed {
  unsigned number; ///< in the plan
  SeedAttr seed;
  /// The seed's dimensions for that name; open where a more exact pattern
  /// differs.
  llvm::SmallVector<DimShardingAttr> dims;
  /// No dimension of it is left.
  bool isOverruled = false;
};

/// Finds the seeds of a name without trying every seed: most patterns of a long
/// plan are plain names.
class SeedTable {
public:
  explicit SeedTable(PlanAttr plan);

  /// The matching seeds, in the order of the plan.
  llvm::SmallVector<MatchedSeed, 2> lookup(llvm::StringRef name) const;

  /// The seed that put an axis on one dimension of the argument `name`, the one
  /// of lowest priority if there are several; or null.
  SeedAttr findSeed(llvm::StringRef name, unsigned dim,
                    mlir::StringAttr axis) const;

private:
  PlanAttr plan;
  llvm::StringMap<llvm::SmallVector<unsigned, 1>> names;
  llvm::SmallVector<unsigned> patterns;
};

} // namespace pp

#endif // PP_ANALYSIS_SEEDS_H
