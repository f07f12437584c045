//===- Seeds.h - which seeds a plan has for an argument ---------*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0
//
// Only finds them: whether several can be merged, pp-annotate-shardings checks.
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

/// A name in words that are the same for every layer: `h.3.attn.weight` becomes
/// `h.*.attn.weight`.
std::string generalize(llvm::StringRef name);

/// How large the last of `axes` may be, beside the others, to split a dimension
/// of `size` elements: `tp=4 is the most`.
std::string spellMost(MeshAttr mesh, llvm::ArrayRef<mlir::StringAttr> axes,
                      int64_t size);

/// Finds the seeds of a name without a look at every seed: most patterns of a
/// long plan are names.
class SeedTable {
public:
  explicit SeedTable(PlanAttr plan);

  /// Positions in the plan of the seeds that match, ascending.
  llvm::SmallVector<unsigned, 2> lookup(llvm::StringRef name) const;

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
