//===- Cause.h - why a collective is there ----------------------*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0
//
// The facts that a pass has when it builds a collective, kept in the location
// of the op: so they come through every later pass, into buckets and
// instructions, and the texts of modules stay as they are. Who explains a
// program reads them there.
//
//===----------------------------------------------------------------------===//
#ifndef PP_TRANSFORMS_CAUSE_H
#define PP_TRANSFORMS_CAUSE_H

#include "mlir/IR/Location.h"
#include "pp/IR/PP.h"
#include <string>
#include <vector>

namespace pp {

/// Strings are empty, and attributes null, where there is nothing to say.
struct Cause {
  /// The cause in one line, as remarks have it.
  std::string text;
  /// Which op or argument the value is from, of a part of a sum the op that
  /// sums and where, and who reads it, where.
  std::string maker, makerAt, user, userAt;
  /// The parameter that the value is a gradient of.
  std::string gradientOf;
  /// Where a parameter lies otherwise than it is used, and by which setting of
  /// the plan, the word for that: `zero = 3`.
  std::string layouts;
  /// All collectives that lead from one layout to the other, in order, if this
  /// is one of several.
  std::string route;
  /// The layout that the value had, partial axes included, and the one that was
  /// asked for.
  ShardingAttr has, wants;
  /// Whose wishes, seeds of the plan for the most part, the first goes back to;
  /// and where they are others, the second.
  std::vector<std::string> origins, readers;
  /// What would have been right, too, or why it would not, and what a rank
  /// would send for it, and how long: -1, and 0, where that is not known.
  struct Alternative {
    std::string what;
    int64_t wireBytes = -1;
    double seconds = 0;
  };
  std::vector<Alternative> alternatives;
  /// What looks like a slip of the plan, and what would avoid it.
  std::string advice;

  /// `at` with this cause.
  mlir::Location attachTo(mlir::Location at) const;
};

/// `{"dp", ?}`
std::string spellDim(DimShardingAttr dim);
/// `[{"dp"}, {?}]`
std::string spellDims(llvm::ArrayRef<DimShardingAttr> dims);

/// `at` of an op that was built in place of something else: `other`, which a
/// collective for the op could have been.
mlir::Location attachAlternative(mlir::Location at,
                                 const Cause::Alternative &other);
/// What was attached to a location, or nothing.
std::optional<Cause::Alternative> findAlternative(mlir::Location location);

/// A cause, and the place of what was built for it.
struct CauseAt {
  Cause cause;
  mlir::Location at;
};

/// The causes in a location, in order: a bucket has several.
llvm::SmallVector<CauseAt, 1> findCauses(mlir::Location location);

} // namespace pp

#endif // PP_TRANSFORMS_CAUSE_H
