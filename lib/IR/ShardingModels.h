//===- ShardingModels.h - shared parts of the sharding rules ----*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0
//
// A sharding rule is a function from an op to its ShardingRule, a localizer
// builds the op on a device, a resizer adapts it to padding. `ShardingModel`
// turns the three into an external model of ShardingOpInterface. `ScanModel`
// adds the work in shards of an op that needs a dimension whole, `SumModel` the
// elements that an op with two rules sums or gathers.
//
//===----------------------------------------------------------------------===//
#ifndef PP_LIB_IR_SHARDINGMODELS_H
#define PP_LIB_IR_SHARDINGMODELS_H

#include "mlir/IR/Builders.h"
#include "pp/IR/Values.h"

namespace pp {

/// The input of a localizer; see ShardingOpInterface::localize.
struct Localization {
  mlir::OpBuilder &builder;
  mlir::ValueRange operands;
  mlir::TypeRange resultTypes;
  llvm::ArrayRef<llvm::SmallVector<mlir::StringAttr>> factorAxes;
  mlir::FlatSymbolRefAttr mesh;
  MeshAttr meshAttr;

  mlir::RankedTensorType operandType(unsigned index) const {
    return llvm::cast<mlir::RankedTensorType>(operands[index].getType());
  }
  mlir::RankedTensorType resultType() const {
    return llvm::cast<mlir::RankedTensorType>(resultTypes.front());
  }
  bool isSharded(int64_t factor) const {
    return meshAttr.sizeOf(factorAxes[factor]) > 1;
  }
};

using LocalValues = mlir::FailureOr<llvm::SmallVector<mlir::Value>>;

/// A copy of `op` on local operands and types. Right for every factor that
/// needs no global index, provided the op has no attribute that names sizes.
mlir::Operation *cloneLocally(mlir::Operation *op, const Localization &local);

template <typename OpTy>
LocalValues localizeByClone(OpTy op, const Localization &local) {
  return llvm::SmallVector<mlir::Value>(cloneLocally(op, local)->getResults());
}

/// For an op that is the identity and only states a layout.
template <typename OpTy>
LocalValues localizeAway(OpTy, const Localization &local) {
  return llvm::SmallVector<mlir::Value>{local.operands.front()};
}

/// For an op without attributes that name sizes.
template <typename OpTy>
void resizeNothing(OpTy, mlir::OpBuilder &, const ShardingRule &) {}

template <typename Model, typename OpTy, ShardingRule (*getRule)(OpTy),
          LocalValues (*localizer)(OpTy, const Localization &),
          void (*resizer)(OpTy, mlir::OpBuilder &, const ShardingRule &)>
struct ShardingModelBase : ShardingOpInterface::ExternalModel<Model, OpTy> {
  ShardingRule getShardingRule(mlir::Operation *op) const {
    return getRule(llvm::cast<OpTy>(op));
  }
  void resize(mlir::Operation *op, mlir::OpBuilder &builder,
              const ShardingRule &rule) const {
    resizer(llvm::cast<OpTy>(op), builder, rule);
  }
  LocalValues
  localize(mlir::Operation *op, mlir::OpBuilder &builder,
           mlir::ValueRange operands, mlir::TypeRange resultTypes,
           llvm::ArrayRef<llvm::SmallVector<mlir::StringAttr>> factorAxes,
           mlir::FlatSymbolRefAttr mesh, MeshAttr meshAttr) const {
    return localizer(llvm::cast<OpTy>(op), {builder, operands, resultTypes,
                                            factorAxes, mesh, meshAttr});
  }
};

template <typename OpTy, ShardingRule (*getRule)(OpTy),
          LocalValues (*localizer)(OpTy, const Localization &) =
              localizeByClone<OpTy>,
          void (*resizer)(OpTy, mlir::OpBuilder &, const ShardingRule &) =
              resizeNothing<OpTy>>
struct ShardingModel
    : ShardingModelBase<ShardingModel<OpTy, getRule, localizer, resizer>, OpTy,
                        getRule, localizer, resizer> {};

/// The input for building an op in the shards of a dimension of its operand;
/// see ShardingOpInterface::computeInShards.
struct InShards {
  mlir::OpBuilder &builder;
  unsigned dim;
  ShardingAttr sharding;
  MeshAttr mesh;
};

/// For an op that needs a dimension whole, but may do its part in the shards.
template <typename OpTy, ShardingRule (*getRule)(OpTy),
          std::optional<int64_t> (*countBytes)(OpTy, unsigned, int64_t),
          mlir::Value (*compute)(OpTy, const InShards &)>
struct ScanModel
    : ShardingModelBase<ScanModel<OpTy, getRule, countBytes, compute>, OpTy,
                        getRule, localizeByClone<OpTy>, resizeNothing<OpTy>> {
  std::optional<int64_t> getBytesInShards(mlir::Operation *op, unsigned dim,
                                          int64_t shards) const {
    return countBytes(llvm::cast<OpTy>(op), dim, shards);
  }
  mlir::Value computeInShards(mlir::Operation *op, mlir::OpBuilder &builder,
                              unsigned dim, ShardingAttr sharding,
                              MeshAttr meshAttr) const {
    return compute(llvm::cast<OpTy>(op), {builder, dim, sharding, meshAttr});
  }
};

/// For an op that has two rules; see ShardingOpInterface::getShardSum.
template <typename OpTy, ShardingRule (*getRule)(OpTy),
          LocalValues (*localizer)(OpTy, const Localization &),
          void (*resizer)(OpTy, mlir::OpBuilder &, const ShardingRule &),
          std::optional<ShardSum> (*count)(OpTy)>
struct SumModel
    : ShardingModelBase<SumModel<OpTy, getRule, localizer, resizer, count>,
                        OpTy, getRule, localizer, resizer> {
  std::optional<ShardSum> getShardSum(mlir::Operation *op) const {
    return count(llvm::cast<OpTy>(op));
  }
};

/// Which of its two rules the op has: `pp.in_shards`, false if it is not there.
bool isInShards(mlir::Operation *op);

/// The shape of a value.
llvm::ArrayRef<int64_t> shapeOf(mlir::Value value);

/// Adds one parallel factor per dimension and returns the tensor they index.
TensorFactors addParallel(ShardingRule &rule, llvm::ArrayRef<int64_t> shape);

/// First global index of this device's shard of a dimension split by `axes`:
/// a scalar of type `element` (i32 or i64).
mlir::Value shardOffset(const Localization &local, mlir::Location loc,
                        llvm::ArrayRef<mlir::StringAttr> axes,
                        int64_t localSize, mlir::Type element);

/// `value` (an integer or float) everywhere in a tensor of `type`.
mlir::Value splat(mlir::OpBuilder &builder, mlir::Location loc,
                  mlir::RankedTensorType type, double value);

/// `scalar` everywhere in a tensor of `shape`.
mlir::Value spread(mlir::OpBuilder &builder, mlir::Location loc,
                   mlir::Value scalar, llvm::ArrayRef<int64_t> shape);

void registerComputeShardings(mlir::MLIRContext *context);
void registerShapeShardings(mlir::MLIRContext *context);
void registerIndexShardings(mlir::MLIRContext *context);
void registerWindowShardings(mlir::MLIRContext *context);
void registerScanShardings(mlir::MLIRContext *context);

} // namespace pp

#endif // PP_LIB_IR_SHARDINGMODELS_H
