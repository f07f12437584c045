//===- Rows.h - a kernel whose rows are computed by lanes -------*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0
//
// In: a kernel with reductions along its rows. First the lanes of a row compute
// these, one reduction after the other; then they store the row's parts of the
// results. A row that is short enough stays in registers between the two.
//
//===----------------------------------------------------------------------===//
#ifndef PP_LIB_TARGET_GPU_ROWS_H
#define PP_LIB_TARGET_GPU_ROWS_H

#include "RowMapping.h"

namespace pp::gpu {

/// The destination of a result.
struct Destination {
  mlir::Value result;              ///< in the kernel, without padding of rows
  mlir::RankedTensorType inMemory; ///< with it
  mlir::Value address;
  mlir::Value inPlaceOf; ///< the argument that it overwrites, or null
};

/// Builds the work of one thread.
void buildRows(Elements &elements, const RowParts &parts,
               const RowMapping &mapping, mlir::Value block, mlir::Value thread,
               llvm::ArrayRef<Destination> destinations);

} // namespace pp::gpu

#endif // PP_LIB_TARGET_GPU_ROWS_H
