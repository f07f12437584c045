//===- SeededSharding.h - merges the shardings of a value -------*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0
//
// The model's shardings of a value, and every seed of the plan that matches its
// name and is not overruled, are merged dimension by dimension. Closed
// dimensions must agree; an open one yields, with a remark, if it does not fit.
//
//===----------------------------------------------------------------------===//
#ifndef PP_LIB_TRANSFORMS_SHARD_SEEDEDSHARDING_H
#define PP_LIB_TRANSFORMS_SHARD_SEEDEDSHARDING_H

#include "mlir/IR/BuiltinTypes.h"
#include "pp/Analysis/Seeds.h"
#include <string>

namespace pp {

/// Whether `sharding` can be asked for a tensor: of its rank and not partial,
/// over axes of the mesh that split tensors, with an element for each part, or,
/// if it `mayRepeat`, for each of several parts. Reports at `at`, of `who`.
mlir::LogicalResult checkAsked(mlir::Location at, const llvm::Twine &who,
                               llvm::ArrayRef<DimShardingAttr> dims,
                               mlir::Type type, MeshAttr mesh,
                               bool mayRepeat = false);

class SeededSharding {
public:
  /// Reports at `at`, about `what`, whose elements `mayRepeat` over devices.
  SeededSharding(mlir::Location at, std::string what, mlir::Type type,
                 MeshAttr mesh, bool mayRepeat = false)
      : at(at), what(std::move(what)),
        type(llvm::cast<mlir::RankedTensorType>(type)), mesh(mesh),
        mayRepeat(mayRepeat) {}

  /// Adds the model's sharding of it, given at `where`: of `argument "x"`.
  mlir::LogicalResult addGiven(ShardingAttr given, llvm::StringRef where,
                               mlir::FlatSymbolRefAttr symbol);
  mlir::LogicalResult addSeed(const MatchedSeed &match);
  /// Adds the closed dimensions of a constraint that reads it; errors are
  /// reported there.
  mlir::LogicalResult addConstraint(ShardingConstraintOp constraint,
                                    mlir::FlatSymbolRefAttr symbol);
  /// Adds the closed dimensions of the same value, with their sources.
  void addClosed(const SeededSharding &other);

  /// Everything together.
  mlir::LogicalResult merge();

  bool isAsked() const { return !askers.empty(); }
  /// The seeds that were added.
  llvm::ArrayRef<MatchedSeed> getSeeds() const { return seeds; }
  /// After merge().
  ShardingAttr getMerged(mlir::FlatSymbolRefAttr symbol) const {
    return ShardingAttr::get(at.getContext(), symbol, merged, {});
  }
  /// The sharding of `seed`, without whole dimensions that another seed splits.
  ShardingAttr getOf(const MatchedSeed &seed,
                     mlir::FlatSymbolRefAttr symbol) const;

private:
  struct Asker {
    std::string who;
    llvm::SmallVector<DimShardingAttr> dims;
    /// Among open dimensions that disagree the lowest wins; the model's comes
    /// before the plan's.
    int64_t priority;
    SeedAttr seed = {};                   ///< null: the model's
    ShardingConstraintOp constraint = {}; ///< null: none
  };
  /// The sharding of one source for one dimension.
  struct Wish {
    const Asker *asker;
    unsigned dim;
    DimShardingAttr get() const { return asker->dims[dim]; }
  };

  mlir::LogicalResult add(Asker asker);
  mlir::LogicalResult merge(Wish wish);
  /// Handles a sharding that does not fit an earlier one for the same
  /// dimension, or for its axis: if closed, it contradicts that; otherwise it
  /// yields.
  mlir::LogicalResult refuse(Wish wish, mlir::StringAttr axis, Wish other);
  /// Begins an error about it; the other ends one with its remedy.
  mlir::InFlightDiagnostic report(const Asker &asker);
  mlir::LogicalResult advise(const Asker &asker,
                             mlir::InFlightDiagnostic &error);

  mlir::Location at;
  std::string what;
  mlir::RankedTensorType type;
  MeshAttr mesh;
  bool mayRepeat;
  std::vector<Asker> askers;
  llvm::SmallVector<MatchedSeed, 2> seeds;
  llvm::SmallVector<DimShardingAttr> merged;
  /// Per dimension whose wish it is.
  llvm::SmallVector<const Asker *> owners;
};

} // namespace pp

#endif // PP_LIB_TRANSFORMS_SHARD_SEEDEDSHARDING_H
