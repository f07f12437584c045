//===- StageWriter.h - a stage of a pipeline as functions -------*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0
//
// In: the fragments of a stage (level 3). Out: a function of StableHLO for each
// and, in order, what is done in an action: functions and sums over stages,
// which are no part of a program of one stage. A fragment is cut at them; what
// a part computes and a later one reads is a result of the one and an argument
// of the other.
//
//===----------------------------------------------------------------------===//
#ifndef PP_LIB_EXPORT_STAGEWRITER_H
#define PP_LIB_EXPORT_STAGEWRITER_H

#include "OpWriter.h"
#include "llvm/ADT/SetVector.h"
#include "llvm/ADT/StringSet.h"

namespace pp::hlo {

/// A function, or a sum over stages (`sum`).
struct StageCall {
  std::string name;
  AllReduceOp sum;
  /// Values of the fragment's body.
  llvm::SmallVector<mlir::Value> arguments, results;
  /// The number of the micro-batch is the last argument.
  bool takesMicroBatch = false;
};

class StageWriter : public OpWriter {
public:
  using OpWriter::OpWriter;

  /// Writes the functions of `fragment`; its work in order.
  mlir::FailureOr<std::vector<StageCall>> write(FragmentOp fragment);

private:
  mlir::FailureOr<StageCall> writePart(llvm::ArrayRef<mlir::Operation *> ops,
                                       const std::string &name);
  std::string findName(FragmentOp fragment);

  llvm::StringSet<> names;
};

} // namespace pp::hlo

#endif // PP_LIB_EXPORT_STAGEWRITER_H
