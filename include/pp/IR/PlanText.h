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

/// Prints what `os << plan` prints, with a line for every decision and every
/// seed; pp-load-plan reads both.
void printLines(PlanAttr plan, llvm::raw_ostream &os);

} // namespace pp

#endif // PP_IR_PLANTEXT_H
