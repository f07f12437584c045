//===- PaddedSizes.h - sizes of padded dimensions ---------------*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0
//
// Decides, once for all dimensions that share a factor, a size that divides by
// their shards. If an op merges dimensions, padding of a factor would grow the
// merged one further than its own axes require: either it does, or both sides
// are padded separately and the op gets them whole, whichever costs less. The
// same holds if a dimension's factors have too few elements for its axes. In: a
// sharding on every value. Nothing is changed.
//
//===----------------------------------------------------------------------===//
#ifndef PP_LIB_TRANSFORMS_SHARD_PADDEDSIZES_H
#define PP_LIB_TRANSFORMS_SHARD_PADDEDSIZES_H

#include "Masks.h"
#include "pp/Analysis/FactorClasses.h"

namespace pp {

class PaddingCosts;
struct PlainDim;

/// Factors that merged dimensions of an op put together, directly or by way of
/// others.
struct Merge {
  llvm::SmallBitVector factors;
  /// These dimensions are padded whatever their factors are.
  bool isParted = false;
};

/// An op, and the factors that its tensors have without padding. Some diverge:
/// a tensor has them in a dimension that other ops factorize differently, as
/// [24] between [4, 6] and [6, 4]. The op needs others whole, or their indices,
/// between which padding would lie. Factors that share a dimension with one of
/// these are among them, since padding is removed from a dimension as a whole.
struct PaddedOp {
  mlir::Operation *op;
  ShardingRule rule;
  llvm::SmallBitVector unpadded;
  llvm::SmallVector<Merge, 1> merges;
};

/// A dimension that shares the padding of a merge, or would have and does not.
struct SharedPadding {
  mlir::Value value;
  int64_t dim;
  int64_t size, shared, alone;
  /// Seconds of a step: for the work on padded dimensions, and for gathering.
  double secondsShared, secondsAlone;

  bool isParted() const { return secondsAlone < secondsShared; }
};

class PaddedSizes {
public:
  PaddedSizes(mlir::func::FuncOp main, MeshView mesh)
      : main(main), mesh(mesh) {}

  bool everythingDivides();
  /// Reports an op without a sharding rule.
  mlir::LogicalResult decide();

  llvm::ArrayRef<PaddedOp> getOps() const { return ops; }
  /// All dimensions that were weighed, one of each size that ops know.
  llvm::ArrayRef<SharedPadding> getShared() const { return shared; }
  llvm::SmallVector<DimPadding> paddingOf(mlir::Value value) const;
  mlir::RankedTensorType paddedType(mlir::Value value) const;
  /// The layout of a result of @main, which may be another than its value's.
  Layout layoutOfResult(unsigned index);

private:
  /// With all ops that merge, or without those that are parted.
  FactorClasses makeClasses(bool partsAll);
  void decideClasses();
  void tieSides(mlir::Operation *change, FactorClasses &made);
  bool partSmall();
  bool partCostly();
  void addWork(llvm::MutableArrayRef<PlainDim> dims, const FactorClasses &plain,
               PaddingCosts &costs);
  void addGathers(llvm::MutableArrayRef<PlainDim> dims,
                  const FactorClasses &plain, PaddingCosts &costs);
  void findDivergent(PaddedOp &padded);
  void findUnpadded(PaddedOp &padded);
  /// Calls `visit` with every value and its layouts.
  void
  forEachLayout(llvm::function_ref<void(mlir::Value, const Layout &)> visit);
  bool require(mlir::Value value, const Layout &layout);
  bool requireAll();
  llvm::SmallVector<int64_t>
  paddedSizes(llvm::ArrayRef<FactorClasses::Class> parts) const;
  DimPadding paddingOf(llvm::ArrayRef<FactorClasses::Class> parts) const;

  mlir::func::FuncOp main;
  MeshView mesh;
  FactorClasses classes;
  std::vector<PaddedOp> ops;
  std::vector<SharedPadding> shared;
  /// Per class: the number that its size must be a multiple of, and its padded
  /// size.
  std::vector<int64_t> multiples, padded;
};

} // namespace pp

#endif // PP_LIB_TRANSFORMS_SHARD_PADDEDSIZES_H
