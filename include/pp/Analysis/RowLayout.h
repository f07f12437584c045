//===- RowLayout.h - what one row of a kernel sees --------------*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0
//
// A loop kernel computes its rows one after another (or in parallel). Row r
// sees of every tensor the box whose start in each dimension is a digit of r.
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

/// Row r sees the elements from `tile * ((r / divisor) % modulus)`, `tile` of
/// them. With modulus 1 it sees the whole dimension.
struct RowDigit {
  int64_t divisor = 1, modulus = 1, tile = 1;

  static RowDigit whole(int64_t size) { return {1, 1, size}; }
  bool isWhole() const { return modulus == 1; }
  /// A row's part has no such dimension.
  bool isDropped() const { return modulus != 1 && tile == 1; }
  friend bool operator==(RowDigit a, RowDigit b) {
    return a.divisor == b.divisor && a.modulus == b.modulus && a.tile == b.tile;
  }
};

/// One digit per dimension.
using RowLayout = llvm::SmallVector<RowDigit, 4>;
/// What is known of a layout; nothing in dimensions that no operand fixes.
using PartialLayout = llvm::SmallVector<std::optional<RowDigit>, 4>;

/// Every row sees all of it.
RowLayout wholeLayout(mlir::RankedTensorType type);
bool isWholeLayout(const RowLayout &layout);

/// Of the part that a row sees.
int64_t countElements(const RowLayout &layout);

/// True if the parts of rows 0 ... rows-1 tile the tensor, each element once.
bool coversRows(const RowLayout &layout, int64_t rows);

/// A layout as `pp.rows` holds it; nothing if it does not divide `type`.
mlir::DenseI64ArrayAttr encodeRowLayout(mlir::MLIRContext *context,
                                        const RowLayout &layout);
std::optional<RowLayout> decodeRowLayout(mlir::DenseI64ArrayAttr flat,
                                         mlir::RankedTensorType type);

/// The part one row sees, dropped dimensions left out.
mlir::RankedTensorType localType(mlir::RankedTensorType type,
                                 const RowLayout &layout);

/// The layouts in which the operands must be seen for each row to compute its
/// part of the result; nothing if rows cannot compute it apart.
std::optional<llvm::SmallVector<RowLayout>>
operandLayouts(mlir::Operation *op, const RowLayout &result);

/// What the layout of operand `index` says about the result's; nothing if rows
/// that see this part of the operand cannot compute parts of the result.
std::optional<PartialLayout> resultLayout(mlir::Operation *op, unsigned index,
                                          const RowLayout &operand);

/// Whether an element of the result needs of operand `index` the one at the
/// same place in memory alone.
bool readsSamePlace(mlir::Operation *op, unsigned index);

} // namespace pp

#endif // PP_ANALYSIS_ROWLAYOUT_H
