//===- CollectiveRemarks.h - why a collective is there ----------*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0
//
// For all passes that make or change collectives, so that a reader finds the
// same words whichever did.
//
//===----------------------------------------------------------------------===//
#ifndef PP_TRANSFORMS_COLLECTIVEREMARKS_H
#define PP_TRANSFORMS_COLLECTIVEREMARKS_H

#include "pp/IR/PP.h"

namespace pp {

/// The ranks of every group that a collective over `axes` has, members in the
/// order in which they are added: `{0,1},{2,3}`. Of few `stages` only those
/// ranks; of many groups or members the first ones, then `...`.
std::string describeGroups(MeshAttr mesh, llvm::ArrayRef<mlir::StringAttr> axes,
                           llvm::ArrayRef<int64_t> stages);

/// The name of the parameter that `value` is a gradient of: the one parameter
/// that the update computes from it element by element. Empty when there is
/// none, or more than one.
llvm::StringRef findParameterOfGradient(mlir::Value value);

/// Says in a remark of `pass` what `collective` does and why. `stages` are
/// those of its ranks, if not all; `wireBytes` is what a rank sends.
void remarkCollective(mlir::Operation *collective, llvm::StringRef pass,
                      llvm::StringRef cause, MeshAttr mesh,
                      llvm::ArrayRef<mlir::StringAttr> axes,
                      llvm::ArrayRef<int64_t> stages, double wireBytes);

} // namespace pp

#endif // PP_TRANSFORMS_COLLECTIVEREMARKS_H
