//===- VerifyPipeline.h - the contract of level 3 ---------------*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0
//
// For pp-verify-pipeline, and for pp-lower-to-programs, which rests on it and
// may be called by itself. Assumes what verifyModel() checks.
//
//===----------------------------------------------------------------------===//
#ifndef PP_TRANSFORMS_VERIFYPIPELINE_H
#define PP_TRANSFORMS_VERIFYPIPELINE_H

#include "pp/IR/Model.h"

namespace pp {

/// Checks what pp-lower-to-programs unrolls: that every value is where it is
/// read, that results which update an argument name one, and that the schedule,
/// if there is one already, fits the mesh and can be run.
mlir::LogicalResult verifyPipeline(mlir::func::FuncOp main, MeshAttr mesh);

} // namespace pp

#endif // PP_TRANSFORMS_VERIFYPIPELINE_H
