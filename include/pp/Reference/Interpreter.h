//===- Interpreter.h - the reference meaning of graph ops -------*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0
//
// Plain loops in f64, written from the op descriptions alone: the judge of
// every lowering, every gradient and the partitioner. It shares no code with
// them, so an error in either shows as a difference.
//
//===----------------------------------------------------------------------===//
#ifndef PP_REFERENCE_INTERPRETER_H
#define PP_REFERENCE_INTERPRETER_H

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "pp/Reference/HostTensor.h"

namespace pp::reference {

struct EvaluateOptions {
  /// Round the result of every op to its element type. Otherwise all float
  /// arithmetic is in f64, and converts between floats are the identity.
  bool roundToElement = false;
};

/// Runs a function of level 1 (or a kernel of level 4: `pp.launch` runs its
/// callee). Fails, with a diagnostic, on inputs that are not of the function's
/// argument types and on ops of other levels.
mlir::FailureOr<std::vector<HostTensor>>
evaluate(mlir::func::FuncOp function, llvm::ArrayRef<HostTensor> inputs,
         const EvaluateOptions &options = {});

/// Runs one op of level 1, or one `pp.launch`.
mlir::FailureOr<std::vector<HostTensor>>
evaluateOp(mlir::Operation *op, llvm::ArrayRef<const HostTensor *> operands,
           const EvaluateOptions &options = {});

} // namespace pp::reference

#endif // PP_REFERENCE_INTERPRETER_H
