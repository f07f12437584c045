//===- Enums.h - the enumerations of the dialect ----------------*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0
//
// PPAttributes.td describes them. The generated header has no include guard:
// include this header instead.
//
//===----------------------------------------------------------------------===//
#ifndef PP_IR_ENUMS_H
#define PP_IR_ENUMS_H

#include "mlir/IR/OpImplementation.h"
#include "pp/IR/PPEnums.h.inc"

#endif // PP_IR_ENUMS_H
