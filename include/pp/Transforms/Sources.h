//===- Sources.h - sources of shardings -------------------------*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0
//
// For every axis of every value, propagation records who asked for it first and
// through which op it came. Kept in the locations of ops and arguments, as
// causes are, so that the passes before the partitioner need not handle it. The
// partitioner removes it.
//
//===----------------------------------------------------------------------===//
#ifndef PP_TRANSFORMS_SOURCES_H
#define PP_TRANSFORMS_SOURCES_H

#include "mlir/IR/Location.h"
#include "pp/IR/PP.h"

namespace pp {

/// How a value got one axis of its sharding.
struct Source {
  /// Positions in the mesh and among the dimensions of the value.
  int axis, dim;
  /// The first source of the axis, in words.
  mlir::StringAttr root;
  /// Edges from there to the value; 0 if the value itself was asked, and then
  /// the rest is unused.
  int length = 0;
  /// The last edge: the tensor (results first, then operands) of op `op` that
  /// had the axis before. For result `tensor` of @main: between the result and
  /// the argument that it updates (kUpdate), or a request on the result
  /// (kResult).
  int op = 0, tensor = 0;

  static constexpr int kUpdate = -1, kResult = -2;
};

/// In ascending order of axes.
using ValueSources = llvm::SmallVector<Source, 2>;

/// Sources of an op, with a number, or of an argument.
struct SourcesOf {
  int number = -1;
  /// Per result.
  llvm::SmallVector<ValueSources, 1> values;
};

/// `at` with `sources`.
mlir::Location attachSources(mlir::Location at, const SourcesOf &sources);
/// The sources attached to a location, if any.
SourcesOf findSources(mlir::Location location);
/// `location` without its sources.
mlir::Location dropSources(mlir::Location location);
/// For a value that replaces `like`, with the same sharding: copies the
/// sources.
void inheritSources(mlir::Value value, mlir::Value like);
/// The same for other dimensions: for each axis its dimension in `value`, or -1
/// if `value` lacks the axis.
void inheritSources(mlir::Value value, mlir::Value like,
                    llvm::function_ref<int(int axis)> getDim);

/// `at` of a constraint that stands for a seed, or of an argument with a
/// sharding from the model: `root` names the source.
mlir::Location attachRoot(mlir::Location at, llvm::StringRef root);
/// The name that attachRoot() put there; empty if there is none.
llvm::StringRef findRoot(mlir::Location location);

/// `location` without the name that attachRoot() put there.
mlir::Location dropRoot(mlir::Location location);

/// `seed "tokens" [{"dp"}, {}]`
std::string spellSeed(SeedAttr seed);
/// `pp.sharding [{"dp"}, {}] of argument "tokens"`
std::string spellGiven(ShardingAttr given, const llvm::Twine &of);
/// The root of a constraint; its own place if it stands for nothing else:
/// `constraint at model.mlir:3:8 [{"tp"}]`
std::string spellConstraint(ShardingConstraintOp constraint);

} // namespace pp

#endif // PP_TRANSFORMS_SOURCES_H
