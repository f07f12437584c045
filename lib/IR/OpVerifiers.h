//===- OpVerifiers.h - checks that several ops share ------------*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0
//
// Each check reports an error at the op, with the label of the constraint in
// the op's description.
//
//===----------------------------------------------------------------------===//
#ifndef PP_LIB_IR_OPVERIFIERS_H
#define PP_LIB_IR_OPVERIFIERS_H

#include "pp/IR/Values.h"

namespace pp {

/// Checks that `value` has this shape.
mlir::LogicalResult expectShape(mlir::Operation *op, mlir::Value value,
                                llvm::ArrayRef<int64_t> shape,
                                llvm::StringRef label);

/// Checks that `dims` strictly increase below `rank`.
mlir::LogicalResult expectIncreasing(mlir::Operation *op,
                                     llvm::ArrayRef<int64_t> dims, int64_t rank,
                                     llvm::StringRef label);

/// Whether the lists name distinct dimensions of `rank`.
bool areDistinct(int64_t rank, llvm::ArrayRef<llvm::ArrayRef<int64_t>> lists);

/// The dimensions of `rank` that no list names, in order.
llvm::SmallVector<int64_t>
othersThan(int64_t rank, llvm::ArrayRef<llvm::ArrayRef<int64_t>> lists);

/// Checks that paired dimensions of a product have equal sizes and element
/// types fit.
template <typename OpTy>
mlir::LogicalResult expectPairs(OpTy op, llvm::StringRef label) {
  auto lhs = ranked(op.getLhs()), rhs = ranked(op.getRhs());
  auto sameSizes = [&](llvm::ArrayRef<int64_t> a, llvm::ArrayRef<int64_t> b) {
    return llvm::all_of_zip(a, b, [&](int64_t left, int64_t right) {
      return lhs.getDimSize(left) == rhs.getDimSize(right);
    });
  };
  if (sameSizes(op.getLhsBatch(), op.getRhsBatch()) &&
      sameSizes(op.getLhsContract(), op.getRhsContract()) &&
      lhs.getElementType() == rhs.getElementType() &&
      mlir::isa<mlir::FloatType>(lhs.getElementType()) ==
          mlir::isa<mlir::FloatType>(ranked(op.getResult()).getElementType()))
    return mlir::success();
  return op.emitOpError() << "expects equal sizes of paired dimensions and one "
                             "element type, floats or integers as the "
                             "result's, got "
                          << lhs << " and " << rhs << " (" << label << ")";
}

/// Sizes of a product's batch, free lhs and free rhs dimensions.
template <typename OpTy> llvm::SmallVector<int64_t> getPlainSizes(OpTy op) {
  auto lhs = ranked(op.getLhs()), rhs = ranked(op.getRhs());
  llvm::SmallVector<int64_t> sizes;
  for (int64_t dim : op.getLhsBatch())
    sizes.push_back(lhs.getDimSize(dim));
  for (int64_t dim : op.getLhsFree())
    sizes.push_back(lhs.getDimSize(dim));
  for (int64_t dim : op.getRhsFree())
    sizes.push_back(rhs.getDimSize(dim));
  return sizes;
}

} // namespace pp

#endif // PP_LIB_IR_OPVERIFIERS_H
