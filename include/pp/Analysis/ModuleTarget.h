//===- ModuleTarget.h - the target of a module ------------------*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0
//
// From level 4 on, a module is for one target: `pp.target`, or the processors
// of the machine that compiles.
//
//===----------------------------------------------------------------------===//
#ifndef PP_ANALYSIS_MODULETARGET_H
#define PP_ANALYSIS_MODULETARGET_H

#include "mlir/IR/BuiltinOps.h"
#include "pprt/Target.h"

namespace pp {

/// Null, and reported, if the name is unknown.
const pprt::Target *getTarget(mlir::ModuleOp module);

} // namespace pp

#endif // PP_ANALYSIS_MODULETARGET_H
