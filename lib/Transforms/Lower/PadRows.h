//===- PadRows.h - rows that lie as libraries like them ---------*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0
//
// In: graph ops in functions and fragments. Out: the same, where a value that a
// dot_general reads or writes has rows further apart if the target wishes so
// (pprt::Target::rowPitch), and whoever reads it does so through a slice
// (pp/IR/PaddedRows.h). Only values that kernels and fragments of one stage
// hand to each other: parameters, and what is sent, summed up or updated, lie
// as others know them.
//
//===----------------------------------------------------------------------===//
#ifndef PP_LIB_TRANSFORMS_LOWER_PADROWS_H
#define PP_LIB_TRANSFORMS_LOWER_PADROWS_H

#include "mlir/IR/BuiltinOps.h"
#include "pprt/Target.h"

namespace pp {

void padRows(mlir::ModuleOp module, const pprt::Target &target);

} // namespace pp

#endif // PP_LIB_TRANSFORMS_LOWER_PADROWS_H
