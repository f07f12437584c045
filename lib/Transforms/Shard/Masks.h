//===- Masks.h - ops around padded dimensions -------------------*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0
//
// Builds the ops that pp-pad-dimensions puts around an op: masks from iotas,
// cuts back to the model's shape, clamped indices. Every op built carries its
// sharding and the marks of the op it is for.
//
//===----------------------------------------------------------------------===//
#ifndef PP_LIB_TRANSFORMS_SHARD_MASKS_H
#define PP_LIB_TRANSFORMS_SHARD_MASKS_H

#include "mlir/IR/Builders.h"
#include "pp/Analysis/Factors.h"
#include "pp/Transforms/Sources.h"
#include "llvm/ADT/DenseSet.h"

namespace pp {

/// The factors of one dimension, major to minor, before and after padding.
struct DimPadding {
  llvm::SmallVector<int64_t, 2> sizes, padded;

  int64_t size() const;
  int64_t paddedSize() const;
  bool operator==(const DimPadding &other) const {
    return sizes == other.sizes && padded == other.padded;
  }
  bool isPadded() const { return sizes != padded; }
  /// True if all padded elements follow the others.
  bool isAtEnd() const;
};

class MaskBuilder {
public:
  MaskBuilder(mlir::OpBuilder &builder, MeshView mesh)
      : builder(builder), mesh(mesh) {}

  /// Ops built from here on are for `op`.
  void enter(mlir::Operation *op) { source = op; }

  /// Tells that `value` has, or is about to get, this padding.
  void notePadding(mlir::Value value, llvm::ArrayRef<DimPadding> padding);
  /// Tells that the padded elements of `value` are zero.
  void noteZero(mlir::Value value) { zeros.insert(value); }
  /// The padding of a value, or null.
  const llvm::SmallVector<DimPadding> *paddingOf(mlir::Value value) const;

  /// `value` with the padded elements of `dims` set to the identity.
  mlir::Value mask(mlir::Value value, const llvm::SmallBitVector &dims,
                   Reduction reduction);
  /// `value` without the padding of `dims`.
  mlir::Value cutBack(mlir::Value value, const llvm::SmallBitVector &dims);
  /// `value`, whose `dims` are whole, with zeros as padding in them, in the
  /// given `layout`.
  mlir::Value pad(mlir::Value value, llvm::ArrayRef<DimPadding> padding,
                  const Layout &layout, const llvm::SmallBitVector &dims);
  /// Replaces all uses of `result`, whose `dims` are whole, by it padded.
  mlir::Value extend(mlir::OpResult result, llvm::ArrayRef<DimPadding> padding,
                     const llvm::SmallBitVector &dims);
  /// Has all read `derived` who read `value`, but the ops between the two.
  void replaceUses(mlir::Value value, mlir::Value derived);
  /// Has `op` adapt itself to its padding; `rule` is that of the model.
  void resize(mlir::Operation *op, const ShardingRule &rule);

private:
  template <typename OpTy, typename... Args>
  mlir::Value create(const Layout &layout, mlir::RankedTensorType type,
                     Args &&...args) {
    mlir::Value value = OpTy::create(builder, dropSources(source->getLoc()),
                                     type, std::forward<Args>(args)...);
    finish(value.getDefiningOp(), layout);
    return value;
  }
  void finish(mlir::Operation *op, llvm::ArrayRef<Layout> layouts);
  mlir::Value splat(mlir::RankedTensorType type, const Layout &layout,
                    mlir::Attribute value);
  mlir::Value reshape(mlir::Value value, llvm::ArrayRef<int64_t> shape,
                      const Layout &layout);
  mlir::Value dimMask(const DimPadding &padding, const AxisList &axes);

  mlir::OpBuilder &builder;
  MeshView mesh;
  mlir::Operation *source = nullptr;
  llvm::DenseMap<mlir::Value, llvm::SmallVector<DimPadding>> paddings;
  llvm::DenseSet<mlir::Value> zeros;
};

} // namespace pp

#endif // PP_LIB_TRANSFORMS_SHARD_MASKS_H
