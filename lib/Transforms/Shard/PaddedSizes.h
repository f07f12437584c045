//===- PaddedSizes.h - how far dimensions are padded ------------*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0
//
// Decides, once for all dimensions that share a factor, what size they get so
// that each divides by its shards. A dimension that divides gets no padding but
// that of a factor that some tensor has split unevenly; one whose factors have
// too few elements for its axes is padded by itself, and the ops that know its
// factors get it whole. In: a sharding on every value. Nothing is changed.
//
//===----------------------------------------------------------------------===//
#ifndef PP_LIB_TRANSFORMS_SHARD_PADDEDSIZES_H
#define PP_LIB_TRANSFORMS_SHARD_PADDEDSIZES_H

#include "Masks.h"
#include "pp/Analysis/FactorClasses.h"

namespace pp {

/// An op, and the factors that all of its tensors have without padding. Some
/// diverge: a tensor has them in a dimension that other ops factorize
/// differently, as [24] between [4, 6] and [6, 4]. Others the op needs whole,
/// or their indices, between which padding would lie. What shares a dimension
/// with one of these is one of them, for a dimension is cut back as one.
struct PaddedOp {
  mlir::Operation *op;
  ShardingRule rule;
  llvm::SmallBitVector unpadded;
  /// Its merged dimensions are no matter of their factors.
  bool isLoose = false;
};

class PaddedSizes {
public:
  PaddedSizes(mlir::func::FuncOp main, MeshView mesh)
      : main(main), mesh(mesh) {}

  bool everythingDivides();
  /// Reports an op without a sharding rule.
  mlir::LogicalResult decide();

  llvm::ArrayRef<PaddedOp> getOps() const { return ops; }
  llvm::SmallVector<DimPadding> paddingOf(mlir::Value value) const;
  mlir::RankedTensorType paddedType(mlir::Value value) const;
  /// The layout of a result of @main, which may be another than its value's.
  Layout layoutOfResult(unsigned index);

private:
  void buildClasses();
  void tieSides(mlir::Operation *change);
  bool loosen();
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
  /// Per class: what its size must be a multiple of, and its padded size.
  std::vector<int64_t> multiples, padded;
};

} // namespace pp

#endif // PP_LIB_TRANSFORMS_SHARD_PADDEDSIZES_H
