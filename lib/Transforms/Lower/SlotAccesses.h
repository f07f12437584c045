//===- SlotAccesses.h - what an instruction reads and writes ----*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0
//
// The one place that knows which operand of an instruction is read and which is
// written; sharing slots, placing them and ordering queues all ask it. Assumes
// a verified program.
//
//===----------------------------------------------------------------------===//
#ifndef PP_LIB_TRANSFORMS_LOWER_SLOTACCESSES_H
#define PP_LIB_TRANSFORMS_LOWER_SLOTACCESSES_H

#include "mlir/IR/SymbolTable.h"
#include "pp/IR/PP.h"

namespace pp {

struct SlotAccess {
  int64_t slot;
  bool reads, writes;
};

/// The slots that an instruction of a program names, each with what is done to
/// it. What is written and not read is written whole.
llvm::SmallVector<SlotAccess> getAccesses(mlir::Operation &op,
                                          mlir::SymbolTable &symbols);

} // namespace pp

#endif // PP_LIB_TRANSFORMS_LOWER_SLOTACCESSES_H
