//===- RowMapping.h - how threads share the rows of a kernel ----*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0
//
// In: a kernel with reductions along its rows. Out, before anything is built:
// the lanes of a row, the values they keep in registers, and how they share
// each reduction, all within the limits of a multiprocessor.
//
//===----------------------------------------------------------------------===//
#ifndef PP_LIB_TARGET_GPU_ROWMAPPING_H
#define PP_LIB_TARGET_GPU_ROWMAPPING_H

#include "../KernelPipeline.h"
#include "Lanes.h"

namespace pp::gpu {

/// Registers of 32 bits that each thread of a block may have. Left to itself,
/// ptxas would rather spill some than have fewer threads.
int64_t getRegisters(int64_t block);
/// Blocks of a multiprocessor that leave as many.
int64_t getLeastBlocks(int64_t block);

/// A reduction of which the row sees `layout`.
struct RowSum {
  enum Form {
    Alone,  ///< each lane does it again, where it needs it
    Along,  ///< to one element, by all lanes; it stays in registers
    Across, ///< to several, by lanes side by side; shared memory holds them
  };
  mlir::Operation *op;
  RowLayout layout, operand;
  Form form = Alone;
  /// Bytes that a lane hands to others, and those of the results of all rows.
  int64_t handedBytes = 0;
};

struct RowMapping {
  int64_t lanes = kWarp, rowsPerBlock = 1;
  /// Elements of a part that a lane takes one after the other without a loop,
  /// and keeps from one reduction to the next.
  int64_t inRegisters = 1;
  /// Lanes that reduce side by side, at most.
  int64_t beside = kWarp;
  llvm::SmallVector<RowSum> sums;
  /// Sums across that find no room in shared memory: each lane does them for
  /// itself.
  int64_t sumsApart = 0;
  /// Shared memory for values that lanes exchange.
  int64_t handedBytes = 0;

  int64_t block() const { return lanes * rowsPerBlock; }
  /// Elements beside each other of a sum across; `step` elements are kept at
  /// once.
  int64_t countBeside(const RowSum &sum, int64_t width) const;
};

/// How many elements of an Across sum a lane has side by side.
int64_t getStep(const RowSum &sum, int64_t width);

/// `width`: the elements of a run.
RowMapping chooseMapping(mlir::func::FuncOp kernel, const RowParts &parts,
                         int64_t width);

} // namespace pp::gpu

#endif // PP_LIB_TARGET_GPU_ROWMAPPING_H
