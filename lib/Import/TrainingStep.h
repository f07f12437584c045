//===- TrainingStep.h - a step that JAX differentiated ----------*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0
//
// In: a step as value_and_grad and an optimizer of JAX make it: arguments and
// their new values, a batch, and the loss. Out: what each argument, result and
// op is to a training step of pp.
//
//===----------------------------------------------------------------------===//
#ifndef PP_LIB_IMPORT_TRAININGSTEP_H
#define PP_LIB_IMPORT_TRAININGSTEP_H

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "pp/IR/PP.h"
#include "llvm/ADT/DenseSet.h"

namespace pp::hlo {

/// Whether `source` is a step and no loss: it has arguments that it may
/// overwrite, or its first result is no number.
bool isTrainingStep(mlir::func::FuncOp source);

struct StepInterface {
  unsigned loss = 0; ///< number of the result
  /// Numbers to report beside it, by name.
  llvm::SmallVector<std::pair<unsigned, std::string>> metrics;
  /// For each argument, the number of the result that is its new value.
  llvm::SmallVector<std::optional<unsigned>> newValues;
  /// For each argument: a parameter, a state or an input.
  llvm::SmallVector<Role> roles;
};

/// Reads the interface off `source` and `results`, its converted results in
/// `main`. New values have the names of their arguments, or share their memory;
/// the loss reads the batch but no gradient; a parameter is read by the loss,
/// and updated by a gradient; other numbers are metrics. Reports what cannot be
/// told apart.
mlir::FailureOr<StepInterface>
findStepInterface(mlir::func::FuncOp source, mlir::func::FuncOp main,
                  llvm::ArrayRef<mlir::Value> results);

/// Values that are computed from gradients.
llvm::DenseSet<mlir::Value> getGradientDependent(mlir::Block &body);

/// Marks the ops of `main`, a step with its signature in which the ops of
/// gradients have a kind, as pp-differentiate and pp-add-optimizer mark theirs,
/// and orders them by the parts of the step.
void markStep(mlir::func::FuncOp main);

} // namespace pp::hlo

#endif // PP_LIB_IMPORT_TRAININGSTEP_H
