//===- ScatterSearch.h - finds the updates of rows --------------*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0
//
// Threads with elements of a table search the indices together for those of
// their rows. In: how to read an index, and how to add its update. Out: the
// sums. Each thread gets indices in their order.
//
//===----------------------------------------------------------------------===//
#ifndef PP_LIB_TARGET_GPU_SCATTERSEARCH_H
#define PP_LIB_TARGET_GPU_SCATTERSEARCH_H

#include "Elements.h"
#include "pp/IR/PP.h"

namespace pp::gpu {

/// Each of `entries` has `rows` rows of a table and `indices` indices.
struct SearchedIndices {
  explicit SearchedIndices(ScatterAddOp op);

  int64_t entries, rows, indices;
  /// Elements of a row.
  int64_t rowElements;
  /// Whether an index that names no row also names none if cut to an i32.
  bool isNarrow;

  /// There is something to look through, and an i32 counts all of it.
  bool canShare() const;
};

/// The index at a place among those of all entries, and whether it is for the
/// thread's row. The place is any other if it is not.
struct Hit {
  mlir::Value isHere, place;
};

using NumberAt = llvm::function_ref<mlir::Value(const Index &place)>;
using AddHits =
    llvm::function_ref<Scalars(llvm::ArrayRef<Hit>, mlir::ValueRange sums)>;

/// By the lanes of a warp that are here, of which each has an element of row
/// `own` of all entries.
Scalars searchByWarp(Elements &elements, const SearchedIndices &searched,
                     mlir::Value own, mlir::ValueRange sums, NumberAt numberAt,
                     AddHits add);

/// Whether the kernel is a scatter_add that blocks can search for, each thread
/// for a run of `width` elements.
bool isBlockSearch(mlir::func::FuncOp kernel, int64_t width);

/// True, but only when a warp has all of `values`: each lane gets its own back
/// from itself, which no compiler sees. Otherwise ptxas delays each load until
/// its value is needed, to save registers, and waits for each.
mlir::Value haveAll(Elements &elements, llvm::ArrayRef<mlir::Value> values);

/// By all threads of a block. `add` is called by whole warps for several at
/// once.
Scalars searchByBlock(Elements &elements, const Team &team,
                      const SearchedIndices &searched, mlir::Value own,
                      mlir::ValueRange sums, NumberAt numberAt, AddHits add);

} // namespace pp::gpu

#endif // PP_LIB_TARGET_GPU_SCATTERSEARCH_H
