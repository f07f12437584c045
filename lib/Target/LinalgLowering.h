//===- LinalgLowering.h - graph ops as linalg -------------------*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0
//
// Every function builds the op's result from its already lowered operands.
//
//===----------------------------------------------------------------------===//
#ifndef PP_LIB_TARGET_LINALGLOWERING_H
#define PP_LIB_TARGET_LINALGLOWERING_H

#include "Scalars.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Linalg/IR/Linalg.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"

namespace pp {

/// The input and place of a lowering.
struct LinalgBuilder {
  mlir::OpBuilder &builder;
  mlir::Location loc;

  using Body = llvm::function_ref<mlir::Value(LinalgBuilder, mlir::ValueRange)>;

  mlir::Value empty(mlir::RankedTensorType type);
  mlir::Value fill(mlir::RankedTensorType type, mlir::TypedAttr value);
  mlir::Value index(int64_t value);
  /// linalg.index, inside a body.
  mlir::Value iteration(int64_t dim);
  /// A scalar integer as an index, clamped into [0, limit].
  mlir::Value clampedIndex(mlir::Value scalar, int64_t limit);
  /// A parallel loop over `type`; `maps[i]` says where operand i is read.
  mlir::Value map(mlir::RankedTensorType type, mlir::ValueRange operands,
                  llvm::ArrayRef<mlir::AffineMap> maps, Body body);
  /// `value`, whose elements become those of `type`.
  mlir::Value convert(mlir::Value value, mlir::RankedTensorType type);
  /// Added up over all `loops` but those of `type`, which come first, the
  /// products of two operands; `maps` says where they are read. narrow floats
  /// are summed in f32 and rounded once.
  mlir::Value sumProducts(mlir::RankedTensorType type,
                          mlir::ValueRange operands,
                          llvm::ArrayRef<mlir::AffineMap> maps, int64_t loops);
  /// Calls `body` inside loops over `sizes`, carrying one tensor.
  mlir::Value carryThrough(
      llvm::ArrayRef<int64_t> sizes, mlir::Value carried,
      llvm::function_ref<mlir::Value(LinalgBuilder, mlir::ValueRange indices,
                                     mlir::Value carried)>
          body);
  /// The projection of `rank` loop dimensions onto `dims`.
  mlir::AffineMap projection(int64_t rank, llvm::ArrayRef<int64_t> dims);
};

/// The op's result, of any op that a kernel of a processor holds; reports
/// others.
mlir::FailureOr<mlir::Value> lowerToLinalg(mlir::Operation *op,
                                           mlir::OpBuilder &builder,
                                           mlir::ValueRange operands);

template <typename OpT,
          mlir::Value (*form)(OpT, LinalgBuilder, mlir::ValueRange)>
struct LinalgModel
    : LinalgOpInterface::ExternalModel<LinalgModel<OpT, form>, OpT> {
  mlir::FailureOr<mlir::Value> lowerToLinalg(mlir::Operation *op,
                                             mlir::OpBuilder &builder,
                                             mlir::ValueRange operands) const {
    mlir::Value result =
        form(mlir::cast<OpT>(op), {builder, op->getLoc()}, operands);
    if (!result)
      return op->emitError("expects element types that ")
             << op->getName() << " can compute on";
    return result;
  }
};
/// Attaches `form` as an op's lowering.
template <typename OpT,
          mlir::Value (*form)(OpT, LinalgBuilder, mlir::ValueRange)>
void attachLowering(mlir::MLIRContext *context) {
  OpT::template attachInterface<LinalgModel<OpT, form>>(*context);
}

// Each attaches those of its file.
void attachShapeLowerings(mlir::MLIRContext *context);
void attachIndexingLowerings(mlir::MLIRContext *context);
void attachScatterLowerings(mlir::MLIRContext *context);
void attachWindowLowerings(mlir::MLIRContext *context);

} // namespace pp

#endif // PP_LIB_TARGET_LINALGLOWERING_H
