//===- ForwardOps.h - the forward ops of a model, as numbered ---*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0
//
// pp-differentiate and pp-evaluate prepare a model in the same way, so that
// `pp.origin` means the same op in a training step and in its evaluation.
//
//===----------------------------------------------------------------------===//
#ifndef PP_LIB_TRANSFORMS_TRAIN_FORWARDOPS_H
#define PP_LIB_TRANSFORMS_TRAIN_FORWARDOPS_H

#include "mlir/Dialect/Func/IR/FuncOps.h"

namespace pp {

/// Removes ops without effect whose results nobody reads.
void removeDeadForwardOps(mlir::func::FuncOp main);

/// Gives each use of a broadcast of parameters its own: their gradients, as
/// large as activations, are then reduced before they are added up, each on the
/// stage of its use.
void separateBroadcasts(mlir::func::FuncOp main);

} // namespace pp

#endif // PP_LIB_TRANSFORMS_TRAIN_FORWARDOPS_H
