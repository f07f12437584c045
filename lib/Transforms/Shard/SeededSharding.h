//===- SeededSharding.h - one sharding from all who ask for it --*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0
//
// What the model says of a value, and every seed of the plan that matches its
// name and is not overruled, are merged dimension by dimension. Closed
// dimensions must agree; an open one yields to what it does not fit, with a
// remark.
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
  /// Reports at `at`, of `what`, whose elements `mayRepeat` over devices.
  SeededSharding(mlir::Location at, std::string what, mlir::Type type,
                 MeshAttr mesh, bool mayRepeat = false)
      : at(at), what(std::move(what)),
        type(llvm::cast<mlir::RankedTensorType>(type)), mesh(mesh),
        mayRepeat(mayRepeat) {}

  /// What the model says of it, `where`: of `argument "x"`.
  mlir::LogicalResult addGiven(ShardingAttr given, llvm::StringRef where,
                               mlir::FlatSymbolRefAttr symbol);
  mlir::LogicalResult addSeed(const MatchedSeed &match);
  /// What a constraint that reads it closes; reported where that stands.
  mlir::LogicalResult addConstraint(ShardingConstraintOp constraint,
                                    mlir::FlatSymbolRefAttr symbol);
  /// What is closed of the same value, by whoever has closed it there.
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
  /// What `seed` says, without what is whole although another one splits it.
  ShardingAttr getOf(const MatchedSeed &seed,
                     mlir::FlatSymbolRefAttr symbol) const;

private:
  struct Asker {
    std::string who;
    llvm::SmallVector<DimShardingAttr> dims;
    /// Of open dimensions that do not agree the lowest has its way; the
    /// model's comes before the plan's.
    int64_t priority;
    SeedAttr seed = {};                   ///< null: the model's
    ShardingConstraintOp constraint = {}; ///< null: none
  };
  /// What one of them says of one dimension.
  struct Wish {
    const Asker *asker;
    unsigned dim;
    DimShardingAttr get() const { return asker->dims[dim]; }
  };

  mlir::LogicalResult add(Asker asker);
  mlir::LogicalResult merge(Wish wish);
  /// Of a wish that does not fit an earlier one for the same dimension, or for
  /// its axis: it contradicts that if it is closed, else it yields.
  mlir::LogicalResult refuse(Wish wish, mlir::StringAttr axis, Wish other);
  /// Begins an error of it, and ends one with what settles it.
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
