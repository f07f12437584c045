//===- RowAccess.h - rows that indices pick ---------------------*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0
//
// StableHLO's gather and scatter are general. What pp has: rows of a table, in
// batches or not. Here is what both need: the operand as a table whose rows are
// the dimensions that an index vector picks, merged, and indices as numbers of
// its rows.
//
//===----------------------------------------------------------------------===//
#ifndef PP_LIB_IMPORT_ROWACCESS_H
#define PP_LIB_IMPORT_ROWACCESS_H

#include "Conversion.h"

namespace pp::hlo {

/// Numbers of a gather's or scatter's dimensions.
struct RowAccess {
  Ints offsets;           ///< of the result or updates: the rows' dimensions
  Ints collapsed;         ///< of the operand: the rows have no such dimension
  Ints batch, indexBatch; ///< of operand and indices: pairs
  Ints picked;            ///< of the operand: what an index vector picks
  int64_t vectorDim = 0;  ///< of the indices: the index vector
  Ints rest = {};         ///< of the operand: neither batch nor picked
  Ints indexDims = {};    ///< of the indices: neither batch nor vector

  /// Completes the numbers, and verifies them against the shapes of operand,
  /// indices, and result or updates.
  bool complete(llvm::ArrayRef<int64_t> operand,
                llvm::ArrayRef<int64_t> indices,
                llvm::ArrayRef<int64_t> result);

  /// Dimensions of the operand in the order of the table.
  Ints tableOrder() const;
  /// The operand as [batch, table, rest].
  Value makeTable(Value operand, Conversion &graph) const;
  /// One part of the index vectors.
  Value takePart(Value indices, int64_t part, Conversion &graph) const;
  /// Numbers of rows as [batch, index] for dimensions of `sizes`. If there are
  /// several, each is clamped.
  Value makeRowNumbers(Value indices, llvm::ArrayRef<int64_t> sizes,
                       Conversion &graph) const;
  /// For the result or updates: which dimension of [batch, index, rest] each
  /// is. Picked dimensions of size 1 that the rows have are left out. Nothing
  /// if the numbers do not fit.
  std::optional<Ints> orderOfRows(int64_t operandRank,
                                  int64_t resultRank) const;
};

/// The operand `index` as i32 or i64; reports other types than integers.
Value alignIndices(HloOp op, unsigned index, Conversion &graph);

} // namespace pp::hlo

#endif // PP_LIB_IMPORT_ROWACCESS_H
