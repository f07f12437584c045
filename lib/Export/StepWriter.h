//===- StepWriter.h - a function of pp as one of StableHLO ------*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0
//
// In: `main` of level 1 or 2. Out: the text of a function. What differs from
// one micro-batch to the next has the micro-batch as its first dimension in
// arguments and results.
//
//===----------------------------------------------------------------------===//
#ifndef PP_LIB_EXPORT_STEPWRITER_H
#define PP_LIB_EXPORT_STEPWRITER_H

#include "MicroBatches.h"
#include "OpWriter.h"

namespace pp::hlo {

class StepWriter : public OpWriter {
public:
  StepWriter(mlir::func::FuncOp main, MeshAttr mesh);

  /// Writes the function to `out`.
  mlir::LogicalResult write();

  /// The type of an argument or result of the function.
  mlir::RankedTensorType outerType(mlir::Value value) const;

private:
  /// Writes the ops of `body` for which `isWanted`.
  mlir::LogicalResult
  writeOps(llvm::function_ref<bool(mlir::Operation *)> isWanted);
  mlir::LogicalResult writeLoop(MicroBatchLoop &loop);
  void writeSignature();
  /// A tensor with a row for each micro-batch, and the row of the current one.
  Hlo takeRow(const Hlo &rows);
  Hlo putRow(const Hlo &rows, const Hlo &row);

  mlir::func::FuncOp main;
  mlir::Block &body;
  int64_t numMicroBatches = 1;
  MicroBatches schedule;
};

} // namespace pp::hlo

#endif // PP_LIB_EXPORT_STEPWRITER_H
