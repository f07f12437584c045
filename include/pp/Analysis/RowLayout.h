//===- RowLayout.h - the part of tensors that a row sees --------*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0
//
// A loops kernel computes its rows one after another (or in parallel). Row r
// sees the box of every tensor whose start in each dimension is a digit of r.
// These functions carry such layouts through graph ops: from an operand to the
// result, and from the result to the operands.
//
//===----------------------------------------------------------------------===//
#ifndef PP_ANALYSIS_ROWLAYOUT_H
#define PP_ANALYSIS_ROWLAYOUT_H

#include "mlir/IR/BuiltinAttributes.h"
#include "mlir/IR/BuiltinTypes.h"
#include "mlir/IR/Operation.h"
#include "llvm/ADT/SmallVector.h"
#include <optional>

namespace pp {

/// Row r sees `tile` elements from `tile * ((r divisor) % modulus)` on. With
/// modulus 1 it sees the whole dimension.
struct RowDigit {
  int64_t divisor = 1, modulus = 1, tile = 1;

  static RowDigit whole(int64_t size) { return {1, 1, size}; }
  bool isWhole() const { return modulus == 1; }
  /// A row's part lacks this dimension.
  bool isDropped() const { return modulus != 1 && tile == 1; }
  friend bool operator==(RowDigit a, RowDigit b) {
    return a.divisor == b.divisor && a.modulus == b.modulus && a.tile == b.tile;
  }
};

/// One digit per dimension.
using RowLayout = llvm::SmallVector<RowDigit, 4>;
/// A partly known layout; empty for dimensions that no operand fixes.
using PartialLayout = llvm::SmallVector<std::optional<RowDigit>, 4>;

/// The layout in which every row sees the whole tensor.
RowLayout wholeLayout(mlir::RankedTensorType type);
bool isWholeLayout(const RowLayout &layout);

/// Elements of the part that a row sees.
int64_t countElements(const RowLayout &layout);

/// True if the parts of rows 0 ... rows-1 tile the tensor, each element once.
bool coversRows(const RowLayout &layout, int64_t rows);

/// A layout as `pp.rows` holds it; nothing if it does not divide `type`.
mlir::DenseI64ArrayAttr encodeRowLayout(mlir::MLIRContext *context,
                                        const RowLayout &layout);
std::optional<RowLayout> decodeRowLayout(mlir::DenseI64ArrayAttr flat,
                                         mlir::RankedTensorType type);

/// The type of the part that a row sees, without dropped dimensions.
mlir::RankedTensorType localType(mlir::RankedTensorType type,
                                 const RowLayout &layout);

/// The layouts that operands need so that each row can compute its part of the
/// result; nothing if rows cannot compute it separately.
std::optional<llvm::SmallVector<RowLayout>>
operandLayouts(mlir::Operation *op, const RowLayout &result);

/// What the layout of operand `index` implies for the result; nothing if rows
/// that see this part of the operand cannot compute parts of the result.
std::optional<PartialLayout> resultLayout(mlir::Operation *op, unsigned index,
                                          const RowLayout &operand);

/// Whether an element of the result depends only on the element of operand
/// `index` at the same place in memory.
bool readsSamePlace(mlir::Operation *op, unsigned index);

} // namespace pp

#endif // PP_ANALYSIS_ROWLAYOUT_H
