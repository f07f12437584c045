//===- Sources.h - where shardings come from --------------------*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0
//
// What propagation knows of every axis of every value when it puts it there:
// who asked for it first, and through which op it came. Kept in the locations
// of ops and arguments, as causes are, so that padding and whatever else stands
// before the partitioner need not know of it. The partitioner takes it out.
//
//===----------------------------------------------------------------------===//
#ifndef PP_TRANSFORMS_SOURCES_H
#define PP_TRANSFORMS_SOURCES_H

#include "mlir/IR/Location.h"
#include "pp/IR/PP.h"

namespace pp {

/// How a value came by one axis of its sharding.
struct Source {
  /// Positions in the mesh and among the dimensions of the value.
  int axis, dim;
  /// What asked for the axis first, in words.
  mlir::StringAttr root;
  /// Edges from there to the value; 0 where it was asked for of the value
  /// itself, and the rest says nothing.
  int length = 0;
  /// The last edge: which tensor (results first, then operands) of op `op` had
  /// the axis before. Of result `tensor` of @main: between what is returned and
  /// the argument that it updates (kUpdate), or what was asked of it (kResult).
  int op = 0, tensor = 0;

  static constexpr int kUpdate = -1, kResult = -2;
};

/// In ascending order of axes.
using ValueSources = llvm::SmallVector<Source, 2>;

/// Of an op, under a number of its own, or of an argument.
struct SourcesOf {
  int number = -1;
  /// Per result.
  llvm::SmallVector<ValueSources, 1> values;
};

/// `at` with `sources`.
mlir::Location attachSources(mlir::Location at, const SourcesOf &sources);
/// What is attached to a location; nothing where nothing is.
SourcesOf findSources(mlir::Location location);
/// `location` without what was attached.
mlir::Location dropSources(mlir::Location location);
/// For a value that lies as `like` and takes its place: it has its axes from
/// where `like` has them.
void inheritSources(mlir::Value value, mlir::Value like);
/// The same where it has them in other dimensions: per axis the one, or -1 where
/// it lacks the axis.
void inheritSources(mlir::Value value, mlir::Value like,
                    llvm::function_ref<int(int axis)> getDim);

/// `at` of a constraint that stands for something else, or of an argument of
/// which the model says how it lies: `root` names who does.
mlir::Location attachRoot(mlir::Location at, llvm::StringRef root);
/// That name; empty if there is none.
llvm::StringRef findRoot(mlir::Location location);

/// `location` without what attachRoot put there.
mlir::Location dropRoot(mlir::Location location);

/// `seed "tokens" [{"dp"}, {}]`
std::string spellSeed(SeedAttr seed);
/// `pp.sharding [{"dp"}, {}] of argument "tokens"`
std::string spellGiven(ShardingAttr given, const llvm::Twine &of);
/// The root of a constraint, its own if it stands for nothing else:
/// `constraint at model.mlir:3:8 [{"tp"}]`
std::string spellConstraint(ShardingConstraintOp constraint);

} // namespace pp

#endif // PP_TRANSFORMS_SOURCES_H
