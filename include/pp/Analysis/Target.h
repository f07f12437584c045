//===- Target.h - what a module is compiled for -----------------*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0
//
// From level 4 on, a module is for one target: `pp.target`, or the processors
// of the machine that compiles.
//
//===----------------------------------------------------------------------===//
#ifndef PP_ANALYSIS_TARGET_H
#define PP_ANALYSIS_TARGET_H

#include "mlir/IR/BuiltinOps.h"
#include "pprt/Target.h"

namespace pp {

/// Never null but for a name that nobody knows, which is reported.
const pprt::Target *getTarget(mlir::ModuleOp module);

} // namespace pp

#endif // PP_ANALYSIS_TARGET_H
