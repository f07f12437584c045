//===- PlanText.h - a plan as somebody edits it -----------------*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0
//
// `os << plan` is one line, as an attribute in a module has to be; people edit
// and compare lines.
//
//===----------------------------------------------------------------------===//
#ifndef PP_IR_PLANTEXT_H
#define PP_IR_PLANTEXT_H

#include "pp/IR/PP.h"

namespace pp {

/// With what passes take for settings that `plan` leaves out: so it means the
/// same when defaults change.
PlanAttr withDefaults(PlanAttr plan);

/// Without settings that change nothing, as those of axes that the mesh lacks.
PlanAttr withoutIdleSettings(PlanAttr plan);

/// Prints what `os << plan` prints, with a line for every decision and every
/// seed, and all hyperparameters; pp-load-plan reads both.
void printLines(PlanAttr plan, llvm::raw_ostream &os);

} // namespace pp

#endif // PP_IR_PLANTEXT_H
