//===- Cause.h - why a collective is there ----------------------*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0
//
// The facts that a pass knows when it builds a collective are kept in the op's
// location. So they survive every later pass, into buckets and instructions,
// and do not change the text of modules. --pp-explain reads them.
//
//===----------------------------------------------------------------------===//
#ifndef PP_TRANSFORMS_CAUSE_H
#define PP_TRANSFORMS_CAUSE_H

#include "mlir/IR/Location.h"
#include "pp/IR/PP.h"
#include <string>
#include <vector>

namespace pp {

/// Unknown strings are empty, unknown attributes null.
struct Cause {
  /// The cause in one line, as in remarks.
  std::string text;
  /// The op or argument that makes the value (for a partial sum the op that
  /// sums), its place, the op that reads the value, and its place.
  std::string maker, makerAt, user, userAt;
  /// The parameter that the value is a gradient of.
  std::string gradientOf;
  /// For a parameter whose stored layout differs from the one in use: the
  /// setting of the plan that asks for it, such as `zero = 3`.
  std::string layouts;
  /// If several collectives lead from one layout to the other: all, in order.
  std::string route;
  /// The value's layout, partial axes included, and the requested one.
  ShardingAttr has, wants;
  /// The sources (mostly seeds of the plan) of `has`, and those of `wants`
  /// where they differ.
  std::vector<std::string> origins, readers;
  /// Another correct way, or why it is wrong, and what a rank would send for it
  /// and how long: -1, and 0, if unknown.
  struct Alternative {
    std::string what;
    int64_t wireBytes = -1;
    double seconds = 0;
  };
  std::vector<Alternative> alternatives;
  /// A likely mistake of the plan, and the change that avoids it.
  std::string advice;

  /// `at` with this cause.
  mlir::Location attachTo(mlir::Location at) const;
};

/// `{"dp", ?}`
std::string spellDim(DimShardingAttr dim);
/// `[{"dp"}, {?}]`
std::string spellDims(llvm::ArrayRef<DimShardingAttr> dims);

/// `at` of an op with `other`, a collective that could have been built instead.
mlir::Location attachAlternative(mlir::Location at,
                                 const Cause::Alternative &other);
/// The alternative attached to a location, if any.
std::optional<Cause::Alternative> findAlternative(mlir::Location location);

/// A cause, and the place of the op built for it.
struct CauseAt {
  Cause cause;
  mlir::Location at;
};

/// The causes in a location, in order: a bucket has several.
llvm::SmallVector<CauseAt, 1> findCauses(mlir::Location location);

/// The ranks of every group of a collective over `axes`, members in the order
/// of addition: `{0,1},{2,3}`. With `stages`, only the ranks of these; of many
/// groups or members the first ones, then `...`.
std::string describeGroups(MeshAttr mesh, llvm::ArrayRef<mlir::StringAttr> axes,
                           llvm::ArrayRef<int64_t> stages);

/// The name of the parameter that `value` is a gradient of: the one parameter
/// that the update computes from it element by element. Empty if there is none,
/// or more than one.
llvm::StringRef findParameterOfGradient(mlir::Value value);

/// Emits a remark of `pass`: what `collective` does and why. `stages` are those
/// of its ranks, if not all; a rank sends `wireBytes`.
void remarkCollective(mlir::Operation *collective, llvm::StringRef pass,
                      llvm::StringRef cause, MeshAttr mesh,
                      llvm::ArrayRef<mlir::StringAttr> axes,
                      llvm::ArrayRef<int64_t> stages, double wireBytes);

} // namespace pp

#endif // PP_TRANSFORMS_CAUSE_H
