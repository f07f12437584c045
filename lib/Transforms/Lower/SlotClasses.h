//===- SlotClasses.h - what the values of fragments are ---------*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0
//
// For the columns of memory in reports.
//
//===----------------------------------------------------------------------===//
#ifndef PP_LIB_TRANSFORMS_LOWER_SLOTCLASSES_H
#define PP_LIB_TRANSFORMS_LOWER_SLOTCLASSES_H

#include "pp/IR/PP.h"

namespace pp {

/// The class of a value that `fragment` computes.
SlotClass getSlotClass(FragmentOp fragment, mlir::Value bodyValue);

} // namespace pp

#endif // PP_LIB_TRANSFORMS_LOWER_SLOTCLASSES_H
